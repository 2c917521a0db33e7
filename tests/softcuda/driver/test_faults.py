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
        (
            "for (int i = 1 << 13; i; ++i) a[i & 7] = *(volatile int *)__builtin_alloca(i);",
            "hardware stack error",
            "alloca of",
        ),
        (
            '__shared__ __align__(16) int s[8]; asm("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"'
            ' ::"l"(a), "r"((int)__cvta_generic_to_shared(s)), "r"(12));',
            "misaligned address",
            "a bulk copy of 12 bytes",
        ),
        (
            '__shared__ __align__(16) int s[8]; asm("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 32;"'
            ' ::"l"(a + 96), "r"((int)__cvta_generic_to_shared(s)));',
            "an illegal memory access was encountered",
            "just past the end",
        ),
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


DYNAMIC = """
import pycuda.driver as cuda
from pycuda.compiler import DynamicSourceModule
cuda.init()
context = cuda.Device(0).make_context()
kernel = DynamicSourceModule(r'''
__global__ void child(int *a, int n) { CHILD }
__global__ void middle(int *a, int n) { child<<<1, 32>>>(a, n); }
__global__ void parent(int *a) { PARENT }
''').get_function('parent')
data = cuda.mem_alloc(400)
kernel(data, block=(1, 1, 1), grid=(1, 1))
try:
    context.synchronize()
except cuda.Error as error:
    print(error)
import os, sys; sys.stdout.flush(); os._exit(0)
"""


@pytest.mark.parametrize("stream", ["0", "cudaStreamFireAndForget", "cudaStreamTailLaunch"])
def test_a_childs_fault_ends_the_launch_and_names_the_child(program, stream):
    source = DYNAMIC.replace("CHILD", "a[threadIdx.x + n] = 1;")
    done = program(source.replace("PARENT", f"middle<<<1, 1, 0, {stream}>>>(a, 100);"))
    assert done.stdout.endswith("an illegal memory access was encountered\n"), done.stdout + done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("softcuda: illegal address: kernel child, block (0,0,0), thread (0,0,0): ")
    assert "allocation" in line
    assert "; launched by kernel middle" in line


def test_a_copy_that_a_kernel_asked_for_faults(program):
    done = program(DYNAMIC.replace("PARENT", "cudaMemsetAsync(a, 0, 500, 0);").replace("CHILD", ""))
    assert done.stdout.endswith("an illegal memory access was encountered\n"), done.stdout + done.stderr
    assert "memset asked for by kernel parent: write of 500 bytes" in done.stderr


def test_a_runaway_child_ends_at_the_time_limit(program):
    source = DYNAMIC.replace("CHILD", "volatile int *v = a; while (v[0] != 12345) ;")
    done = program(source.replace("PARENT", "child<<<1, 1>>>(a, 0);"), SOFTCUDA_TIMEOUT="0.5")
    assert "the launch timed out and was terminated" in done.stdout, done.stdout + done.stderr
    assert "timeout: kernel child" in done.stderr


def test_a_launch_on_the_device_that_is_refused_is_told_once(program):
    done = program(
        DYNAMIC.replace("CHILD", "").replace("PARENT", "for (int i = 0; i < 9; i++) child<<<1, 2000>>>(a, 0);"),
        SOFTCUDA_QUIET="0",
    )
    told = [line for line in done.stderr.splitlines() if "refused" in line]
    assert told == [
        "softcuda: kernel parent: a launch on the device refused: kernel child: a block of (2000, 1, 1) threads, "
        "at most (1024, 1024, 64)"
    ]
