"""Kernels that fault: one message that says what, who and where, one error until the context is gone, after it a new
context in the same process that works."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys

import native
import pytest

ILLEGAL_ADDRESS = "an illegal memory access was encountered"
MISALIGNED = "misaligned address"
LAUNCH_FAILED = "unspecified launch failure"
TIMEOUT = "the launch timed out and was terminated"
ILLEGAL_INSTRUCTION = "an illegal instruction was encountered"
ASSERT = "device-side assert triggered"

FIRST = "block (0,0,0), thread (0,0,0)"
PAST = "past the end of allocation"

# kernel(int *a, int *freed, int n): a has 404 bytes, `freed` had 64, n is 100000; a block of 64 threads.
CASES = [
    # what happens, the kernel's body, the error, what the message mentions
    ("write past the end", "a[threadIdx.x + 101] = 1;", ILLEGAL_ADDRESS,
     [FIRST, "write of 4 bytes", "just past the end of allocation", "(404 bytes, cuMemAlloc)", "kernel.cu:"]),
    ("read before the start", "a[2] = a[-1];", ILLEGAL_ADDRESS,
     [FIRST, "read of 4 bytes", "4 bytes before the start of allocation"]),
    ("read between allocations", "a[2] = a[110];", ILLEGAL_ADDRESS, ["36 bytes " + PAST]),
    ("read across the end", "*(long long *)a = *(long long *)(a + 100);", ILLEGAL_ADDRESS,
     ["read of 8 bytes", "4 bytes beyond the end of allocation"]),
    ("atomic past the end", "atomicAdd(a + 101, 1);", ILLEGAL_ADDRESS, ["atomic operation of 4 bytes", PAST]),
    ("null pointer", "if (threadIdx.x == 9) *(int *)(size_t)(blockIdx.x * 4) = 1;", ILLEGAL_ADDRESS,
     ["thread (9,0,0)", "a null pointer"]),
    ("wild pointer", "*(int *)((size_t)n << 24) = 1;", ILLEGAL_ADDRESS, ["in no allocation"]),
    ("use after free", "a[2] = freed[1];", ILLEGAL_ADDRESS,
     ["inside allocation", "(64 bytes, cuMemAlloc), which has been freed"]),
    ("write beyond shared memory", "__shared__ int s[64]; s[n + threadIdx.x] = 1; a[0] = s[n];", ILLEGAL_ADDRESS,
     ["write of 4 bytes at 0x", "the block's shared memory ends at 0x"]),
    ("read before shared memory", "__shared__ int s[64]; s[threadIdx.x] = 1; a[0] = s[threadIdx.x - n];",
     ILLEGAL_ADDRESS, ["read of 4 bytes at 0x", "the block's shared memory ends at 0x"]),
    ("write beyond local memory",
     "int l[4] = {n, 1, 2, 3}; l[n] = 1; for (int i = 0; i < 4; i++) a[i] = l[(n + i) & 3];",
     ILLEGAL_ADDRESS, ["write of 4 bytes", "the thread's local memory ends at 0x"]),
    ("read beyond constants", "a[0] = table[n];", ILLEGAL_ADDRESS, ["read of 4 bytes"]),
    ("write of constants", "int *t = (int *)table; asm volatile(\"st.u32 [%0], %1;\" :: \"l\"(t), \"r\"(n));",
     ILLEGAL_ADDRESS, ["write of 4 bytes", "__constant__ table), which kernels may only read"]),
    ("misaligned write", "*(int *)((char *)a + 2) = 1;", MISALIGNED,
     [FIRST, "write of 4 bytes", "which is no multiple of 4"]),
    ("misaligned shared read", "__shared__ int s[64]; s[threadIdx.x] = n; __syncthreads();"
     " a[threadIdx.x] = *(int *)((char *)s + 1);", MISALIGNED, ["read of 4 bytes", "which is no multiple of 4"]),
    ("free of what is free", "int *p = (int *)malloc(16); p[0] = 1; a[0] = p[0]; free(p); free(p);", LAUNCH_FAILED,
     ["free() of what malloc() has not given, or has been freed"]),
    ("stack overflow", "a[0] = deeper(n);", ILLEGAL_ADDRESS,
     ["stack overflow: kernel", FIRST, "call of", "bytes of stack a thread has"]),
    ("alloca of more and more", "for (int i = 1 << 13; i; ++i) a[i & 7] = *(volatile int *)__builtin_alloca(i);",
     ILLEGAL_ADDRESS, ["stack overflow: kernel", FIRST, "alloca of"]),
    ("a bulk copy of odd size",
     '__shared__ __align__(16) int s[8]; asm("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"'
     ' ::"l"(a), "r"((int)__cvta_generic_to_shared(s)), "r"(12));', MISALIGNED, ["a bulk copy of 12 bytes"]),
    ("a bulk copy past the end",
     '__shared__ __align__(16) int s[8]; asm("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 32;"'
     ' ::"l"(a + 96), "r"((int)__cvta_generic_to_shared(s)));', ILLEGAL_ADDRESS,
     ["write of 16 bytes", "the end of allocation", "(404 bytes"]),
    ("call of no function", "a[0] = ((int (*)(int))(size_t)n)(3);", ILLEGAL_INSTRUCTION,
     ["invalid program counter: kernel", FIRST, "call of 0x186a0, which is no function"]),
    ("trap", "if (threadIdx.x == 3) __trap();", LAUNCH_FAILED, ["trap: kernel", "thread (3,0,0)"]),
    ("assertion", "assert(threadIdx.x < 7);", ASSERT,
     ["thread: [7,0,0] Assertion `threadIdx.x < 7` failed.", "assertion failed: kernel", "thread (7,0,0)"]),
    ("barrier in one arm", "if (threadIdx.x < 32) __syncthreads(); else while (a[1] == 0) __nanosleep(100);", TIMEOUT,
     ["still ran after 1"]),
    ("two barriers that wait for each other",
     "if (threadIdx.x < 32) asm volatile(\"bar.sync 1, 64;\"); else asm volatile(\"bar.sync 2, 64;\");", TIMEOUT,
     ["deadlock: kernel", "every warp that has not ended waits", "warp 0, lanes 0xffffffff, in barrier 1: kernel.cu:",
      "warp 1, lanes 0xffffffff, in barrier 2: kernel.cu:"]),
    ("a barrier that too few come to", "if (threadIdx.x < 32) asm volatile(\"bar.sync 3, 96;\");", ILLEGAL_INSTRUCTION,
     ["barrier for 96 threads in a block of 64"]),
    ("lanes that wait for lanes that never come",
     "if (threadIdx.x < 16) __shfl_sync(0xffffffff, n, 0); else __syncthreads();", TIMEOUT,
     ["deadlock: kernel", "lanes 0x0000ffff, waiting for other lanes", "in barrier 0"]),
    ("an mbarrier that nobody completes",
     "__shared__ long long m; unsigned at = (unsigned)__cvta_generic_to_shared(&m);"
     " if (!threadIdx.x) asm volatile(\"mbarrier.init.shared.b64 [%0], 65;\" :: \"r\"(at)); __syncthreads();"
     " int done = 0;"
     " while (!done) asm volatile(\"{.reg .pred p; .reg .b64 s; mbarrier.test_wait.parity.shared.b64 p, [%1], 0;"
     " selp.u32 %0, 1, 0, p;}\" : \"=r\"(done) : \"r\"(at) : \"memory\");", TIMEOUT,
     ["deadlock: kernel", "warp 0, lanes 0xffffffff, at an mbarrier for 65 arrivals and 0 bytes: kernel.cu:"]),
    ("a lock that nobody gives back", "while (atomicCAS(a, 0, 1)) ; a[1] = 1;", TIMEOUT, ["still ran after 1"]),
    ("a loop without end", "volatile int *v = a; while (v[0] != 12345) ;", TIMEOUT, ["still ran after 1"]),
    ("mma by part of a warp",
     "int d0, d1, d2, d3; if (threadIdx.x < 16) asm volatile(\"mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32"
     " {%0,%1,%2,%3}, {%4,%4}, {%4}, {%4,%4,%4,%4};\" : \"=r\"(d0), \"=r\"(d1), \"=r\"(d2), \"=r\"(d3) : \"r\"(n));"
     " a[0] = d0 + d1 + d2 + d3;", ILLEGAL_INSTRUCTION, ["a matrix product needs all 32 lanes"]),
    ("a lane outside its own mask", "a[0] = __shfl_sync(0xfffffffe, n, 1);", ILLEGAL_INSTRUCTION,
     ["lane 0 is not in its own member mask 0xfffffffe"]),
]  # fmt: skip
NAMES = [case[0] for case in CASES]

# A shuffle from a lane that does not take part gives an undefined value and no fault.
HARMLESS = "if (threadIdx.x < 8) a[threadIdx.x] = __shfl_sync(0xff, n, 20);"

PROGRAM = r"""
import json, os, sys
import numpy as np, pycuda.driver as cuda
from pycuda.compiler import compile

