"""Streams that wait for a value in memory, and write one; attributes and priorities of streams."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_uint64, c_void_p

import numpy as np
import pycuda.driver as cuda
import pytest

GEQ, EQ, AND, NOR = range(4)


@pytest.fixture
def words(context):
    return cuda.pagelocked_zeros(4, np.uint32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)


def at(words, index: int) -> c_uint64:
    return c_uint64(words.ctypes.data + 4 * index)


@pytest.mark.parametrize(
    ("how", "value", "not_yet", "then"),
    [(GEQ, 5, 4, 6), (GEQ, 5, 0x80000005, 5), (EQ, 5, 6, 5), (AND, 6, 1, 2), (NOR, 0xFFFFFFFE, 1, 0)],
)
def test_a_stream_waits_for_a_value(context, raw, words, how, value, not_yet, then):
    stream = cuda.Stream(1)
    words[0] = not_yet
    assert raw.cuStreamWaitValue32_v2(c_void_p(stream.handle), at(words, 0), value, how) == 0
    assert raw.cuStreamWriteValue32_v2(c_void_p(stream.handle), at(words, 1), 77, 0) == 0
    assert not stream.is_done() and words[1] == 0
    words[0] = then
    stream.synchronize()
    assert words[1] == 77


def test_a_waiting_stream_holds_up_nobody(context, raw, slow, words):
    waiting, working = cuda.Stream(1), cuda.Stream(1)
    assert raw.cuStreamWaitValue32_v2(c_void_p(waiting.handle), at(words, 3), 1, EQ) == 0
    slow(np.uintp(words.ctypes.data), block=(1, 1, 1), stream=working)
    assert raw.cuStreamWriteValue32_v2(c_void_p(working.handle), at(words, 3), 1, 0) == 0
    waiting.synchronize()
    assert words[0] == 42


def test_sixty_four_bits_and_batches(context, raw, words):
    class Operation(ctypes.Structure):  # CUstreamBatchMemOpParams
        _fields_ = [("kind", c_int), ("pad", c_int), ("address", c_uint64), ("value", c_uint64), ("rest", c_uint64 * 3)]

    write, wait = (Operation(kind=kind, address=at(words, 0), value=1 << 40) for kind in (5, 4))
    batch = (Operation * 2)(write, wait)
    assert raw.cuStreamBatchMemOp_v2(None, 2, batch, 0) == 0
    context.synchronize()
    assert words.view(np.uint64)[0] == 1 << 40
    batch[1].kind = 99
    batch[0].value = 7
    assert raw.cuStreamBatchMemOp_v2(None, 2, batch, 0) == 1
    context.synchronize()
    assert words.view(np.uint64)[0] == 1 << 40  # nothing of a bad batch is done


@pytest.mark.parametrize("address", [0, 64, "unaligned", "beyond"])
def test_bad_addresses(context, raw, address):
    memory = int(cuda.mem_alloc(64))
    address = {"unaligned": memory + 2, "beyond": memory + 64}.get(address, address)
    assert raw.cuStreamWaitValue32_v2(None, c_uint64(address), 0, 0) == 1
    assert raw.cuStreamWriteValue64_v2(None, c_uint64(address), c_uint64(0), 0) == 1


def test_a_stream_of_higher_priority_goes_first(context, raw, slow, words):
    """Two fills wait behind the same kernel; the one issued last is the first to be done."""
    busy, low, high = cuda.Stream(1), c_void_p(), c_void_p()
    assert raw.cuStreamCreateWithPriority(byref(low), 1, 0) == 0
    assert raw.cuStreamCreateWithPriority(byref(high), 1, -5) == 0
    slow(np.uintp(words.ctypes.data), block=(1, 1, 1), stream=busy)
    done = c_void_p()
    assert raw.cuEventCreate(byref(done), 0) == 0 and raw.cuEventRecord(done, c_void_p(busy.handle)) == 0
    for stream, value in ((low, 1), (high, 2)):
        assert raw.cuStreamWaitEvent(stream, done, 0) == 0
        assert raw.cuMemsetD32Async(at(words, 3), value, ctypes.c_size_t(1), stream) == 0
    context.synchronize()
    assert words[3] == 1


def test_attributes_are_kept(context, raw):
    class Value(ctypes.Structure):  # CUstreamAttrValue
        _fields_ = [("number", c_int), ("rest", c_int * 15)]

    stream, other, value = cuda.Stream(), cuda.Stream(), Value()
    assert raw.cuStreamSetAttribute(c_void_p(stream.handle), 8, byref(Value(number=-3))) == 0  # priority
    assert raw.cuStreamCopyAttributes(c_void_p(other.handle), c_void_p(stream.handle)) == 0
    assert raw.cuStreamGetAttribute(c_void_p(other.handle), 8, byref(value)) == 0 and value.number == -3
    assert raw.cuStreamGetAttribute(c_void_p(other.handle), 4, byref(value)) == 1  # clusters are for launches
