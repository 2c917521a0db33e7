"""Tiles, warps and stages for a product: which fit, what limits each by a count, and on a GPU which is fastest.

python tune.py   on a GPU triton.autotune also times those that are left, for N = 4096 and 8192
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that Triton and torch use too
import warpbench as wb

wb.needs("9.0", packages="triton")
import triton  # noqa: E402
from _products import product  # noqa: E402
from _tools import Launch, Problem  # noqa: E402

# --8<-- [start:configs]
CONFIGS = [  # rows, columns and depth of a tile; warps; stages
    (64, 64, 64, 4, 4),
    (64, 128, 64, 4, 4),
    (128, 128, 32, 4, 4),
    (128, 128, 64, 4, 3),
    (128, 128, 64, 8, 4),
    (128, 256, 64, 4, 3),
    (128, 256, 64, 8, 3),
    (128, 256, 64, 8, 4),
    (256, 128, 64, 8, 3),
    (256, 256, 32, 8, 3),
]
L2, CLOCK, SMS, POWER = 9.03e12, 1.98e9, 132, 672e12  # as in the article on tensor cores


def limit(rows: int, columns: int) -> float:
    """Flops per second: what the L2 delivers for tiles of this size, or what the power allows."""
    return min(POWER, L2 * 2 * rows * columns / (2 * (rows + columns)))


# --8<-- [end:configs]
# --8<-- [start:autotune]
tuned = triton.autotune(
    configs=[
        triton.Config(
            {"ROWS": rows, "COLUMNS": columns, "DEPTH": depth, "GROUP": 8}, num_warps=warps, num_stages=stages
        )
        for rows, columns, depth, warps, stages in CONFIGS
    ],
    key=["m", "n", "k"],  # tried again where one of these is another
    prune_configs_by={"early_config_prune": lambda configs, arrays, **_: [one for one in configs if fits(one)]},
)(product)
# --8<-- [end:autotune]
FITTING: list[tuple] = []


def fits(config: triton.Config) -> bool:
    tile = tuple(config.kwargs[name] for name in ("ROWS", "COLUMNS", "DEPTH"))
    return (*tile, config.num_warps, config.num_stages) in FITTING


rng = np.random.default_rng()
print("rows columns depth warps stages   registers  spilled  shared KiB   TFLOP/s at most")
for rows, columns, depth, warps, stages in CONFIGS:
    problem, launch = Problem(rng, 256, 512, 192), Launch(product, rows, columns, depth, 8, warps, stages)
    try:
        problem.reset()
        launch(problem)
        problem.check(f"{rows} x {columns} x {depth}")
    except triton.runtime.errors.OutOfResources as error:
        print(f"{rows:4}{columns:8}{depth:6}{warps:6}{stages:7}   does not fit: {error.name}")
        continue
    made = launch.made
    spilled = made.n_spills > 0
    if not spilled:
        FITTING.append((rows, columns, depth, warps, stages))
    counts = f"{made.n_regs:12}{made.n_spills:9}{made.metadata.shared / 1024:12.0f}"
    print(f"{rows:4}{columns:8}{depth:6}{warps:6}{stages:7}{counts}{limit(rows, columns) / 1e12:18.0f}")
FITTING.sort(key=lambda one: -limit(*one[:2]))
if wb.is_gpu():
    for n in (4096, 8192):
        problem = Problem(rng, n, n, n, every=False)
        problem.reset()
        grid = lambda tile: (triton.cdiv(n, tile["ROWS"]) * triton.cdiv(n, tile["COLUMNS"]),)  # noqa: B023, E731
        tuned[grid](problem.a, problem.b, problem.c, n, n, n)
        problem.check(f"N = {n}")
        print(f"N = {n}, fastest in this run: {tuned.best_config}")
else:
    FITTING[:] = FITTING[:2]  # softcuda's times choose nothing that matters on a GPU
    problem = Problem(rng, 256, 512, 192)
    problem.reset()
    tuned[lambda tile: (triton.cdiv(256, tile["ROWS"]) * triton.cdiv(512, tile["COLUMNS"]),)](
        problem.a, problem.b, problem.c, 256, 512, 192
    )
    problem.check("tuned")
    print("triton.autotune: right; no GPU: which is fastest is not measured")