bodies = json.load(open(sys.argv[1]))
head = "__global__ void kernel{}(int *a, int *freed, int n) {{\n"
kernels = "\n".join(head.format(i) + body + "\n}" for i, body in enumerate(bodies))
image = compile('''
#include <cassert>
__constant__ int table[4];
__device__ __noinline__ int deeper(int n)
{
    volatile int here[8];
    here[n & 7] = n;
    return n < 0 ? 0 : deeper(n + 1) + here[n & 7];
}
extern "C" {
''' + kernels + "}", no_extern_c=True, options=["-w"], arch="sm_90")

cuda.init()
device = cuda.Device(0)
for i in range(len(bodies)):
    context = device.make_context()
    kernel = cuda.module_from_buffer(image).get_function(f"kernel{i}")
    a, freed = cuda.mem_alloc(404), cuda.mem_alloc(64)
    cuda.memset_d32(a, 0, 101)
    address = int(freed)
    freed.free()

    def answer(call):
        try:
            call()
            return "worked"
        except cuda.Error as error:
            return str(error).split(": ", 1)[1]

    kernel(a, np.intp(address), np.int32(100000), block=(64, 1, 1))
    at_once = answer(context.synchronize)
    later = {answer(call) for call in (context.synchronize, cuda.mem_get_info, lambda: cuda.mem_alloc(4),
                                       lambda: cuda.memcpy_dtoh(np.zeros(4, np.int32), a), cuda.Stream)}
    try:
        a.free()
    except cuda.Error:
        pass
    context.pop()
    context.detach()
    print(json.dumps([at_once, sorted(later)]), flush=True)
    sys.stderr.flush()
    os.write(2, b"\x1e")
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> list[tuple[str, list[str], str]]:
    """Of each case in turn, in one process: the error, what later calls answered, and what stood on stderr."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "bodies.json").write_text(json.dumps([HARMLESS, *(body for _, body, _, _ in CASES), HARMLESS]))
    clean = native.clean_environment()
    done = subprocess.run(
        [sys.executable, folder / "program.py", folder / "bodies.json"], capture_output=True, text=True, timeout=200,
        env=clean | {"SOFTCUDA": "force", "SOFTCUDA_QUIET": "1", "SOFTCUDA_TIMEOUT": "1"},
    )  # fmt: skip
    told, answers = done.stderr.split("\x1e"), [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(answers) == len(CASES) + 2 == len(told) - 1
    return [(at_once, later, text) for (at_once, later), text in zip(answers, told, strict=False)]


@pytest.mark.parametrize("case", range(len(CASES)), ids=NAMES)
def test_fault(outcomes, case):
    _, _, error, mentions = CASES[case]
    at_once, later, told = outcomes[case + 1]
    assert at_once == error, told
    assert later == [error], "the error lasts until the context is gone"
    for mention in mentions:
        assert mention in told
    reported = [line for line in told.splitlines() if line.startswith("softcuda: ")]
    assert len(reported) == 1, "said once"
    assert f"kernel kernel{case + 1}, block (0,0,0)" in reported[0]


@pytest.mark.parametrize("case", [0, -1], ids=["before any fault", "after all of them"])
def test_no_fault(outcomes, case):
    assert outcomes[case] == ("worked", ["worked"], "")


PARAMETERS = """
.version 8.5
.target sm_75
.address_size 64
.visible .entry kernel(.param .u64 out, .param .u32 at)
{
    .reg .b64 %rd<4>; .reg .b32 %r<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [at];
    cvt.u64.u32 %rd2, %r1;
    mov.b64 %rd3, out;
    add.s64 %rd3, %rd3, %rd2;
    INSTRUCTION
    ret;
}
"""


@pytest.mark.parametrize(
    ("instruction", "offset", "error"),
    [
        ("ld.param.u32 %r2, [%rd3]; st.global.u32 [%rd1], %r2;", 8, "worked"),
        ("ld.param.u32 %r2, [%rd3];", 12, ILLEGAL_ADDRESS),
        ("ld.param.u32 %r2, [%rd3];", 6, MISALIGNED),
        ("cvta.param.u64 %rd3, %rd3; st.u32 [%rd3], %r1;", 8, ILLEGAL_ADDRESS),
    ],
    ids=["read", "read beyond", "misaligned", "write"],
)
def test_kernel_parameters(program, instruction, offset, error):
    done = program(f"""
