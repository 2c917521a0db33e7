"""CPU tensors are the device's: of as much of PyTorch as Triton asks for, and of PyTorch where it is installed."""

from __future__ import annotations

import importlib.util

import pytest

# PyPI has no build of PyTorch for the CPU: this stands in for it where `make setup-torch` was not called.
STAND_IN = """
import sys, types
import numpy as np

class Device:
    type = "cpu"

class Tensor:
    device = Device()

    def __init__(self, array):
        self.array, self.dtype, self.shape = array, array.dtype, array.shape

    def data_ptr(self):
        return self.array.ctypes.data

    def numel(self):
        return self.array.size

    def untyped_storage(self):
        return self

    def nbytes(self):
        return self.array.nbytes

torch = sys.modules["torch"] = types.ModuleType("torch")
torch.Tensor = Tensor
torch.device = lambda name: name
of = Tensor
"""
REAL = """
import torch
of = torch.from_numpy
"""
PROGRAM = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)

x, y = np.random.rand(2, 5000).astype(np.float32)
out = np.full(5000, np.nan, np.float32)
tensors = [of(array) for array in (x, y, out)]
for _ in range(2):
    add[(triton.cdiv(5000, 1024),)](*tensors, 5000, BLOCK=1024)
    assert np.array_equal(out, x + y)  # when the call returns, as with any operation on CPU tensors
    x += 1
assert str(triton.runtime.driver.active.get_active_torch_device()) == "cpu"
assert triton.testing.do_bench(lambda: add[(5,)](*tensors, 5000, BLOCK=1024), warmup=1, rep=2) > 0
print("right")
"""


@pytest.fixture(params=["stand-in", "PyTorch"])
def torch(request):
    if request.param == "PyTorch" and importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch, which `make setup-torch` installs")
    return {"stand-in": STAND_IN, "PyTorch": REAL}[request.param]


def test_a_kernel_works_in_the_memory_of_cpu_tensors(run, torch):
    done = run(torch + PROGRAM)
    assert (done.stdout, done.returncode) == ("right\n", 0), done.stderr


def test_a_kernel_that_faults_leaves_the_error_in_the_call(run, torch):
    wild = PROGRAM.replace("tl.store(out + i", "tl.store(out + 2**40 + i")
    done = run(torch + wild)
    assert done.returncode != 0
    assert "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered" in done.stderr


def test_check_watches_it(run, torch):
    racing = PROGRAM.replace("tl.store(out + i", "tl.store(out + i // 2")
    done = run(torch + racing, "check")
    assert "race in global memory in kernel add" in done.stdout
    assert "tl.atomic_add" in done.stdout
