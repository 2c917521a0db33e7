"""The library's face: names, errors, contexts."""

from __future__ import annotations

import ctypes
import subprocess
import sysconfig

import pycuda
import pycuda.driver as cuda
import pytest


def test_every_symbol_pycuda_imports_is_there(raw):
    extension = f"{pycuda.__path__[0]}/_driver{sysconfig.get_config_var('EXT_SUFFIX')}"
    symbols = subprocess.run(["nm", "-D", "--undefined-only", extension], capture_output=True, text=True, check=True)
    names = [word for word in symbols.stdout.split() if word.startswith("cu")]
    assert len(names) > 100
    for name in names:
        assert hasattr(raw, name), name


def test_error_names(raw):
    text = ctypes.c_char_p()
    assert raw.cuGetErrorName(700, ctypes.byref(text)) == 0
    assert text.value == b"CUDA_ERROR_ILLEGAL_ADDRESS"
    assert raw.cuGetErrorString(12345, ctypes.byref(text)) == 1 and text.value is None


@pytest.mark.parametrize(
    ("symbol", "version", "found"),
    [(b"cuMemAlloc", 13000, 0), (b"cuCtxCreate", 12000, 0), (b"cuInit", 2000, 0), (b"cuNoSuchThing", 13000, 500)],
)
def test_get_proc_address(raw, symbol, version, found):
    function, status = ctypes.c_void_p(), ctypes.c_int(-1)
    answer = raw.cuGetProcAddress_v2(symbol, ctypes.byref(function), version, ctypes.c_uint64(0), ctypes.byref(status))
    assert answer == found and bool(function) == (found == 0)


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
    assert "softcuda: cuTexRefCreate: not supported (textures, surfaces and tensor maps)" in done.stderr
