"""A context of softcuda's, and the raw cu* functions beside PyCUDA's wrappers."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator

import pytest

os.environ["SOFTCUDA"] = "force"
os.environ.setdefault("SOFTCUDA_QUIET", "1")

import pycuda.driver as cuda
from pycuda.compiler import SourceModule


@pytest.fixture
def context() -> Iterator[cuda.Context]:
    """A fresh context, current; gone afterwards even when a test has broken it."""
    cuda.init()
    device = cuda.Device(0)
    assert device.name().endswith("(softcuda)"), f"these tests are softcuda's, but the device is {device.name()}"
    context = device.make_context()
    yield context
    context.pop()
    context.detach()


@pytest.fixture
def raw() -> ctypes.CDLL:
    """The library itself; handles and sizes are passed as ctypes values."""
    return ctypes.CDLL(None)


@pytest.fixture
def compile(context) -> Callable[..., cuda.Function]:
    """compile("name", "CUDA C") -> the kernel."""
    modules = []

    def one(name: str, source: str) -> cuda.Function:
        modules.append(SourceModule(source))
        return modules[-1].get_function(name)

    return one


@pytest.fixture
def slow(compile) -> cuda.Function:
    """slow(int *out): writes 42 after some tenths of a second."""
    return compile(
        "slow",
        """
        __global__ void slow(int *out)
        {
            unsigned x = 1;
            for (int i = 0; i < 2000000; i++)
                x = x * 1664525u + 1013904223u + out[1];
            out[0] = x ? 42 : 43;
        }
        """,
    )
