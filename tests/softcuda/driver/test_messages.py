"""What stderr says of mistakes that a newcomer makes: what, where, what to do, in one line."""

from __future__ import annotations

import pytest

HEAD = """
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule

ADD = "__constant__ float scale[4]; __global__ void add(float *a, int n) { a[0] = n * scale[1]; }"
PTX = ".version 8.7\\n.target {}\\n.address_size 64\\n.visible .entry k() {{ ret; }}\\n"
"""


def ptx(target: str) -> str:
    return f"cuda.module_from_buffer(PTX.format('{target}').encode())"


MISTAKES = {
    "no such kernel": (
        "SourceModule(ADD).get_function('sum')",
        "the module has no kernel sum; it has add",
    ),
    "a C++ kernel by its plain name": (
        "SourceModule(ADD, no_extern_c=True).get_function('add')",
        "the module has no kernel add; it has add(float*, int) as _Z3addPfi: ask for that symbol, or declare it extern"
        ' "C"',
    ),
    "no such variable": (
        "SourceModule(ADD).get_global('factor')",
        "the module has no variable factor; it has scale",
    ),
    "no variables": (
        "SourceModule('__global__ void add() {}').get_global('factor')",
        "the module has no variable factor; it has no variable at all",
    ),
    "PTX for a newer device": (
        ptx("sm_100"),
        "the PTX is for sm_100, newer than this device (sm_90): compile with -arch=sm_90, or set SOFTCUDA_DEVICE=b200",
    ),
    "PTX for one other device": (
        ptx("sm_80a"),
        "the PTX is for sm_80a alone, and this device is another (sm_90): compile with -arch=sm_90, or set "
        "SOFTCUDA_DEVICE=a100",
    ),
    "CUDA C++ in place of PTX": (
        "cuda.module_from_buffer(b'__global__ void k() {}')",
        "PTX line 1: unexpected '__global__'; expected '.version' at the start of a PTX module; CUDA C++ has to be "
        "compiled first: SourceModule, nvcc -ptx",
    ),
    "no such file": (
        "cuda.module_from_file('/nowhere/kernel.ptx')",
        "cuModuleLoad: cannot read /nowhere/kernel.ptx",
    ),
    "no such device": (
        "cuda.Device(1)",
        "there is no device 1, the first is 0: SOFTCUDA_DEVICES=2 gives 2",
    ),
    "more memory than there is": (
        "cuda.mem_alloc(1 << 40)",
        "cuMemAlloc: out of memory: 1099511627776 bytes asked for, ",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_explained(program, mistake):
    """On stderr, or within PyCUDA's own error."""
    call, told = MISTAKES[mistake]
    done = program(f"{HEAD}{call}\n", SOFTCUDA_QUIET="0")
    assert done.returncode == 1 and told in done.stderr, done.stderr
    assert done.stderr.count(told) == 1


def test_a_host_address_is_recognised(program):
    done = program(
        f"{HEAD}x = np.zeros(8, np.float32)\nadd = SourceModule(ADD).get_function('add')\n"
        "add(np.intp(x.ctypes.data), np.int32(1), block=(1, 1, 1))\npycuda.autoinit.context.synchronize()\n"
    )
    assert "in no allocation but in host memory, which kernels cannot reach: copy it to the device" in done.stderr
