"""What PyCUDA leaves to the driver's own functions: a cooperative launch, and the question how many blocks fit.

PyCUDA keeps the driver's handle of a kernel to itself, so the module is loaded here once more, into PyCUDA's context.
"""

import ctypes

import numpy as np
import pycuda.driver as cuda
import warpbench as wb
from pycuda import compiler

_library = ctypes.CDLL("libcuda.so.1")  # the one that PyCUDA uses


def call(name: str, *arguments: object) -> None:
    """Call a function of the driver; raise with its name for the error if it fails."""
    if status := getattr(_library, name)(*arguments):
        text = ctypes.c_char_p()
        _library.cuGetErrorName(status, ctypes.byref(text))
        raise RuntimeError(f"{name}: {(text.value or b'unknown error').decode()}")


class Module:
    """snippets/`path`, compiled as warpbench.module does, with the driver's handles of its kernels."""

    def __init__(self, path: str, **macros: object) -> None:
        image = compiler.compile(wb.source(path, **macros), options=["-lineinfo"], no_extern_c=True)
        self.handle = ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(self.handle), bytes(image) + b"\0")

    def get_function(self, name: str) -> "Function":
        handle = ctypes.c_void_p()
        call("cuModuleGetFunction", ctypes.byref(handle), self.handle, name.encode())
        return Function(handle)


class Function:
    def __init__(self, handle: ctypes.c_void_p) -> None:
        self.handle = handle

    # --8<-- [start:cooperative]
    def launch_together(self, *arguments: object, grid: int, block: int) -> None:
        """A launch whose blocks are all resident at once; the driver refuses a grid that does not fit."""
        values = [np.uint64(int(a)) if isinstance(a, cuda.DeviceAllocation) else a for a in arguments]
        buffers = [ctypes.create_string_buffer(value.tobytes()) for value in values]
        pointers = (ctypes.c_void_p * len(buffers))(*map(ctypes.addressof, buffers))
        call("cuLaunchCooperativeKernel", self.handle, grid, 1, 1, block, 1, 1, 0, None, pointers)

    # --8<-- [end:cooperative]

    # --8<-- [start:query]
    def blocks_per_sm(self, threads: int, dynamic_shared: int = 0) -> int:
        """How many blocks of this shape an SM holds, in the driver's own opinion."""
        blocks = ctypes.c_int()
        call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            ctypes.byref(blocks), self.handle, threads, ctypes.c_size_t(dynamic_shared),
        )  # fmt: skip
        return blocks.value

    # --8<-- [end:query]

    def attribute(self, which: int) -> int:
        value = ctypes.c_int()
        call("cuFuncGetAttribute", ctypes.byref(value), which, self.handle)
        return value.value

    def allow_dynamic_shared(self, nbytes: int) -> None:
        call("cuFuncSetAttribute", self.handle, 8, nbytes)  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
