"""A context of softcuda's for programs that use PyCUDA as its documentation does."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator

import pytest

os.environ["SOFTCUDA"] = "force"
os.environ.setdefault("SOFTCUDA_QUIET", "1")

import pycuda.driver as cuda
from pycuda.compiler import SourceModule

from softcuda import _toolkit


@pytest.fixture(scope="module")
def context() -> Iterator[cuda.Context]:
    """One context for the programs of a file; a program that breaks its context runs in a process of its own."""
    cuda.init()
    device = cuda.Device(0)
    assert device.name().endswith("(softcuda)"), f"these tests are softcuda's, but the device is {device.name()}"
    context = device.make_context()
    yield context
    context.pop()
    context.detach()


@pytest.fixture(scope="module")
def compile(context: cuda.Context) -> Callable[..., SourceModule]:
    """compile("CUDA C++") -> the module; names are C++'s, kernels extern "C"; CUDA's own headers are found."""

    def one(source: str, *options: str) -> SourceModule:
        toolkit = _toolkit.nvidia()
        assert toolkit, _toolkit.INSTALL
        return SourceModule(
            source, options=list(options), no_extern_c=True, include_dirs=[str(toolkit / "include" / "cccl")]
        )

    return one


@pytest.fixture
def raw() -> ctypes.CDLL:
    """The library itself, for what PyCUDA does not wrap."""
    return ctypes.CDLL(None)
