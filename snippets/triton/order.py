"""The order of programs: each writes its number into its tile; then what an order loads, exactly and by a model.

python order.py
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that Triton and torch use too
import warpbench as wb

wb.needs(packages="triton")
from _order import from_memory, loads, tile  # noqa: E402
from _products import order  # noqa: E402
from _tools import get, put  # noqa: E402

GRIDS = [(9, 9, 3), (1, 7, 4), (7, 1, 4), (10, 9, 3), (13, 5, 8), (3, 11, 16), (64, 64, 8)]


def numbers(rows: int, columns: int, group: int) -> np.ndarray:
    """Which program took each tile, as the kernel says; -1 where none did."""
    taken = put(np.full((rows, columns), -1, np.int32))
    order[(rows * columns,)](taken, rows, columns, GROUP=group)
    return get(taken)


rng = np.random.default_rng()
ragged = [tuple(int(x) for x in rng.integers(1, 20, 3)) for _ in range(8)]
for rows, columns, group in GRIDS + ragged:
    taken = numbers(rows, columns, group)
    wb.check(np.sort(taken.ravel()), np.arange(rows * columns), what=f"{rows} x {columns} in groups of {group}")
    want = np.full((rows, columns), -1, np.int32)
    for program in range(rows * columns):
        want[tile(program, rows, columns, group)] = program
    wb.check(taken, want, what=f"{rows} x {columns} in groups of {group}: the order")
print(f"{len(GRIDS + ragged)} grids, {len(ragged)} of them random: every tile is taken once, in the order of _order.py")

for name, group in (("rows", 1), ("groups", 3)):
    taken = numbers(9, 9, group)
    wb.matrix(f"{name}.order", taken)
    print(f"9 x 9 tiles, groups of {group}: the first 9 programs load {loads(9, 9, 9, group, 9)} tiles of A and B")
for side, at_once, what in (((128, 128), 264, "128 x 128, two per SM"), ((128, 256), 132, "128 x 256, one per SM")):
    for n in (4096, 8192):
        line = [f"{from_memory(n, side, group, at_once) / 1e9:.2f}" for group in (1, 2, 4, 8, 16, 32)]
        print(f"N = {n}, {what}: {', '.join(line)} GB from memory with groups of 1, 2, 4, 8, 16, 32")
