"""Where a case's tensors are: on softcuda in a GPUArray, in Triton's interpreter in NumPy's memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
from cases import TYPES


def on_device(array: np.ndarray, kind: str | None = None) -> Any:
    """A GPUArray; `kind` names what its bits mean if NumPy has no such type."""
    from pycuda import gpuarray

    tensor = gpuarray.to_gpu(np.ascontiguousarray(array))
    return triton.reinterpret(tensor, TYPES[kind]) if kind else tensor


def in_memory(array: np.ndarray, kind: str | None = None) -> Any:
    tensor = HostTensor(np.ascontiguousarray(array))
    return triton.reinterpret(tensor, TYPES[kind]) if kind else tensor


def array_of(tensor: Any) -> np.ndarray:
    return getattr(tensor, "base", tensor).get() if not hasattr(tensor, "get") else tensor.get()


class HostTensor:
    """As much of a PyTorch tensor as Triton's interpreter asks for, its own storage included; nothing is copied."""

    device = "cpu"

    def __init__(self, array: np.ndarray | None) -> None:
        self.array = array
        self.data = self

    def get(self) -> np.ndarray:
        return self.array

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def element_size(self) -> int:
        return self.array.itemsize

    def size(self) -> tuple[int, ...]:
        return self.array.shape

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def storage_offset(self) -> int:
        return 0

    def untyped_storage(self) -> HostTensor:
        return self

    def cpu(self) -> HostTensor:
        return self

    def copy_(self, other: HostTensor) -> None:
        assert other.array is self.array

    def new_empty(self, _size: int, device: str) -> HostTensor:
        return HostTensor(None)

    def set_(self, storage: HostTensor, *_: Any) -> None:
        self.array = storage.array
