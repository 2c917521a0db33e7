"""Sums of float weights per bin: what float additions cost in shared memory, and how many different results they give.

python sums.py   check; on a GPU also time 2^26 keys, uniform and all equal
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BINS, BLOCK = 256, 512
GPU = wb.is_gpu()
RUNS = 50 if GPU else 2

module = wb.module("histogram/sums.cu")
grid = (4 * cuda.Context.get_device().multiprocessor_count, 1)
rng = np.random.default_rng()
out, got = cuda.mem_alloc(8 * BINS), {4: np.empty(BINS, np.float32), 8: np.empty(BINS, np.int64)}

for kind, n in (("uniform", 2**26 if GPU else 2**16 + 3), ("equal", 2**26 if GPU else 2**16 + 3)):
    keys = rng.integers(0, BINS, n, dtype=np.uint8) if kind == "uniform" else np.full(n, 77, np.uint8)
    weights = rng.random(n, dtype=np.float32)  # multiples of 2^-24
    want = np.bincount(keys, weights, BINS)
    # a weight is rounded with those of its bin in its block, then with the copies, then with the blocks
    of_block = -(-n // (grid[0] * BLOCK)) * BLOCK
    bound = 1.01 * (np.minimum(np.bincount(keys, minlength=BINS), of_block) + 32 + grid[0]) * 2.0**-24 * want
    arrays = cuda.to_device(keys), cuda.to_device(weights)
    for name in ("sums_block", "sums_lanes", "sums_fixed"):
        kernel, size, seen = module.get_function(name), 8 if name == "sums_fixed" else 4, set()

        def clear(_: int = 0, size=size) -> None:
            cuda.memset_d32_async(out, 0, BINS * size // 4)

        def run(_: int = 0, kernel=kernel, arrays=arrays, n=n) -> None:
            kernel(*arrays, out, np.uint32(n), block=(BLOCK, 1, 1), grid=grid)

        def check(_: int = 0, size=size, want=want, bound=bound, what=f"{name}, {kind}") -> None:
            cuda.memcpy_dtoh(got[size], out)
            wb.check(got[size] * (2.0**-30 if size == 8 else 1.0), want, bound if size == 4 else 1e-12 * want, what)

        for _ in range(RUNS):
            clear()
            run()
            check()
            seen.add(got[size].tobytes())
        line = f"{name:11} {kind:8}"
        if GPU:
            t = wb.time(run, poison=clear, check=check, repeats=10)
            short = name.removeprefix("sums_")
            wb.timing(f"{kind}_{short}", t, 5 * n)
            wb.value(f"{kind}_{short}.distinct", len(seen), "count")
            line += f"{t.median * 1e6:10.1f} µs   {len(seen)} different results in {RUNS} runs this time"
        else:
            line += "within its bound" if size == 4 else "exact"
        print(line)
        if size == 8 and len(seen) != 1:
            raise AssertionError(f"{name}: {len(seen)} different results")
