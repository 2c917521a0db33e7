"""v9 of staged.cu: how it is compiled and launched."""

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pycuda.driver as cuda
import warpbench as wb
from _gemv import THREADS, TILE, Launch, Problem, function


def compile_staged(batches: Sequence[int]) -> None:
    """Compile for all of these M at once, as compile_all does."""
    from pycuda.compiler import compile

    arch = "sm_{}{}".format(*cuda.Context.get_device().compute_capability())
    sources = [wb.source("gemv/tensor.cu", M=m) + wb.source("gemv/staged.cu") for m in batches]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda text: compile(text, options=["-lineinfo"], no_extern_c=True, arch=arch), sources))


@functools.cache
def kernel(m: int) -> Any:
    return wb.module("gemv/tensor.cu", append=wb.source("gemv/staged.cu"), M=m).get_function("gemv_v9")


# --8<-- [start:launch]
def staged(splits: int) -> Launch:
    """v9: as v7, every block stores its sums, and a second launch adds them up."""

    def launch(p: Problem, i: int = 0) -> None:
        n, grid = np.int32(p.n), (-(-p.n // TILE), splits)
        parts = p.scratch(splits * p.m * p.n)
        kernel(p.m)(p.w[i], p.x_at(), parts, *p.sizes(), block=(THREADS, 1, 1), grid=grid)
        grid = (-(-p.m * p.n // THREADS), 1)
        function("fix_up", p)(parts, p.y, n, np.int32(splits), block=(THREADS, 1, 1), grid=grid)

    return launch


# --8<-- [end:launch]
