"""Time the rungs over the number of rows of x, from 1 to 16, in bf16 and in fp32: 512 MiB of weights.

python batch.py   check; on a GPU also time N = 8192 and K = 32768 (fp32: 16384), in turn with cuBLAS and a copy
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb
from _gemv import Problem, compile_all, copy, cublas, ladder, resident, rounds, shares, spread, timed
from _staged import compile_staged, staged

BATCHES = [1, 2, 4, 8, 16]
SPLITS, HALF = 4, 2  # parts of K: two blocks per SM; for v9 one


def measure(rng: np.random.Generator, bf16: bool) -> None:
    kind = "bf16" if bf16 else "fp32"
    drawn = ["v1", "v2", "v3", "v4", "v5", "v7", "v8", "v9"] if bf16 else ["v1", "v2", "v3", "v4"]
    rates: dict[str, list[tuple[float, float, float]]] = {name: [] for name in (*drawn, "cublas")}
    whole = Problem(rng, 16, 8192, 32768 if bf16 else 16384, bf16, whole=True, copies=2)
    yardstick = copy()
    for m in BATCHES:
        p = whole.first_rows(m)
        library = cublas(p)
        launches = ladder(SPLITS, resident(), bf16) | {"v9": staged(HALF)}
        for name in ["v0", *drawn] if m == 1 else drawn:
            p.check(launches[name], name)
        runs = {name: timed(p, launches[name]) for name in drawn} | {"cublas": library}
        *times, copied = rounds([*runs.values(), yardstick], seconds=0.1)
        for name, ours in zip(runs, times, strict=True):
            rate = spread([p.nbytes / t for t in ours])
            rates[name].append(rate)
            share = shares(ours, copied, 50.0)
            wb.value(f"{kind}.m{m}.{name}.copy_share", share[0], "%", share[1:])
            print(f"{kind} M = {m:2} {name:8}{rate[0] / 1e9:8.0f} GB/s{share[0]:8.1f} % of copy")
            if name != "cublas":
                share = shares(ours, times[-1])
                wb.value(f"{kind}.m{m}.{name}.share", share[0], "%", share[1:])
    for name, found in rates.items():
        median, low, high = (list(column) for column in zip(*found, strict=True))
        x = [float(m) for m in BATCHES]
        wb.series(f"{kind}.{name}", x, median, x_unit="count", unit="B/s", low=low, high=high)


if __name__ == "__main__":
    generator = np.random.default_rng()
    wb.needs("8.0")
    batches = BATCHES if wb.is_gpu() else [1, 4]
    compile_all(batches, fp32=True)
    compile_staged(batches)
    for bf16 in (True, False):
        for m in batches:
            for name, launch in (ladder(2, 3, bf16) | ({"v9": staged(2)} if bf16 else {})).items():
                Problem(generator, m, 130, 264, bf16).check(launch, name)
            print(f"M = {m}, {'bf16' if bf16 else 'fp32'}: within the bound")
    if wb.is_gpu():
        wb.needs("8.0", memory=4 * 2**30)
        measure(generator, True)
        measure(generator, False)
    else:
        print("no GPU: nothing is timed")
