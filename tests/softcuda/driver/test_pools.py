"""Stream-ordered memory: cuMemAllocAsync, cuMemFreeAsync and the pools behind them."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_size_t, c_uint64, c_void_p

import numpy as np
import pycuda.driver as cuda
import pytest

RELEASE_THRESHOLD, RESERVED, USED, USED_HIGH = 4, 5, 7, 8
SIZE = 1 << 20


class Properties(ctypes.Structure):  # CUmemPoolProps
    _fields_ = [
        ("type", c_int), ("handle_types", c_int), ("location_type", c_int), ("location_id", c_int),
        ("security", c_void_p), ("limit", c_size_t), ("usage", ctypes.c_ushort), ("reserved", ctypes.c_ubyte * 54),
    ]  # fmt: skip


@pytest.fixture
def pool(context, raw):
    made = c_void_p()
    assert raw.cuMemPoolCreate(byref(made), byref(Properties(type=1, location_type=1))) == 0
    yield made
    raw.cuMemPoolDestroy(made)


def allocate(raw, pool, stream=None, size=SIZE) -> c_uint64:
    address = c_uint64()
    assert raw.cuMemAllocFromPoolAsync(byref(address), c_size_t(size), pool, stream) == 0
    return address


def attribute(raw, pool, which: int) -> int:
    value = c_uint64()
    assert raw.cuMemPoolGetAttribute(pool, which, byref(value)) == 0
    return value.value


def test_memory_is_used_in_stream_order(context, raw, compile):
    kernel = compile("fill", "__global__ void fill(int *a) { a[threadIdx.x] = threadIdx.x; }")
    stream, address, host = cuda.Stream(), c_uint64(), np.zeros(32, np.int32)
    assert raw.cuMemAllocAsync(byref(address), c_size_t(128), c_void_p(stream.handle)) == 0
    kernel(np.uintp(address.value), block=(32, 1, 1), stream=stream)
    cuda.memcpy_dtoh_async(host, address.value, stream)
    assert raw.cuMemFreeAsync(address, c_void_p(stream.handle)) == 0
    stream.synchronize()
    assert np.array_equal(host, np.arange(32))


def test_a_stream_gets_back_at_once_what_it_freed(context, raw, slow, pool):
    first = allocate(raw, pool)
    slow(np.uintp(first.value), block=(1, 1, 1))
    assert raw.cuMemFreeAsync(first, None) == 0
    assert allocate(raw, pool).value == first.value  # the kernel still runs


def test_another_stream_gets_it_when_the_free_has_happened(context, raw, slow, pool):
    stream, first = cuda.Stream(1), allocate(raw, pool)
    slow(np.uintp(first.value), block=(1, 1, 1))
    assert raw.cuMemFreeAsync(first, None) == 0
    assert allocate(raw, pool, c_void_p(stream.handle)).value != first.value


def test_attributes(context, raw, pool):
    addresses = [allocate(raw, pool) for _ in range(3)]
    assert attribute(raw, pool, USED) == attribute(raw, pool, USED_HIGH) == 3 * SIZE
    assert raw.cuMemPoolSetAttribute(pool, RELEASE_THRESHOLD, byref(c_uint64(2 * SIZE))) == 0
    for address in addresses:
        assert raw.cuMemFreeAsync(address, None) == 0
    context.synchronize()
    assert attribute(raw, pool, USED) == 0 and attribute(raw, pool, USED_HIGH) == 3 * SIZE
    assert attribute(raw, pool, RESERVED) == 2 * SIZE
    assert raw.cuMemPoolTrimTo(pool, c_size_t(SIZE)) == 0
    assert attribute(raw, pool, RESERVED) == SIZE
    assert raw.cuMemPoolSetAttribute(pool, USED, byref(c_uint64(0))) == 1  # INVALID_VALUE: it is what it is


def test_memory_freed_in_order_counts_as_free(program):
    """Three quarters of the device, freed behind a kernel that still runs, then three quarters again."""
    done = program("""
import ctypes, pycuda.autoinit, pycuda.driver as cuda
raw, address = ctypes.CDLL(None), ctypes.c_uint64()
size = ctypes.c_size_t(3 * cuda.Device(0).total_memory() // 4)
for _ in range(5):
    print(raw.cuMemAllocAsync(ctypes.byref(address), size, None), raw.cuMemFreeAsync(address, None))
""", SOFTCUDA_MEMORY="64M")  # fmt: skip
    assert done.stdout == "0 0\n" * 5, done.stderr


def test_use_after_free_in_another_stream_faults(program):
    done = program("""
import ctypes, numpy as np, pycuda.driver as cuda
from pycuda.compiler import SourceModule
cuda.init()
context = cuda.Device(0).make_context()
kernel = SourceModule("__global__ void late(int *a) { a[0] = 1; }").get_function("late")
raw, address, first, second = ctypes.CDLL(None), ctypes.c_uint64(), cuda.Stream(1), cuda.Stream(1)
raw.cuMemAllocAsync(ctypes.byref(address), ctypes.c_size_t(400), ctypes.c_void_p(first.handle))
raw.cuMemFreeAsync(address, ctypes.c_void_p(first.handle))
first.synchronize()
kernel(np.uintp(address.value), block=(1, 1, 1), stream=second)
try:
    second.synchronize()
except cuda.Error as error:
    print(error)
import os, sys; sys.stdout.flush(); os._exit(0)
""")
    assert "illegal memory access" in done.stdout and "late" in done.stderr, done.stdout + done.stderr


@pytest.mark.parametrize("again", ["cuMemFreeAsync", "cuMemFree_v2"])
def test_memory_is_freed_once(context, raw, pool, again):
    address = allocate(raw, pool)
    assert raw.cuMemFreeAsync(address, None) == 0
    context.synchronize()
    assert getattr(raw, again)(address, None) == 1


def test_pools_of_the_device(context, raw, pool):
    default, current = c_void_p(), c_void_p()
    assert raw.cuDeviceGetDefaultMemPool(byref(default), 0) == 0
    assert raw.cuDeviceSetMemPool(0, pool) == 0
    assert raw.cuDeviceGetMemPool(byref(current), 0) == 0 and current.value == pool.value
    assert raw.cuMemPoolDestroy(default) == 1
    assert raw.cuMemPoolDestroy(pool) == 0
    assert raw.cuDeviceGetMemPool(byref(current), 0) == 0 and current.value == default.value
    assert raw.cuMemPoolTrimTo(pool, c_size_t(0)) == 400  # INVALID_HANDLE


def test_a_pool_has_a_limit_and_is_not_shared_between_processes(context, raw):
    made, address = c_void_p(), c_uint64()
    assert raw.cuMemPoolCreate(byref(made), byref(Properties(type=1, location_type=1, limit=SIZE))) == 0
    assert raw.cuMemAllocFromPoolAsync(byref(address), c_size_t(SIZE + 1), made, None) == 2  # OUT_OF_MEMORY
    assert raw.cuMemPoolDestroy(made) == 0
    assert raw.cuMemPoolCreate(byref(made), byref(Properties(type=1, location_type=1, handle_types=1))) == 801
