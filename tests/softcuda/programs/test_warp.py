# ruff: noqa: E501  (CUDA C++ in strings, and tables)
"""Shuffles, votes, matches and reductions of a warp against plain Python, and lanes that wait for one another."""

from __future__ import annotations

import numpy as np
import pycuda.driver as cuda
import pytest

LANES = np.arange(32)
ALL = 0xFFFFFFFF


@pytest.fixture(scope="module")
def shuffles(compile):
    return compile(
        """
        template <int width> __device__ void all_four(const int *value, const int *by, unsigned mask, int *out)
        {
            int i = threadIdx.x;
            if (!(mask >> i & 1)) return;
            out[i]      = __shfl_sync(mask, value[i], by[i], width);
            out[i + 32] = __shfl_up_sync(mask, value[i], by[0], width);
            out[i + 64] = __shfl_down_sync(mask, value[i], by[0], width);
            out[i + 96] = __shfl_xor_sync(mask, value[i], by[0], width);
        }
        extern "C" __global__ void shuffles(const int *value, const int *by, unsigned mask, int width, int *out)
        {
            if (width == 2) all_four<2>(value, by, mask, out);
            if (width == 4) all_four<4>(value, by, mask, out);
            if (width == 8) all_four<8>(value, by, mask, out);
            if (width == 16) all_four<16>(value, by, mask, out);
            if (width == 32) all_four<32>(value, by, mask, out);
        }
        extern "C" __global__ void doubles(const double *value, int by, double *out)
        {
            out[threadIdx.x] = __shfl_down_sync(0xffffffff, value[threadIdx.x], by, 8);
        }
        """
    )


@pytest.mark.parametrize("mask", [ALL, 0x0000FFFF, 0xF0F0F0F0], ids=hex)
@pytest.mark.parametrize("width", [2, 4, 8, 16, 32])
def test_shuffles(shuffles, width: int, mask: int) -> None:
    value = np.random.randint(0, 1 << 30, 32).astype(np.int32)
    for distance in range(width):
        by = np.random.randint(0, 64, 32).astype(np.int32)
        by[0] = distance
        out = np.full((4, 32), -1, np.int32)
        shuffles.get_function("shuffles")(
            cuda.In(value), cuda.In(by), np.uint32(mask), np.int32(width), cuda.InOut(out), block=(32, 1, 1)
        )
        start, place = LANES // width * width, LANES % width
        sources = [
            start + by % width,
            np.where(place >= distance, LANES - distance, LANES),
            np.where(place + distance < width, LANES + distance, LANES),
            LANES ^ distance,
        ]
        for got, source in zip(out, sources, strict=True):
            inside = (mask >> LANES & 1 == 1) & (mask >> source & 1 == 1)  # a lane outside the mask gives anything
            np.testing.assert_array_equal(got[inside], value[source][inside])
            assert (got[mask >> LANES & 1 == 0] == -1).all()


def test_shuffle_of_doubles(shuffles) -> None:
    value, out = np.random.rand(32), np.empty(32)
    shuffles.get_function("doubles")(cuda.In(value), np.int32(3), cuda.Out(out), block=(32, 1, 1))
    np.testing.assert_array_equal(out, np.where(LANES % 8 + 3 < 8, np.roll(value, -3), value))


def test_votes_matches_and_reductions(compile) -> None:
    kernel = compile(
        """
        extern "C" __global__ void votes(const int *value, unsigned mask, unsigned *out)
        {
            int i = threadIdx.x, v = value[i];
            if (!(mask >> i & 1)) return;
            int same;
            unsigned results[] = {
                __ballot_sync(mask, v & 1), (unsigned)__any_sync(mask, v == 3), (unsigned)__all_sync(mask, v < 4),
                __match_any_sync(mask, v), __match_any_sync(mask, (long long)v << 40 | 5), __match_all_sync(mask, v, &same),
                (unsigned)same, __reduce_add_sync(mask, (unsigned)v), (unsigned)__reduce_min_sync(mask, v - 2),
                (unsigned)__reduce_max_sync(mask, v - 2), __reduce_max_sync(mask, (unsigned)(v - 2)),
                __reduce_and_sync(mask, (unsigned)v), __reduce_or_sync(mask, (unsigned)v), __reduce_xor_sync(mask, (unsigned)v),
                __activemask()};
            for (int k = 0; k < 15; k++) out[k * 32 + i] = results[k];
        }
        """
    ).get_function("votes")
    for mask in (ALL, 0x0000FFFF, 0x12345678, 0x80000000):
        value = np.random.randint(0, 4, 32).astype(np.int32)
        members = LANES[mask >> LANES & 1 == 1]
        out = np.zeros((15, 32), np.uint32)
        kernel(cuda.In(value), np.uint32(mask), cuda.InOut(out), block=(32, 1, 1))
        v = value[members]

        def bits(which, members=members) -> int:
            return int(sum(1 << int(lane) for lane in members[which]))

        unsigned = (v - 2).astype(np.uint32)
        expected = [
            bits(v & 1 == 1), (v == 3).any(), (v < 4).all(), [bits(v == x) for x in v], [bits(v == x) for x in v],
            bits(v == v) if (v == v[0]).all() else 0, (v == v[0]).all(), v.sum(), (v - 2).astype(np.int32).min().view(np.uint32),
            (v - 2).astype(np.int32).max().view(np.uint32), unsigned.max(), np.bitwise_and.reduce(v),
            np.bitwise_or.reduce(v), np.bitwise_xor.reduce(v), mask,
        ]  # fmt: skip
        for k, want in enumerate(expected):
            assert (out[k, members] == want).all(), f"result {k} under mask {mask:#x}: {out[k, members]}, not {want}"


