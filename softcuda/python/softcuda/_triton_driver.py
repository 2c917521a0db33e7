"""Triton's driver for NVIDIA, made to do without PyTorch, and to take PyTorch's CPU tensors where there are any.

Imported when `import triton` is done (_triton.py); softcuda is then loaded in this process.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import sys
from collections.abc import Callable
from typing import Any

from triton.backends.nvidia import driver as nvidia

ERROR_LOG_BUFFER, ERROR_LOG_BUFFER_SIZE = 5, 6  # CU_JIT_…
MAPPED = 2  # CU_MEMHOSTREGISTER_DEVICEMAP
LEAST_MILLISECONDS = 1e-3  # do_bench divides by what it measures


@functools.cache
def cuda() -> ctypes.CDLL:
    """softcuda's driver, which this process has loaded, with the argument types of what is called here."""
    library = ctypes.CDLL("libcuda.so.1")
    library.cuMemHostRegister_v2.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
    library.cuMemHostUnregister.argtypes = [ctypes.c_void_p]
    library.cuEventRecord.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    for name in ("cuEventSynchronize", "cuEventQuery", "cuEventDestroy_v2"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    library.cuEventElapsedTime.argtypes = [ctypes.POINTER(ctypes.c_float), ctypes.c_void_p, ctypes.c_void_p]
    return library


def check(code: int) -> None:
    """RuntimeError, in the words of Triton's own launcher, if a call of the driver failed."""
    if code:
        text = ctypes.c_char_p()
        cuda().cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"Triton Error [CUDA]: {(text.value or b'unknown error').decode()}")


def synchronize(*_: Any) -> None:
    check(cuda().cuCtxSynchronize())


class Event:
    """As torch.cuda.Event, on an event of the driver."""

    def __init__(self, enable_timing: bool = True, **_: Any) -> None:
        self.handle = ctypes.c_void_p()
        check(cuda().cuEventCreate(ctypes.byref(self.handle), 0))

    def record(self, stream: Any = None) -> None:
        check(cuda().cuEventRecord(self.handle, getattr(stream, "cuda_stream", stream)))

    def synchronize(self) -> None:
        check(cuda().cuEventSynchronize(self.handle))

    def query(self) -> bool:
        return cuda().cuEventQuery(self.handle) == 0

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to `end`, more than 0."""
        end.synchronize()
        milliseconds = ctypes.c_float()
        check(cuda().cuEventElapsedTime(ctypes.byref(milliseconds), self.handle, end.handle))
        return max(milliseconds.value, LEAST_MILLISECONDS)

    def __del__(self) -> None:
        if self.handle:
            cuda().cuEventDestroy_v2(self.handle)


class DeviceInterface:
    """What Triton takes from torch.cuda: events, and waiting for the device."""

    Event = Event
    synchronize = staticmethod(synchronize)

    @staticmethod
    def current_device() -> int:
        return nvidia.triton.runtime.driver.active.get_current_device()

    @staticmethod
    def is_available() -> bool:
        return True


def host_storages(arguments: Any, found: dict[int, int]) -> dict[int, int]:
    """Address and size of the memory behind PyTorch's CPU tensors among a kernel's arguments."""
    torch = sys.modules["torch"]
    for argument in arguments:
        if isinstance(argument, torch.Tensor):
            if argument.device.type == "cpu" and argument.numel():
                storage = argument.untyped_storage()
                found[storage.data_ptr()] = storage.nbytes()
        elif isinstance(argument, (tuple, list)):
            host_storages(argument, found)
        elif hasattr(argument, "base"):  # a TensorDescriptor, a TensorWrapper
            host_storages([argument.base], found)
    return found


class Launcher(nvidia.CudaLauncher):
    """Triton's launcher.  The memory of CPU tensors is the device's while a kernel runs, at the same address."""

    def __call__(self, grid_x: int, grid_y: int, grid_z: int, stream: int, function: int, *rest: Any) -> None:
        launch = functools.partial(super().__call__, grid_x, grid_y, grid_z, stream, function, *rest)
        storages = host_storages(rest[4:], {}) if getattr(sys.modules.get("torch"), "Tensor", None) else {}
        if not storages:
            launch()
            return
        registered = []
        try:
            for address, size in storages.items():
                if cuda().cuMemHostRegister_v2(address, size, MAPPED) == 0:  # else its owner has registered it
                    registered.append(address)
            launch()
            synchronize()
        finally:
            cuda().cuCtxSynchronize()
            for address in registered:
                cuda().cuMemHostUnregister(address)


def with_reason(load: Callable[..., Any]) -> Callable[..., Any]:
    """Triton's load_binary, whose error says what of the kernel softcuda does not know."""

    def load_binary(name: str, image: bytes, *rest: Any) -> Any:
        try:
            return load(name, image, *rest)
        except RuntimeError as error:
            if reason := refusal(image):
                raise RuntimeError(f"{error}: {reason}") from None
            raise

    return load_binary


def refusal(image: bytes) -> str:
    """Why an image cannot be loaded, in the driver's words; empty if it can."""
    text = ctypes.create_string_buffer(4096)
    options = (ctypes.c_int * 2)(ERROR_LOG_BUFFER, ERROR_LOG_BUFFER_SIZE)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(text), len(text))
    module = ctypes.c_void_p()
    if cuda().cuModuleLoadDataEx(ctypes.byref(module), image, 2, options, values):
        return text.value.decode(errors="replace").strip()
    cuda().cuModuleUnload(module)
    return ""


def need_compiler() -> None:
    """Triton compiles its launcher, once; RuntimeError if there is nothing to do it with."""
    if not os.environ.get("CC") and not any(map(shutil.which, ("gcc", "clang"))):
        raise RuntimeError("softcuda: Triton needs a C compiler and there is no gcc on PATH: apt-get install gcc")


class SoftcudaDriver(nvidia.CudaDriver):
    """Triton's CUDA driver as it is without PyTorch, whether or not PyTorch is imported."""

    def __init__(self) -> None:
        self.launcher_cls = Launcher
        self.get_device_capability = self._get_device_capability
        self.get_current_stream = self._get_current_stream
        self.get_current_device = self._get_current_device
        self.set_current_device = self._set_current_device

    @functools.cached_property
    def utils(self) -> nvidia.CudaUtils:
        """Compiled at the first launch, not when Triton is imported."""
        need_compiler()
        check(cuda().cuInit(0))  # as nvidia.CudaDriver.is_active does
        utils = nvidia.CudaUtils()
        utils.load_binary = with_reason(utils.load_binary)
        return utils

    @staticmethod
    def is_active() -> bool:
        return True

    def get_active_torch_device(self) -> Any:
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> type[DeviceInterface]:
        return DeviceInterface

    def get_empty_cache_for_benchmark(self) -> None:
        return None

    def clear_cache(self, cache: None) -> None:
        """Times here are the CPU's: there is no L2 to clear."""
