"""Addresses of memory that is gone or never was: an error of the call that gets one, never an access by the host.

An H200 (driver 580) gives the same answer wherever it gives one; where an address may be the host's (cuMemcpy, the
host's side of a copy) its driver reads or writes there, and the process ends.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pycuda.driver as cuda
import pytest

INVALID_VALUE = 1
HOST, DEVICE, UNIFIED = 1, 2, 4  # CUmemorytype
SIZE = ctypes.c_size_t(16)
OUT = ctypes.create_string_buffer(16)


class Copy2D(ctypes.Structure):  # CUDA_MEMCPY2D
    _fields_ = [
        (side + name, kind)
        for side in ("src", "dst")
        for name, kind in (
            ("XInBytes", ctypes.c_size_t), ("Y", ctypes.c_size_t), ("MemoryType", ctypes.c_uint),
            ("Host", ctypes.c_uint64), ("Device", ctypes.c_uint64), ("Array", ctypes.c_void_p),
            ("Pitch", ctypes.c_size_t),
        )
    ] + [("WidthInBytes", ctypes.c_size_t), ("Height", ctypes.c_size_t)]  # fmt: skip


def plane(raw: ctypes.CDLL, source: tuple[int, int], target: tuple[int, int]) -> int:
    """cuMemcpy2D of one row between (CUmemorytype, address) and (CUmemorytype, address)."""
    copy = Copy2D(WidthInBytes=16, Height=1, srcPitch=16, dstPitch=16)
    for side, (kind, address) in (("src", source), ("dst", target)):
        setattr(copy, f"{side}MemoryType", kind)
        setattr(copy, f"{side}Host" if kind == HOST else f"{side}Device", address)
    return raw.cuMemcpy2D_v2(ctypes.byref(copy))


def at(address: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(address)


CALLS = {
    "cuMemcpy, to": lambda raw, good, bad: raw.cuMemcpy(at(bad), at(good), SIZE),
    "cuMemcpy, from": lambda raw, good, bad: raw.cuMemcpy(at(good), at(bad), SIZE),
    "cuMemcpyAsync, to": lambda raw, good, bad: raw.cuMemcpyAsync(at(bad), at(good), SIZE, None),
    "cuMemcpyAsync, from": lambda raw, good, bad: raw.cuMemcpyAsync(at(good), at(bad), SIZE, None),
    "cuMemcpyHtoD, to": lambda raw, good, bad: raw.cuMemcpyHtoD_v2(at(bad), OUT, SIZE),
    "cuMemcpyHtoD, from": lambda raw, good, bad: raw.cuMemcpyHtoD_v2(at(good), at(bad), SIZE),
    "cuMemcpyHtoDAsync, from": lambda raw, good, bad: raw.cuMemcpyHtoDAsync_v2(at(good), at(bad), SIZE, None),
    "cuMemcpyDtoH, to": lambda raw, good, bad: raw.cuMemcpyDtoH_v2(at(bad), at(good), SIZE),
    "cuMemcpyDtoH, from": lambda raw, good, bad: raw.cuMemcpyDtoH_v2(OUT, at(bad), SIZE),
    "cuMemcpyDtoHAsync, to": lambda raw, good, bad: raw.cuMemcpyDtoHAsync_v2(at(bad), at(good), SIZE, None),
    "cuMemcpyDtoD, to": lambda raw, good, bad: raw.cuMemcpyDtoD_v2(at(bad), at(good), SIZE),
    "cuMemcpyDtoD, from": lambda raw, good, bad: raw.cuMemcpyDtoD_v2(at(good), at(bad), SIZE),
    "cuMemcpy2D, to the device": lambda raw, good, bad: plane(raw, (DEVICE, good), (DEVICE, bad)),
    "cuMemcpy2D, to the host": lambda raw, good, bad: plane(raw, (DEVICE, good), (HOST, bad)),
    "cuMemcpy2D, to either": lambda raw, good, bad: plane(raw, (DEVICE, good), (UNIFIED, bad)),
    "cuMemcpy2D, from the device": lambda raw, good, bad: plane(raw, (DEVICE, bad), (DEVICE, good)),
    "cuMemcpy2D, from the host": lambda raw, good, bad: plane(raw, (HOST, bad), (DEVICE, good)),
    "cuMemcpy2D, from either": lambda raw, good, bad: plane(raw, (UNIFIED, bad), (DEVICE, good)),
    "cuMemsetD8": lambda raw, good, bad: raw.cuMemsetD8_v2(at(bad), 7, SIZE),
    "cuMemsetD2D8": lambda raw, good, bad: raw.cuMemsetD2D8_v2(at(bad), SIZE, 7, SIZE, ctypes.c_size_t(1)),
    "cuMemsetD32Async": lambda raw, good, bad: raw.cuMemsetD32Async(at(bad), 7, ctypes.c_size_t(4), None),
    "cuStreamWriteValue32": lambda raw, good, bad: raw.cuStreamWriteValue32_v2(None, at(bad), 1, 0),
    "cuStreamWriteValue64": lambda raw, good, bad: raw.cuStreamWriteValue64_v2(None, at(bad), at(1), 0),
    "cuStreamWaitValue32": lambda raw, good, bad: raw.cuStreamWaitValue32_v2(None, at(bad), 1, 0),
    "cuPointerGetAttribute": lambda raw, good, bad: raw.cuPointerGetAttribute(OUT, 2, at(bad)),
    "cuMemHostGetDevicePointer": lambda raw, good, bad: raw.cuMemHostGetDevicePointer_v2(OUT, at(bad), 0),
    "cuMemHostRegister": lambda raw, good, bad: raw.cuMemHostRegister_v2(at(bad), SIZE, 0),
    "cuMemPrefetchAsync": lambda raw, good, bad: raw.cuMemPrefetchAsync_v2(at(bad), SIZE, at(1), 0, None),
}  # fmt: skip


def freed(kind: str) -> int:
    """An address that was given out, and taken back."""
    if kind == "device":
        memory = cuda.mem_alloc(4096)
        address = int(memory)
        memory.free()
    else:
        memory = cuda.pagelocked_empty(4096, np.uint8, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
        address = memory.ctypes.data
        memory.base.free()
    return address


ADDRESSES = {
    "freed": lambda: freed("device"),
    "freed, page-locked": lambda: freed("host"),
    "never allocated": lambda: freed("device") + (1 << 30),
    "in a window": lambda: 1 << 56,
    "null, almost": lambda: 64,
}


@pytest.mark.parametrize("kind", ADDRESSES)
def test_it_is_an_invalid_value(context, raw, kind):
    good = cuda.mem_alloc(64)
    bad = ADDRESSES[kind]()
    answers = {call: CALLS[call](raw, int(good), bad) for call in CALLS}
    assert {call: code for call, code in answers.items() if code != INVALID_VALUE} == {}
    context.synchronize()


def test_an_address_does_not_come_back_at_once(context):
    """So that a stale one is found out, by copies and by kernels."""
    addresses = [freed("device") for _ in range(100)]
    assert len(set(addresses)) == 100


def test_kernel_arguments(context, compile):
    store = compile("store", "__global__ void store(int *a) { *a = 1; }")
    store(np.uintp(freed("device")), block=(1, 1, 1))
    with pytest.raises(cuda.LogicError, match="illegal memory access"):
        context.synchronize()