import numpy as np, pycuda.driver as cuda
cuda.init()
context = cuda.Device(0).make_context()
module = cuda.module_from_buffer(b'''{PARAMETERS.replace("INSTRUCTION", instruction)}''' + bytes(1))
kernel = module.get_function("kernel")
try:
    kernel(cuda.mem_alloc(4), np.uint32({offset}), block=(1, 1, 1))
    context.synchronize()
    print("worked")
except cuda.Error as error:
    print(str(error).split(": ", 1)[1])
import os, sys; sys.stdout.flush(); os._exit(0)
""")
    assert done.stdout == error + "\n", done.stderr
    if error == ILLEGAL_ADDRESS:
        assert "kernel kernel, block (0,0,0), thread (0,0,0): " in done.stderr and "PTX line" in done.stderr


def test_freed_while_a_kernel_uses_it(program):
    """cuMemFreeAsync in another stream does not wait; the kernel finds out, and the process lives on."""
    done = program(
        r"""
import ctypes, time
import numpy as np, pycuda.driver as cuda
from pycuda.compiler import SourceModule
cuda.init()
context = cuda.Device(0).make_context()
kernel = SourceModule('''
__global__ void reads(volatile int *a, volatile int *started) {
    *started = 1;
    while (a[threadIdx.x] != 12345) ;
}''').get_function("reads")
started = cuda.pagelocked_zeros(1, np.int32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
data, first, second = cuda.mem_alloc(256), cuda.Stream(1), cuda.Stream(1)
kernel(data, np.intp(started.base.get_device_pointer()), block=(64, 1, 1), stream=first)
while not started[0]:
    time.sleep(0.01)
raw = ctypes.CDLL(None)
assert raw.cuMemFreeAsync(ctypes.c_uint64(int(data)), ctypes.c_void_p(second.handle)) == 0
try:
    context.synchronize()
except cuda.Error as error:
    print(str(error).split(": ", 1)[1])
import os, sys; sys.stdout.flush(); os._exit(0)
""",
        SOFTCUDA_TIMEOUT="60",
    )
    assert done.stdout == ILLEGAL_ADDRESS + "\n", done.stderr
    assert "(256 bytes, cuMemAlloc), which has been freed" in done.stderr


def test_freed_twice_by_the_host(context, raw):
    address = ctypes.c_uint64()
    assert raw.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(64)) == 0
    assert [raw.cuMemFree_v2(address), raw.cuMemFree_v2(address)] == [0, 1]
    context.synchronize()  # an invalid value breaks nothing


def test_the_primary_context_can_be_reset_after_a_fault(program):
    done = program(r"""
import numpy as np, pycuda.driver as cuda
from pycuda.compiler import SourceModule
import ctypes
cuda.init()
kept = []  # PyCUDA's objects would want their context back at their end
for n in (1 << 20, 2):
    context = cuda.Device(0).retain_primary_context()
    context.push()
    kernel = SourceModule("__global__ void k(int *a, int i) { a[i] = 7; }").get_function("k")
    host = np.zeros(4, np.int32)
    data = cuda.to_device(host)
    kept += [kernel, data]
    try:
        kernel(data, np.int32(n), block=(1, 1, 1))
        cuda.memcpy_dtoh(host, data)
        print(host[2])
    except cuda.Error as error:
        print(str(error).split(": ", 1)[1])
    context.pop()
    assert ctypes.CDLL(None).cuDevicePrimaryCtxReset_v2(0) == 0
import os, sys; sys.stdout.flush(); os._exit(0)
""")
    assert done.stdout.splitlines() == [ILLEGAL_ADDRESS, "7"], done.stderr


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
    done = program(source.replace("PARENT", "child<<<1, 1>>>(a, 0);"), SOFTCUDA_TIMEOUT="2")
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
