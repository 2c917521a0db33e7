"""The library's face: names, errors, contexts."""

from __future__ import annotations

import ctypes
import subprocess
import sysconfig

import numpy as np
import pycuda
import pycuda.driver as cuda
import pytest


def test_every_symbol_pycuda_imports_is_there(raw):
    extension = f"{pycuda.__path__[0]}/_driver{sysconfig.get_config_var('EXT_SUFFIX')}"
    symbols = subprocess.run(["nm", "-D", "--undefined-only", extension], capture_output=True, text=True, check=True)
    names = [word for word in symbols.stdout.split() if word.startswith("cu") and not word.startswith("curand")]
    assert len(names) > 100
    for name in names:
        assert hasattr(raw, name), name


def test_every_error_of_cuda_h_has_a_name_and_a_text(raw):
    text = ctypes.c_char_p()
    for number, name in (
        (7, b"PROFILER_ALREADY_STARTED"),
        (705, b"PEER_ACCESS_NOT_ENABLED"),
        (910, b"GRAPH_EXEC_UPDATE_FAILURE"),
    ):
        assert raw.cuGetErrorName(number, ctypes.byref(text)) == 0 and text.value == b"CUDA_ERROR_" + name
        assert raw.cuGetErrorString(number, ctypes.byref(text)) == 0 and text.value


def test_error_names(raw):
    text = ctypes.c_char_p()
    assert raw.cuGetErrorName(700, ctypes.byref(text)) == 0
    assert text.value == b"CUDA_ERROR_ILLEGAL_ADDRESS"
    assert raw.cuGetErrorString(12345, ctypes.byref(text)) == 1 and text.value is None


FOUND, NOT_FOUND, TOO_OLD = 0, 1, 2


@pytest.mark.parametrize(
    ("symbol", "version", "flags", "status", "meant"),
    [
        ("cuInit", 2000, 0, FOUND, "cuInit"),
        ("cuMemAlloc", 13000, 0, FOUND, "cuMemAlloc_v2"),
        ("cuMemAlloc", 3010, 0, TOO_OLD, None),  # the 32-bit interface
        ("cuCtxCreate", 4000, 0, FOUND, "cuCtxCreate_v2"),
        ("cuCtxCreate", 12000, 0, FOUND, "cuCtxCreate_v3"),
        ("cuCtxCreate", 13000, 0, FOUND, "cuCtxCreate_v4"),
        ("cuCtxGetDevice", 12000, 0, FOUND, "cuCtxGetDevice"),
        ("cuCtxGetDevice", 13000, 0, FOUND, "cuCtxGetDevice_v2"),
        ("cuLaunchKernel", 13000, 1, FOUND, "cuLaunchKernel"),
        ("cuLaunchKernel", 13000, 2, FOUND, "cuLaunchKernel_ptsz"),
        ("cuLaunchKernel", 5000, 2, FOUND, "cuLaunchKernel"),  # before default streams of each thread
        ("cuMemcpyHtoD", 13000, 2, FOUND, "cuMemcpyHtoD_v2_ptds"),
        ("cuGraphInstantiate", 12000, 0, FOUND, "cuGraphInstantiateWithFlags"),
        ("cuLibraryLoadData", 11000, 0, TOO_OLD, None),
        ("cuNoSuchThing", 13000, 0, NOT_FOUND, None),
    ],
)
def test_get_proc_address(raw, symbol, version, flags, status, meant):
    function, said = ctypes.c_void_p(), ctypes.c_int(-1)
    flags = ctypes.c_uint64(flags)
    assert raw.cuGetProcAddress_v2(symbol.encode(), ctypes.byref(function), version, flags, ctypes.byref(said)) == 0
    assert said.value == status
    assert function.value == (meant and ctypes.cast(getattr(raw, meant), ctypes.c_void_p).value)


def test_get_proc_address_of_a_later_version(raw):
    function = ctypes.c_void_p(1)
    answer = raw.cuGetProcAddress_v2(b"cuInit", ctypes.byref(function), 99000, ctypes.c_uint64(0), None)
    assert answer == 1 and function.value is None


def test_the_default_stream_of_a_thread_is_not_the_legacy_one(context, raw, slow):
    """What programs compiled with --default-stream per-thread call."""
    result = cuda.pagelocked_zeros(2, np.int32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
    legacy, own = ctypes.c_ulonglong(), ctypes.c_ulonglong()
    assert raw.cuStreamGetId(None, ctypes.byref(legacy)) == 0
    assert raw.cuStreamGetId_ptsz(None, ctypes.byref(own)) == 0
    assert legacy.value != own.value
    slow(np.uintp(result.ctypes.data), block=(1, 1, 1))  # in the legacy stream, which the own one waits for
    memory = cuda.mem_alloc(4)
    assert raw.cuMemsetD32_v2_ptds(ctypes.c_uint64(int(memory)), 1, ctypes.c_size_t(1)) == 0
    assert raw.cuStreamSynchronize_ptsz(None) == 0
    assert result[0] == 42


def test_contexts_form_a_stack(context, raw):
    outer = ctypes.c_void_p()
    raw.cuCtxGetCurrent(ctypes.byref(outer))
    inner, current, popped = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert raw.cuCtxCreate_v2(ctypes.byref(inner), 0, 0) == 0
    raw.cuCtxGetCurrent(ctypes.byref(current))
    assert current.value == inner.value != outer.value
    assert raw.cuCtxPopCurrent_v2(ctypes.byref(popped)) == 0 and popped.value == inner.value
    assert raw.cuCtxDestroy_v2(inner) == 0
    assert raw.cuCtxPushCurrent_v2(inner) == 201  # INVALID_CONTEXT
    raw.cuCtxGetCurrent(ctypes.byref(current))
    assert current.value == outer.value


def test_without_a_context(raw):
    cuda.init()
    memory = ctypes.c_uint64()
    assert raw.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4)) == 201
    assert raw.cuCtxPopCurrent_v2(ctypes.byref(memory)) == 201


def test_primary_context_is_shared(raw):
    cuda.init()
    first, second = ctypes.c_void_p(), ctypes.c_void_p()
    assert raw.cuDevicePrimaryCtxRetain(ctypes.byref(first), 0) == 0
    assert raw.cuDevicePrimaryCtxRetain(ctypes.byref(second), 0) == 0
    assert first.value == second.value
    assert [raw.cuDevicePrimaryCtxRelease_v2(0) for _ in range(3)] == [0, 0, 201]


def test_limits(context):
    context.set_limit(cuda.limit.MALLOC_HEAP_SIZE, 1 << 20)
    assert context.get_limit(cuda.limit.MALLOC_HEAP_SIZE) == 1 << 20


def test_what_is_missing_says_so(program):
    done = program(
        "import pycuda.autoinit, pycuda.driver as cuda\n"
        "try:\n    cuda.TextureReference()\nexcept cuda.Error as error:\n    print(error)\n",
        SOFTCUDA_QUIET="0",
    )
    assert done.stdout == "cuTexRefCreate failed: operation not supported\n"
    assert "softcuda: cuTexRefCreate: not supported (textures and surfaces)" in done.stderr
