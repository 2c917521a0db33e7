"""Tensor maps, which tell Hopper's copy engine how an array lies in memory and what it copies at a time."""

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

HALF, BFLOAT16 = 6, 9  # in cuda.h: CU_TENSOR_MAP_DATA_TYPE_FLOAT16, …_BFLOAT16
SWIZZLE, FETCH = 3, 2  # 16-byte chunks are swizzled within 128 bytes; the L2 fetches 128 bytes


@functools.cache
def driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")  # PyCUDA has no name for cuTensorMapEncodeTiled


def tensor_map(address: Any, shape: Sequence[int], box: Sequence[int], kind: int = HALF) -> np.ndarray:
    """128 bytes, to be passed as a __grid_constant__ parameter, for an array of 2-byte elements without gaps.

    `shape` and `box` count elements, the innermost dimension first; a box has 64 of these, 128 bytes. What lies outside
    of the array is read as zeros and not written. RuntimeError where the driver refuses.
    """
    room = np.zeros(192, np.uint8)
    found, n = room[-room.ctypes.data % 64 :][:128], len(shape)  # a map lies at a multiple of 64
    strides = [2 * math.prod(shape[:i]) for i in range(1, n)]
    longs, words = ctypes.c_uint64, ctypes.c_uint32
    status = driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(found.ctypes.data), kind, n, ctypes.c_void_p(int(address)), (longs * n)(*shape),
        (longs * (n - 1))(*strides), (words * n)(*box), (words * n)(*[1] * n), 0, SWIZZLE, FETCH, 0,
    )  # fmt: skip
    if status:
        raise RuntimeError(f"boxes of {tuple(box)} in an array of {tuple(shape)}: cuTensorMapEncodeTiled says {status}")
    return found