def test_shuffle_in_both_arms_of_an_if(compile) -> None:
    """The lanes of a full-mask operation meet although they stand at different lines."""
    kernel = compile(
        """
        extern "C" __global__ void arms(int *out)
        {
            int i = threadIdx.x, v;
            if (i % 3 == 0) { v = __shfl_xor_sync(0xffffffff, i * 10, 1); out[i + 32] = 1; }
            else            { v = __shfl_xor_sync(0xffffffff, i * 100, 1); out[i + 32] = 2; }
            out[i] = v;
        }
        """
    ).get_function("arms")
    out = np.zeros((2, 32), np.int32)
    kernel(cuda.InOut(out), block=(32, 1, 1))
    other = LANES ^ 1
    assert out[0].tolist() == np.where(other % 3 == 0, other * 10, other * 100).tolist()


def test_lanes_take_a_lock_in_turn(compile) -> None:
    kernel = compile(
        """
        __device__ int lock, counter;
        extern "C" __global__ void locked(int *out)
        {
            while (atomicCAS(&lock, 0, 1) != 0) {}
            volatile int *c = &counter;
            *c = *c + 1;
            __threadfence();
            atomicExch(&lock, 0);
            __syncthreads();
            out[blockIdx.x * blockDim.x + threadIdx.x] = 1;
        }
        """
    )
    out = np.zeros(192, np.int32)
    kernel.get_function("locked")(cuda.InOut(out), block=(96, 1, 1), grid=(2, 1))
    counter = np.zeros(1, np.int32)
    cuda.memcpy_dtoh(counter, kernel.get_global("counter")[0])
    assert counter[0] == 192 and (out == 1).all()


def test_one_lane_produces_for_the_others(compile) -> None:
    kernel = compile(
        """
        extern "C" __global__ void handshake(int *out)
        {
            __shared__ volatile int box, ready, taken;
            int i = threadIdx.x, sum = 0;
            if (i == 0) { ready = -1; taken = 0; }
            __syncwarp();
            for (int round = 0; round < 20; round++) {
                if (i == 31) { box = round * round; __threadfence_block(); ready = round; while (taken < 31 * (round + 1)) {} }
                else { while (ready < round) {} sum += box; atomicAdd((int *)&taken, 1); while (ready == round && round < 19) {} }
            }
            out[i] = sum;
        }
        """
    ).get_function("handshake")
    out = np.zeros(32, np.int32)
    kernel(cuda.Out(out), block=(32, 1, 1))
    assert out.tolist() == [sum(r * r for r in range(20))] * 31 + [0]


def test_syncwarp_of_some_lanes(compile) -> None:
    kernel = compile(
        """
        extern "C" __global__ void halves(int *out)
        {
            __shared__ int s[32];
            int i = threadIdx.x;
            unsigned mask = i < 12 ? 0xfffu : 0xfffff000u;
            if (i < 12) { for (int k = 0; k <= i; k++) s[i] = k; __syncwarp(mask); out[i] = s[11 - i]; }
            else        { s[i] = i; __syncwarp(mask); out[i] = s[12 + 31 - i]; }
            __nanosleep(100);
        }
        """
    ).get_function("halves")
    out = np.zeros(32, np.int32)
    kernel(cuda.Out(out), block=(32, 1, 1))
    assert out.tolist() == [11 - i for i in range(12)] + [43 - i for i in range(12, 32)]
