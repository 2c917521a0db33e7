"""Order and asynchrony: what waits for what, and what does not."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pycuda.driver as cuda
import pytest

NON_BLOCKING = 1


def stream(flags: int = 0) -> cuda.Stream:
    return cuda.Stream(flags)


def address(array) -> np.intp:
    return np.intp(array.base.get_device_pointer())


@pytest.fixture
def result(context):
    """Two pinned integers, (0, 0), that kernels write."""
    return cuda.pagelocked_zeros(2, np.int32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)


def test_launch_returns_at_once(context, slow, result):
    slow(address(result), block=(1, 1, 1))
    assert result[0] == 0  # a forgotten synchronisation shows
    context.synchronize()
    assert result[0] == 42


def test_copies_wait_for_the_kernel(context, slow):
    device, host = cuda.mem_alloc(8), np.zeros(2, np.int32)
    cuda.memcpy_htod(device, host)
    slow(device, block=(1, 1, 1))
    cuda.memcpy_dtoh(host, device)
    assert host[0] == 42


def test_asynchronous_copy_reads_pinned_memory_when_it_runs(context, slow, result):
    work, device, back = stream(), cuda.mem_alloc(4), np.zeros(1, np.int32)
    host = cuda.pagelocked_empty(1, np.int32)
    host[0] = 1
    slow(address(result), block=(1, 1, 1), stream=work)
    cuda.memcpy_htod_async(device, host, work)
    host[0] = 2  # too early: the copy has not run
    work.synchronize()
    cuda.memcpy_dtoh(back, device)
    assert back[0] == 2


def test_asynchronous_copy_takes_pageable_memory_at_once(context, slow, result):
    work, device, back = stream(), cuda.mem_alloc(4), np.zeros(1, np.int32)
    host = np.ones(1, np.int32)
    slow(address(result), block=(1, 1, 1), stream=work)
    cuda.memcpy_htod_async(device, host, work)
    host[0] = 2
    work.synchronize()
    cuda.memcpy_dtoh(back, device)
    assert back[0] == 1


def test_legacy_stream_waits_for_blocking_streams_only(context, slow, result):
    device, host = cuda.mem_alloc(4), np.zeros(1, np.int32)
    free = stream(NON_BLOCKING)
    slow(address(result), block=(1, 1, 1), stream=free)
    cuda.memcpy_htod(device, host)
    assert result[0] == 0 and not free.is_done()
    free.synchronize()
    result[0] = 0
    slow(address(result), block=(1, 1, 1), stream=stream())
    cuda.memcpy_htod(device, host)
    assert result[0] == 42


def test_blocking_stream_waits_for_the_legacy_stream(context, slow, result):
    device, work = cuda.mem_alloc(4), stream()
    slow(address(result), block=(1, 1, 1))
    cuda.memset_d32_async(int(device), 5, 1, work)
    work.synchronize()
    assert result[0] == 42


def test_event_orders_two_streams(context, slow, result):
    first, second, done = stream(NON_BLOCKING), stream(NON_BLOCKING), cuda.Event()
    slow(address(result), block=(1, 1, 1), stream=first)
    done.record(first)
    second.wait_for_event(done)
    assert not done.query()
    second.synchronize()
    assert done.query() and result[0] == 42


def test_events_measure_the_kernel(context, slow, result):
    start, end = cuda.Event(), cuda.Event()
    start.record()
    slow(address(result), block=(1, 1, 1))
    end.record()
    with pytest.raises(cuda.Error, match="not ready"):
        end.time_since(start)
    end.synchronize()
    assert end.time_since(start) > 10  # milliseconds
    assert end.time_till(start) == -end.time_since(start)


def test_events_that_cannot_measure(context):
    plain, silent = cuda.Event(), cuda.Event(cuda.event_flags.DISABLE_TIMING)
    with pytest.raises(cuda.LogicError, match="invalid resource handle"):
        plain.time_since(cuda.Event())  # never recorded
    plain.record()
    silent.record()
    with pytest.raises(cuda.LogicError, match="invalid resource handle"):
        silent.time_since(plain)


def test_host_function_runs_in_order_and_may_not_call_cuda(context, raw, slow, result):
    seen, answers = [], []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def function(_):
        seen.append(int(result[0]))
        answers.append(raw.cuCtxSynchronize())

    slow(address(result), block=(1, 1, 1))
    assert raw.cuLaunchHostFunc(None, function, None) == 0
    context.synchronize()
    assert seen == [42] and answers == [800]  # NOT_PERMITTED


def test_streams_from_several_threads(context):
    """Each thread adds to its own buffer in its own stream; all meet at the end."""
    handle = ctypes.c_void_p(context.handle)
    lib, failures = ctypes.CDLL(None), []

    def work(value: int) -> None:
        try:
            assert lib.cuCtxPushCurrent_v2(handle) == 0
            own, memory = ctypes.c_void_p(), ctypes.c_uint64()
            assert lib.cuStreamCreate(ctypes.byref(own), NON_BLOCKING) == 0
            assert lib.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(4000)) == 0
            for repeat in range(50):
                assert lib.cuMemsetD32Async(memory, value + repeat, ctypes.c_size_t(1000), own) == 0
            host = np.zeros(1000, np.uint32)
            assert lib.cuMemcpyDtoHAsync_v2(ctypes.c_void_p(host.ctypes.data), memory, ctypes.c_size_t(4000), own) == 0
            assert lib.cuStreamSynchronize(own) == 0
            assert (host == value + 49).all()
            assert lib.cuStreamDestroy_v2(own) == 0
        except AssertionError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(1000 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
