"""Do two runs give the same bits? A scan in three passes and in one, of floats that round.

python bits.py   how many different results in several runs, and how far each is from the exact sums
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _scan import DEALT, RUNGS, Scanner, depth

GPU = wb.is_gpu()
N, RUNS = (2**24, 50) if GPU else (2**17 + 7, 3)

values = np.random.default_rng().random(N, dtype=np.float32)  # between 0 and 1: no sum cancels
want = np.cumsum(values, dtype=np.float64)
scanner, data, out = Scanner(np.float32, N), cuda.to_device(values), cuda.mem_alloc(4 * N)
got = np.empty(N, np.float32)
for rung in (RUNGS[5], RUNGS[7], RUNGS[10], DEALT):
    seen: set[int] = set()
    for _ in range(RUNS):
        cuda.memset_d32_async(out, 0xFFFFFFFF, N)
        scanner.launch(rung, data, out, N)
        cuda.memcpy_dtoh(got, out)
        if (bits := hash(got.tobytes())) not in seen and len(seen) < 2:  # a check takes longer than a run
            wb.check(got, want, 1.01 * depth(rung, N) * 2.0**-24 * want, rung.name)
        seen.add(bits)
    worst = float((np.abs(got - want) / want).max())
    line = f"{rung.name} of {N:,} floats, {RUNS} runs: "
    if GPU:
        wb.value(f"{rung.name}.distinct", len(seen), "count")
        wb.value(f"{rung.name}.error", worst * 2**24, "1")
        print(f"{line}{len(seen)} different results; off by at most {worst * 2**24:.1f} units of 2^-24")
    else:
        print(f"{line}{len(seen)} result")
