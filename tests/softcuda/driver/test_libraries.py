"""cuLibrary*, cuKernel*: PTX that belongs to no context; and cuLaunchKernelEx."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_uint64, c_void_p

import numpy as np
import pycuda.driver as cuda
import pytest

PTX = b"""
.version 8.0
.target sm_75
.address_size 64
.global .align 4 .u32 step = 3;
.visible .entry count(.param .u64 data, .param .u32 by)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<5>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [by];
    ld.global.u32 %r2, [step];
    mul.lo.u32 %r3, %r1, %r2;
    atom.global.add.u32 %r4, [%rd1], %r3;
    ret;
}
.visible .entry nothing()
{
    ret;
}
"""


class Attribute(ctypes.Structure):  # CUlaunchAttribute
    _fields_ = [("id", c_int), ("pad", c_int), ("value", c_uint * 16)]


class Config(ctypes.Structure):  # CUlaunchConfig
    _fields_ = [
        ("grid", c_uint * 3), ("block", c_uint * 3), ("shared", c_uint),
        ("stream", c_void_p), ("attributes", ctypes.POINTER(Attribute)), ("count", c_uint),
    ]  # fmt: skip


@pytest.fixture
def library(context, raw):
    loaded = c_void_p()
    assert raw.cuLibraryLoadData(byref(loaded), c_char_p(PTX), None, None, 0, None, None, 0) == 0
    yield loaded
    raw.cuLibraryUnload(loaded)


@pytest.fixture
def kernel(raw, library):
    found = c_void_p()
    assert raw.cuLibraryGetKernel(byref(found), library, b"count") == 0
    return found


@pytest.fixture
def result(context):
    return cuda.pagelocked_zeros(1, np.uint32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)


def arguments(result, by=1):
    values = [c_uint64(result.ctypes.data), c_uint(by)]
    pointers = (c_void_p * 2)(*(ctypes.cast(byref(value), c_void_p) for value in values))
    pointers.keep = values
    return pointers


def test_a_kernel_is_launched_as_it_is(context, raw, kernel, result):
    assert raw.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, None, arguments(result, 2), None) == 0
    context.synchronize()
    assert result[0] == 32 * 2 * 3


def test_or_as_its_function_in_the_current_context(context, raw, kernel, result):
    function = c_void_p()
    assert raw.cuKernelGetFunction(byref(function), kernel) == 0
    assert raw.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, None, arguments(result), None) == 0
    context.synchronize()
    assert result[0] == 64 * 3


def test_each_context_has_variables_of_its_own(context, raw, library, kernel, result):
    address, size, host = c_uint64(), c_size_t(), np.array([5], np.uint32)
    assert raw.cuLibraryGetGlobal(byref(address), byref(size), library, b"step") == 0 and size.value == 4
    cuda.memcpy_htod(address.value, host)
    other = cuda.Device(0).make_context()
    assert raw.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments(result), None) == 0
    other.synchronize()
    other.pop()
    assert raw.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments(result), None) == 0
    context.synchronize()
    other.detach()
    assert result[0] == 3 + 5


def test_what_can_be_asked(context, raw, library, kernel):
    count, name, owner, value = c_uint(), c_char_p(), c_void_p(), c_int()
    assert raw.cuLibraryGetKernelCount(byref(count), library) == 0 and count.value == 2
    kernels = (c_void_p * 2)()
    assert raw.cuLibraryEnumerateKernels(kernels, 2, library) == 0
    names = []
    for each in kernels:
        assert raw.cuKernelGetName(byref(name), c_void_p(each)) == 0
        names.append(name.value)
    assert names == [b"count", b"nothing"]
    assert raw.cuKernelGetLibrary(byref(owner), kernel) == 0 and owner.value == library.value
    offset, size = c_size_t(), c_size_t()
    assert raw.cuKernelGetParamInfo(kernel, c_size_t(1), byref(offset), byref(size)) == 0
    assert (offset.value, size.value) == (8, 4)
    assert raw.cuKernelGetParamInfo(kernel, c_size_t(2), byref(offset), byref(size)) == 1
    assert raw.cuKernelGetAttribute(byref(value), 0, kernel, 0) == 0 and value.value == 1024
    assert raw.cuKernelSetAttribute(8, 100000, kernel, 0) == 0  # MAX_DYNAMIC_SHARED_SIZE_BYTES
    assert raw.cuFuncGetAttribute(byref(value), 8, kernel) == 0 and value.value == 100000


def test_what_is_not_there(context, raw, library, kernel):
    out = c_void_p()
    assert raw.cuLibraryGetKernel(byref(out), library, b"missing") == 500  # NOT_FOUND
    assert raw.cuLibraryGetManaged(byref(c_uint64()), None, library, b"step") == 500  # not managed
    assert raw.cuLibraryGetUnifiedFunction(byref(out), library, b"count") == 500
    assert raw.cuLibraryLoadFromFile(byref(out), b"/nowhere.ptx", None, None, 0, None, None, 0) == 301
    assert raw.cuLibraryLoadData(byref(out), c_char_p(b".version x"), None, None, 0, None, None, 0) == 218
    assert raw.cuLibraryLoadData(byref(out), c_char_p(b"\x7fELF...."), None, None, 0, None, None, 0) == 209
    assert raw.cuLibraryUnload(library) == 0
    assert raw.cuLibraryUnload(library) == 400
    assert raw.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 400


def test_loading_needs_no_context(raw):
    cuda.init()
    library, kernel, name = c_void_p(), c_void_p(), c_char_p()
    assert raw.cuLibraryLoadData(byref(library), c_char_p(PTX), None, None, 0, None, None, 0) == 0
    assert raw.cuLibraryGetKernel(byref(kernel), library, b"nothing") == 0
    assert raw.cuKernelGetName(byref(name), kernel) == 0 and name.value == b"nothing"
    assert raw.cuKernelGetFunction(byref(kernel), kernel) == 201  # INVALID_CONTEXT
    assert raw.cuLibraryUnload(library) == 0


@pytest.mark.parametrize(
    ("attributes", "code"),
    [
        ([], 0),
        ([Attribute(id=2, value=(c_uint * 16)(1))], 0),  # cooperative
        ([Attribute(id=4, value=(c_uint * 16)(2, 1, 1))], 0),  # clusters of two blocks
        ([Attribute(id=4, value=(c_uint * 16)(3, 1, 1))], 912),  # which do not divide the grid
        ([Attribute(id=6, value=(c_uint * 16)(1)), Attribute(id=8), Attribute(id=10), Attribute(id=0)], 0),  # hints
        ([Attribute(id=13)], 801),  # kernels of graphs
    ],
)
def test_launch_attributes(context, raw, kernel, result, attributes, code):
    array = (Attribute * len(attributes))(*attributes)
    config = Config((4, 1, 1), (8, 1, 1), 0, None, array, len(attributes))
    assert raw.cuLaunchKernelEx(byref(config), kernel, arguments(result), None) == code
    context.synchronize()
    assert result[0] == (0 if code else 32 * 3)
