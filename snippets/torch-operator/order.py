"""Atomics add in any order: which results of the backward pass repeat bit for bit, and which do not.

python order.py   on softcuda the same launch in eight orders of blocks and warps; on a GPU twenty times
"""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from kernels import Kernels, check_trilinear_results, scene

ORDERS, REPEATS = 8, 20


def results(seed: int) -> dict[str, bytes]:
    """The bits of each result, right in NumPy's float64 too, for the data that belong to `seed`."""
    rng, kernels = np.random.default_rng(seed), Kernels(np.float32)
    grad, grid, points = scene(rng, np.float32, (4, 4, 4, 8), 2000)
    whole = np.round(grad * 4).astype(np.float32), np.round(points * 4).astype(np.float32) / 4
    out, (on_grid, on_points) = kernels.trilinear(grid, points), kernels.trilinear_backward(grad, grid, points)
    fixed = kernels.grid_gradient_fixed(grad, grid, points)
    exact, exact_on_points = kernels.trilinear_backward(whole[0], grid, whole[1])
    check_trilinear_results(kernels.unit, (grad, grid, points), out, on_points, (on_grid, fixed))
    wholes = whole[0], grid, whole[1]
    check_trilinear_results(kernels.unit, wholes, kernels.trilinear(grid, whole[1]), exact_on_points, (exact,))
    return {
        "result": out.tobytes(),
        "gradient of the points": on_points.tobytes(),
        "gradient of the grid": on_grid.tobytes(),
        "of the grid, where every sum is exact": exact.tobytes(),
        "of the grid, in fixed point": fixed.tobytes(),
    }


def digests(seed: int) -> list[str]:
    return [hashlib.sha256(bits).hexdigest() for bits in results(seed).values()]


def in_order(seed: int, order: int) -> list[str]:
    """In a process of its own, in which softcuda shuffles blocks and warps."""
    shuffled = os.environ | {"SOFTCUDA_SEED": str(order), "SOFTCUDA_QUIET": "1"}
    shuffled.pop("WARPBENCH_OUT", None)
    command = [sys.executable, __file__, "--digests", str(seed)]
    return subprocess.run(command, env=shuffled, capture_output=True, text=True, check=True).stdout.split()


if __name__ == "__main__":
    if "--digests" in sys.argv[1:]:
        print(*digests(int(sys.argv[-1])))
        sys.exit()
    seed = int(np.random.default_rng().integers(2**31))
    names = list(results(seed))
    if wb.is_gpu():
        found = [digests(seed) for _ in range(REPEATS)]
    else:
        found = [in_order(seed, order) for order in range(1, ORDERS + 1)]
    for name, each in zip(names, zip(*found, strict=True), strict=True):
        distinct = len(set(each))
        if name != "gradient of the grid" and distinct > 1:
            raise AssertionError(f"{name}: {distinct} different results of {len(found)}")
        if name == "gradient of the grid":
            if wb.is_gpu():
                wb.value("order.distinct", distinct, "count")
            elif distinct == 1:
                raise AssertionError("the order of the additions changed nothing")
        print(f"{name}: {'the same bits' if distinct == 1 else 'different bits'} in {len(found)} runs")
