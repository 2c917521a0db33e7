"""The driver API through ctypes, where PyCUDA does not reach: launches by pointers to the arguments, tensor maps."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np

MAX_DYNAMIC_SHARED = 8


@cache
def library() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


class DriverError(RuntimeError):
    pass


def check(code: int, call: str) -> None:
    if code:
        name = ctypes.c_char_p()
        library().cuGetErrorName(code, ctypes.byref(name))
        raise DriverError(f"{call}: {(name.value or b'error').decode()} ({code})")


class Module:
    """PTX, translated by the driver in the current context."""

    def __init__(self, source: str) -> None:
        self.handle = ctypes.c_void_p()
        check(library().cuModuleLoadData(ctypes.byref(self.handle), source.encode() + b"\0"), "cuModuleLoadData")

    def function(self, name: str) -> ctypes.c_void_p:
        found = ctypes.c_void_p()
        check(library().cuModuleGetFunction(ctypes.byref(found), self.handle, name.encode()), "cuModuleGetFunction")
        return found

    def unload(self) -> None:
        library().cuModuleUnload(self.handle)


def launch(
    function: ctypes.c_void_p, out: int, given: int, tensor_map: np.ndarray, grid: int, block: int, shared: int
) -> None:
    """Launches `k(out, in, map)`.  Each argument by its address: the driver knows where the kernel expects it."""
    if shared > 48 * 1024:
        check(library().cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED, shared), "cuFuncSetAttribute")
    held = (ctypes.c_uint64(out), ctypes.c_uint64(given), (ctypes.c_ubyte * 128)(*tensor_map.tolist()))
    pointers = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in held))
    check(library().cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, None, pointers, None), "cuLaunchKernel")
