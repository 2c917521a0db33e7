"""A kernel that faults: the message on stderr once, the error at every later call until the context is gone."""

from __future__ import annotations

import pytest

PROGRAM = """
import numpy, pycuda.driver as cuda
from pycuda.compiler import SourceModule
cuda.init()
context = cuda.Device(0).make_context()
kernel = SourceModule(r'''
#include <cassert>
__global__ void broken(int *a) { KERNEL }
''').get_function('broken')
data = cuda.mem_alloc(400)
try:
    kernel(data, block=(32, 1, 1))
    context.synchronize()
except cuda.Error as error:
    print(error)
for call in (context.synchronize, cuda.mem_get_info, lambda: cuda.mem_alloc(4)):
    try:
        call()
        print('worked')
    except cuda.Error as error:
        print(str(error).split(': ')[1])
import os, sys; sys.stdout.flush(); os._exit(0)
"""


@pytest.mark.parametrize(
    ("kernel", "text", "mention"),
    [
        ("a[threadIdx.x + 100] = 1;", "an illegal memory access was encountered", "broken"),
        ("*(int *)(size_t)(blockIdx.x * 4) = 1;", "an illegal memory access was encountered", "broken"),
        ("*(int *)((char *)a + 2) = 1;", "misaligned address", "broken"),
        ("assert(threadIdx.x < 7);", "device-side assert triggered", "threadIdx.x < 7"),
        ("if (threadIdx.x == 3) __trap();", "unspecified launch failure", "broken"),
    ],
)
def test_fault(program, kernel, text, mention):
    done = program(PROGRAM.replace("KERNEL", kernel))
    lines = [line for line in done.stdout.splitlines() if "Assertion" not in line]
    assert lines[0].endswith(text), done.stdout + done.stderr
    assert lines[1:] == [text] * 3
    reported = [line for line in done.stderr.splitlines() if line.startswith("softcuda: ")]
    assert len(reported) == 1 and mention in done.stderr, done.stderr


def test_runaway_kernel_ends_at_the_time_limit(program):
    kernel = "volatile int *v = a; while (v[0] != 12345) ;"
    done = program(PROGRAM.replace("KERNEL", kernel), SOFTCUDA_TIMEOUT="0.5")
    assert "the launch timed out and was terminated" in done.stdout


def test_a_new_context_works_after_a_fault(program):
    done = program("""
import numpy as np, pycuda.driver as cuda
from pycuda.compiler import SourceModule
cuda.init()
for attempt in range(3):
    context = cuda.Device(0).make_context()
    kernel = SourceModule("__global__ void k(int *a, int i) { a[i] = 7; }").get_function("k")
    host = np.zeros(4, np.int32)
    data = cuda.to_device(host)
    try:
        kernel(data, np.int32(2 if attempt else 1 << 20), block=(1, 1, 1))
        cuda.memcpy_dtoh(host, data)
        print(host[2])
    except cuda.Error as error:
        print(str(error).split(": ")[1])
    context.pop()
    context.detach()
""")
    assert done.stdout.split("\n")[:3] == ["an illegal memory access was encountered", "7", "7"], done.stderr
