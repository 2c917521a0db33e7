"""What a GPU refuses to launch, and with which error."""

from __future__ import annotations

import ctypes

import numpy as np
import pycuda.driver as cuda
import pytest
from pycuda.compiler import SourceModule

INVALID = "invalid argument"


@pytest.fixture
def mark(compile):
    return compile("mark", "__global__ void mark(int *a, int v) { if (a) a[blockIdx.x] = v; }")


@pytest.mark.parametrize(
    ("block", "grid"),
    [
        ((0, 1, 1), (1, 1)),
        ((1025, 1, 1), (1, 1)),
        ((32, 33, 1), (1, 1)),
        ((1, 1, 65), (1, 1)),
        ((1, 1, 1), (0, 1)),
        ((1, 1, 1), (1, 65536)),
    ],
)
def test_impossible_shapes(context, mark, block, grid):
    with pytest.raises(cuda.LogicError, match=INVALID):
        mark(np.intp(0), np.int32(0), block=block, grid=grid)
    context.synchronize()  # nothing ran, nothing broke


def test_too_few_arguments(context, mark):
    with pytest.raises(cuda.LogicError, match=INVALID):
        mark(np.intp(0), block=(1, 1, 1))


def test_too_many_arguments_are_refused_as_by_an_h200(context, mark):
    with pytest.raises(cuda.LaunchError, match="too many resources requested for launch"):
        mark(np.intp(0), np.int32(0), np.int32(0), block=(1, 1, 1))
    context.synchronize()


@pytest.mark.parametrize("align", [8, 16, 32, 64])
def test_packed_arguments_carry_an_alignment_of_16_bytes_and_no_more(program, align):
    done = program(
        "import numpy as np, pycuda.autoinit, pycuda.driver as cuda\n"
        "from pycuda.compiler import SourceModule\n"
        f"f = SourceModule('''struct __align__({align}) S {{ char x[64]; }};\n"
        "__global__ void take(S s, int *out) { *out = s.x[5]; }''').get_function('take')\n"
        "out = np.zeros(1, np.int32)\n"
        "f(np.arange(64, dtype=np.uint8), cuda.InOut(out), block=(1, 1, 1))\n"
        "print(out[0])\n",
        SOFTCUDA_QUIET="0",
    )
    if align <= 16:
        assert done.stdout == "5\n"
    else:
        assert f"launch of kernel take refused: parameter 1 is aligned to {align} bytes" in done.stderr


def test_the_reason_is_on_stderr(program):
    done = program(
        "import numpy, pycuda.autoinit\n"
        "from pycuda.compiler import SourceModule\n"
        "f = SourceModule('__global__ void scale(float *a) {}').get_function('scale')\n"
        "f(numpy.intp(0), block=(2048, 1, 1))\n",
        SOFTCUDA_QUIET="0",
    )
    assert "launch of kernel scale refused: a block of (2048, 1, 1) threads, at most 1024" in done.stderr


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ("block=(0, 1, 1)", "a block of (0, 1, 1) threads"),
        ("block=(32, 0, 1)", "a block of (32, 0, 1) threads"),
        ("block=(1, 1, 1), grid=(0, 1)", "a grid of (0, 1, 1) blocks"),
        ("block=(1, 1, 1), grid=(1, 1, 0)", "a grid of (1, 1, 0) blocks"),
    ],
)
def test_nothing_to_launch_is_one_line(program, shape, reason):
    done = program(
        "import numpy, pycuda.autoinit\n"
        "from pycuda.compiler import SourceModule\n"
        "f = SourceModule('__global__ void scale(float *a) {}').get_function('scale')\n"
        f"try: f(numpy.intp(0), {shape})\n"
        "except pycuda.driver.LogicError as error: print(error)\n",
        SOFTCUDA_QUIET="0",
    )
    assert done.stderr.splitlines()[1:] == [f"softcuda: launch of kernel scale refused: {reason}"]
    assert done.stdout.endswith("failed: invalid argument\n")


def test_launch_bounds(context, compile):
    kernel = compile("small", "__global__ void __launch_bounds__(128) small() {}")
    assert kernel.max_threads_per_block == 128
    kernel(block=(128, 1, 1))
    with pytest.raises(cuda.LogicError, match=INVALID):
        kernel(block=(160, 1, 1))


def test_dynamic_shared_memory_needs_an_opt_in(context, compile):
    kernel = compile("kernel", "extern __shared__ int s[]; __global__ void kernel() { s[threadIdx.x] = 1; }")
    kernel(block=(32, 1, 1), shared=48 << 10)
    with pytest.raises(cuda.LogicError, match=INVALID):
        kernel(block=(32, 1, 1), shared=(48 << 10) + 1)
    most = cuda.Device(0).get_attribute(cuda.device_attribute.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    with pytest.raises(cuda.LogicError, match=INVALID):
        kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, most + 1)
    kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, most)
    kernel(block=(32, 1, 1), shared=most)
    context.synchronize()


