"""Choose the parameters of final.cu by timing: stages, cluster, and how many rows of tiles are taken together.

python tune.py   check two of them; on a GPU check and time all, N = 4096 and 8192 in pairs with cuBLAS
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _tensor import FINAL, Problem, Sample, Tile, check, cublas, final
from warppairs import pairs, share_of

# --8<-- [start:candidates]
CANDIDATES: list[Tile] = [
    {"STAGES": stages, "CLUSTER": cluster, "GROUP": group}
    for stages, cluster, group in (
        (4, 2, 16),
        (4, 2, 8),
        (4, 2, 12),
        (4, 2, 32),
        (3, 2, 16),
        (4, 1, 16),
        (4, 1, 8),
    )
]
# --8<-- [end:candidates]


def name(tile: Tile) -> str:
    return "s{STAGES}_c{CLUSTER}_g{GROUP}".format(**tile)


if cuda.Context.get_device().compute_capability() != (9, 0):
    device = cuda.Context.get_device().name()
    print(f"skipped: needs a device with wgmma (compute capability 9.0), and {device} has none")
    raise SystemExit(wb.SKIPPED)

rng = np.random.default_rng()
small = Problem(rng, 640, 776, 200)
chosen = CANDIDATES if wb.is_gpu() else [FINAL, CANDIDATES[-1]]
for tile in chosen:
    check([small], {name(tile): final("bf16", 4, tile)})
print(f"{len(chosen)} of {len(CANDIDATES)} candidates compiled and right")
if not wb.is_gpu():
    print("no GPU: nothing is timed")
    raise SystemExit

wb.needs("9.0", memory=2**30)
blocks = cuda.Context.get_device().multiprocessor_count
shares: dict[int, dict[str, float]] = {}
for n in (4096, 8192):
    problem, shares[n] = Sample(rng, n), {}
    theirs = cublas(problem)
    pairs(theirs, theirs)  # to the power limit
    for tile in chosen:
        launch = final("bf16", blocks, tile)
        problem.reset()
        launch(problem)
        problem.check(f"{name(tile)}, N = {n}")
        share = share_of(*pairs(lambda launch=launch, problem=problem: launch(problem), theirs, seconds=1.5))
        shares[n][name(tile)] = share[0]
        wb.value(f"{name(tile)}.n{n}.share", share[0], "%", share[1:])
print(f"{'of cuBLAS':12}" + "".join(f"{f'N = {n}':>11}" for n in shares))
for tile in chosen:
    print(f"{name(tile):12}" + "".join(f"{shares[n][name(tile)]:9.1f} %" for n in shares))
for n, found in shares.items():
    best = max(found, key=lambda one: found[one])
    wb.value(f"best.n{n}.share", found[best], "%")
    print(f"fastest at N = {n}: {best}, {found[best]:.1f} %")