def test_attributes_come_from_ptxas(context, compile):
    kernel = compile(
        "kernel", "__global__ void kernel(int *a) { __shared__ int s[100]; s[threadIdx.x] = *a; *a = s[3]; }"
    )
    assert kernel.shared_size_bytes == 400
    assert 4 <= kernel.num_regs <= 64
    assert kernel.local_size_bytes == 0
    assert kernel.binary_version == 90


def test_maxrregcount_is_what_ptxas_makes_of_it(context):
    """Sixty values under way at once: without a bound they stay in registers, with one they are spilled."""
    names = [f"v{i}" for i in range(60)]
    body = "".join(f"float {v} = a[{i} * n + threadIdx.x];" for i, v in enumerate(names))
    body += "__syncthreads();" + "".join(f"a[{i} * n + threadIdx.x] = {v} * v{59 - i};" for i, v in enumerate(names))
    source = f"__global__ void kernel(float *a, int n) {{ {body} }}"
    free = SourceModule(source).get_function("kernel")
    bound = SourceModule(source, options=["--maxrregcount", "32"]).get_function("kernel")
    assert free.num_regs > 60
    assert free.local_size_bytes == 0
    assert bound.num_regs <= 32
    assert bound.local_size_bytes > 0


def test_kernel_params_and_extra_agree(context, raw, mark):
    """PyCUDA passes arguments packed; other programs pass an array of pointers."""
    result, handle = np.zeros(2, np.int32), ctypes.c_void_p()
    device, value = cuda.to_device(result), ctypes.c_int(9)
    module = cuda.module_from_buffer(PTX)
    function = ctypes.c_void_p()
    raw.cuCtxGetCurrent(ctypes.byref(handle))
    name = module.get_function("store")  # keeps the module's kernel alive
    pointer = ctypes.c_uint64(int(device))
    params = (ctypes.c_void_p * 2)(ctypes.addressof(pointer), ctypes.addressof(value))
    name.prepare("Pi")
    name.prepared_call((1, 1), (1, 1, 1), int(device), 9)
    cuda.memcpy_dtoh(result, device)
    assert result[0] == 9
    raw_module = ctypes.c_void_p()
    assert raw.cuModuleLoadData(ctypes.byref(raw_module), PTX) == 0
    assert raw.cuModuleGetFunction(ctypes.byref(function), raw_module, b"store") == 0
    value.value = 11
    assert raw.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, params, None) == 0
    cuda.memcpy_dtoh(result, device)
    assert result[0] == 11
    assert raw.cuModuleGetFunction(ctypes.byref(function), raw_module, b"nothing") == 500  # NOT_FOUND
    assert raw.cuModuleUnload(raw_module) == 0
    assert raw.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, params, None) == 400  # INVALID_HANDLE


def test_a_block_too_large_is_refused_before_the_launch(context, raw):
    """By the call that sets its shape, which PyCUDA makes first; so on an H200 with driver 580."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    assert raw.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert raw.cuModuleGetFunction(ctypes.byref(function), module, b"store") == 0
    assert raw.cuFuncSetBlockShape(function, 1024, 1, 1) == 0
    assert raw.cuFuncSetBlockShape(function, 2048, 1, 1) == 1  # INVALID_VALUE
    assert raw.cuModuleUnload(module) == 0


PTX = b"""
.version 8.0
.target sm_75
.address_size 64
.visible .entry store(.param .u64 out, .param .u32 value)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [value];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], %r1;
    ret;
}
"""


@pytest.mark.parametrize(
    ("image", "code", "message"),
    [
        (PTX.replace(b"cvta.to", b"cvta.frm"), "PTX JIT", "cvta"),
        (PTX.replace(b"sm_75", b"sm_120"), "PTX JIT", "sm_120"),
        (b"\x7fELF\x02\x01\x01", "no kernel image", "machine code"),
        (b"hello", "PTX JIT", "line 1"),
    ],
)
def test_what_cannot_be_loaded_says_why(context, image, code, message):
    with pytest.raises(cuda.Error) as error:
        cuda.module_from_buffer(image)
    assert code in str(error.value) and message in str(error.value)


def test_cooperative_grid_must_fit(context, raw, mark):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    raw.cuModuleLoadData(ctypes.byref(module), PTX)
    raw.cuModuleGetFunction(ctypes.byref(function), module, b"store")
    device, value = ctypes.c_uint64(int(cuda.mem_alloc(8))), ctypes.c_int(1)
    params = (ctypes.c_void_p * 2)(ctypes.addressof(device), ctypes.addressof(value))
    answer = raw.cuLaunchCooperativeKernel(function, 1 << 20, 1, 1, 1024, 1, 1, 0, None, params)
    assert answer == 720  # COOPERATIVE_LAUNCH_TOO_LARGE
