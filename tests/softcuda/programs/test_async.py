"""Asynchronous copies: cp.async, cp.async.bulk, mbarriers and libcu++'s barriers and pipelines over them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pycuda.driver as cuda
import pytest

SOURCE = r"""
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
namespace ptx = cuda::ptx;
using barrier = cuda::barrier<cuda::thread_scope_block>;
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// --- cp.async: what a thread sees before and after its wait
extern "C" __global__ void classic(const int* in, int* out) {
    __shared__ __align__(16) int tile[3][32];
    int t = threadIdx.x;
    for (int k = 0; k < 3; ++k) tile[k][t] = -1 - k;
    for (int k = 0; k < 3; ++k) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;"
                     ::"r"(shared_address(&tile[k][t])), "l"(in + 32 * k + t));
        asm volatile("cp.async.commit_group;");
    }
    int row = 0;
    auto look = [&] { for (int k = 0; k < 3; ++k) out[(row * 3 + k) * 32 + t] = ((volatile int*)tile[k])[t]; ++row; };
    look();
    asm volatile("cp.async.wait_group 2;" ::: "memory"); look();
    asm volatile("cp.async.wait_group 0;" ::: "memory"); look();
}
extern "C" __global__ void short_copy(const int* in, int* out) {
    __shared__ __align__(16) int tile[128];
    int t = threadIdx.x;
    for (int k = 0; k < 4; ++k) tile[4 * t + k] = -1;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 ::"r"(shared_address(&tile[4 * t])), "l"(in + 4 * t), "r"(t % 17));
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int k = 0; k < 4; ++k) out[4 * t + k] = tile[4 * t + k];
}
// cp.async.mbarrier.arrive: the barrier's phase ends when the copies have landed, and not before.
extern "C" __global__ void arrives(const int* in, int* out) {
    __shared__ int tile[64];
    __shared__ uint64_t bar;
    int t = threadIdx.x;
    unsigned b = shared_address(&bar);
    tile[t] = -1;
    if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(b));
    __syncthreads();
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&tile[t])), "l"(in + t));
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(b));
    __syncthreads();
    out[t] = ((volatile int*)tile)[63 - t];
    __syncthreads();  // the first to ask makes them land
    int done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.b32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(b) : "memory");
    out[64 + t] = tile[63 - t];
}
// --- libcu++
extern "C" __global__ void with_barrier(const int* in, int* out, int n) {
    extern __shared__ int tile[];
    __shared__ barrier bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x);
    __syncthreads();
    auto group = cooperative_groups::this_thread_block();
    for (int base = 0; base < n; base += 256) {
        cuda::memcpy_async(group, tile, in + base, sizeof(int) * 256, bar);
        bar.arrive_and_wait();
        for (int i = threadIdx.x; i < 256; i += blockDim.x) out[base + i] = 2 * tile[255 - i];
        __syncthreads();
    }
}
extern "C" __global__ void with_pipeline(const int* in, int* out, int n) {
    constexpr int stages = 3, size = 128;
    __shared__ __align__(16) int tile[stages][size];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    auto group = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(group, &state);
    int steps = n / size;
    for (int step = 0, fetch = 0; step < steps; ++step) {
        for (; fetch < steps && fetch < step + stages; ++fetch) {
            pipe.producer_acquire();
            cuda::aligned_size_t<16> bytes(size * 4);
            cuda::memcpy_async(group, tile[fetch % stages], in + fetch * size, bytes, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        out[step * size + threadIdx.x] = tile[step % stages][size - 1 - threadIdx.x] + step;
        pipe.consumer_release();
    }
}
extern "C" __global__ void one_thread_pipeline(const int4* in, int4* out, int n) {
    __shared__ int4 tile[2][64];
    auto pipe = cuda::make_pipeline();
    int steps = n / 64, t = threadIdx.x;
    for (int step = -1; step < steps; ++step) {
        if (step + 1 < steps) {
            pipe.producer_acquire();
            cuda::memcpy_async(&tile[(step + 1) % 2][t], in + (step + 1) * 64 + t, sizeof(int4), pipe);
            pipe.producer_commit();
        }
        if (step < 0) continue;
        cuda::pipeline_consumer_wait_prior<1>(pipe);
        if (step + 1 == steps) cuda::pipeline_consumer_wait_prior<0>(pipe);
        out[step * 64 + t] = tile[step % 2][t];
        pipe.consumer_release();
    }
}
// --- bulk copies: in, doubled in place, out
extern "C" __global__ void bulk(const int* in, int* out, int* seen) {
    __shared__ alignas(128) int tile[256];
    __shared__ barrier bar;
    int t = threadIdx.x;
    tile[t] = -1;
    if (t == 0) { init(&bar, blockDim.x); cuda::device::experimental::fence_proxy_async_shared_cta(); }
    __syncthreads();
    barrier::arrival_token token;
    if (t == 0) {
        cuda::device::experimental::cp_async_bulk_global_to_shared(tile, in + blockIdx.x * 256, sizeof(tile), bar);
        token = cuda::device::barrier_arrive_tx(bar, 1, sizeof(tile));
    } else token = bar.arrive();
    seen[blockIdx.x * 256 + t] = ((volatile int*)tile)[255 - t];
    bar.wait(std::move(token));
    tile[t] *= 2;
    cuda::device::experimental::fence_proxy_async_shared_cta();
    __syncthreads();
    if (t == 0) {
        cuda::device::experimental::cp_async_bulk_shared_to_global(out + blockIdx.x * 256, tile, sizeof(tile));
        cuda::device::experimental::cp_async_bulk_commit_group();
        cuda::device::experimental::cp_async_bulk_wait_group_read<0>();
        for (int i = 0; i < 256; ++i) tile[i] = -5;  // read already: this comes too late to be seen
    }
}
// Nobody waits for the end: it comes with the block's.
extern "C" __global__ void unwaited(const int* in, int* out) {
    __shared__ alignas(16) int tile[32];
    int at = 32 * blockIdx.x + threadIdx.x;
    tile[threadIdx.x] = in[at] + 1;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&tile[threadIdx.x])), "l"(in + at));
    __syncwarp();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128; cp.async.bulk.commit_group;"
                     ::"l"(out + at), "r"(shared_address(tile)) : "memory");
}
// --- without a wait until the end
extern "C" __global__ void piled_copies(const int* in, int* out, int n) {
    __shared__ int tile[32];
    for (int k = 0; k < n; ++k)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group;"
                     ::"r"(shared_address(&tile[threadIdx.x])), "l"(in + (k + threadIdx.x) % 1024));
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = ((volatile int*)tile)[threadIdx.x];
}
extern "C" __global__ void piled_arrivals(const int* in, int* out, int n) {
    __shared__ int tile[32];
    __shared__ uint64_t bar;
    unsigned b = shared_address(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"(b));
    for (int k = 0; k < n; ++k)
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.mbarrier.arrive.shared.b64 [%2];"
                     ::"r"(shared_address(&tile[threadIdx.x])), "l"(in + (k + threadIdx.x) % 1024), "r"(b));
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[threadIdx.x] = ((volatile int*)tile)[threadIdx.x];
}
extern "C" __global__ void piled_bulk(const int* in, int* out, int n) {
    extern __shared__ __align__(16) int large[];
    for (int k = 0; k < n; ++k) {
        large[threadIdx.x] = in[(k + threadIdx.x) % 1024];
        if (threadIdx.x == 0)
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 32768;"
                         "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;"
                         ::"l"(out), "r"(shared_address(large)) : "memory");
        __syncwarp();
    }
}
#define REDUCE(name, type, instruction)                                                                          \
    extern "C" __global__ void name(const type* in, type* out) {                                                  \
        __shared__ alignas(16) type tile[64];                                                                     \
        tile[threadIdx.x] = in[threadIdx.x];                                                                      \
        __syncthreads();                                                                                          \
        if (threadIdx.x == 0) {                                                                                   \
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." instruction " [%0], [%1], %2;"     \
                ::"l"(out), "r"(shared_address(tile)), "r"((int)sizeof(tile)) : "memory");                        \
            asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");                 \
        }                                                                                                         \
    }
REDUCE(add_f32, float, "add.f32")
REDUCE(add_f64, double, "add.f64")
REDUCE(add_s32, int, "add.s32")
REDUCE(min_s32, int, "min.s32")
REDUCE(max_u64, unsigned long long, "max.u64")
REDUCE(xor_b32, unsigned, "xor.b32")
REDUCE(inc_u32, unsigned, "inc.u32")
// --- clusters: one block's load for all, a copy to the neighbour, values and arrivals from afar
extern "C" __global__ void __cluster_dims__(4, 1, 1) multicast(const int* in, int* out) {
    __shared__ alignas(128) int tile[64];
    __shared__ uint64_t bar;
    int t = threadIdx.x;
    unsigned b = shared_address(&bar), rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (t == 0) {
        asm volatile("mbarrier.init.shared.b64 [%0], 1; fence.mbarrier_init.release.cluster;" ::"r"(b));
        asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 s, [%0], 256; }"
                     ::"r"(b) : "memory");
    }
    tile[t] = -1;
    auto cluster = cooperative_groups::this_cluster();
    cluster.sync();
    if (rank == 1 && t == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1], 256, [%2], %3;"
                     ::"r"(shared_address(tile)), "l"(in), "r"(b), "h"((unsigned short)0xd) : "memory");
    if (rank != 1) {
        while (!ptx::mbarrier_try_wait_parity(&bar, 0)) {}
    }
    out[blockIdx.x * 64 + t] = tile[t];
    cluster.sync();
}
extern "C" __global__ void __cluster_dims__(2, 1, 1) neighbours(const int* in, int* out) {
    __shared__ alignas(128) int mine[64], got[64], words[4], count;
    __shared__ uint64_t bar;
    auto cluster = cooperative_groups::this_cluster();
    int t = threadIdx.x, other = 1 - cluster.block_rank();
    if (t == 0) { ptx::mbarrier_init(&bar, 2); count = 100; }
    mine[t] = in[blockIdx.x * 64 + t], got[t] = -1;
    cluster.sync();
    if (t == 0) {
        ptx::fence_proxy_async(ptx::space_shared);
        auto far = cluster.map_shared_rank(&bar, other);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &bar, 256 + 16 + 4);
        ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, far);
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, cluster.map_shared_rank(got, other), mine, 256u, far);
        int four[4] = {other, 20, 30, 40};
        ptx::st_async(cluster.map_shared_rank(words, other), four, far);
        ptx::red_async(ptx::op_add, cluster.map_shared_rank(&count, other), 11, far);
    }
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {}
    out[blockIdx.x * 64 + t] = got[t] + words[t % 4] * 1000 + count * 100000;
    cluster.sync();
}
"""


@pytest.fixture(scope="module")
def module(compile):
    return compile(SOURCE, "-std=c++17")


def test_a_copy_lands_at_its_wait_and_not_before(module):
    given, seen = np.arange(96, dtype=np.int32), np.zeros((3, 3, 32), np.int32)
    module.get_function("classic")(cuda.In(given), cuda.Out(seen), block=(32, 1, 1))
    old = np.repeat([[-1], [-2], [-3]], 32, 1)
    new = given.reshape(3, 32)
    assert np.array_equal(seen[0], old), "no wait yet: the copies are under way"
    assert np.array_equal(seen[1], np.vstack([new[:1], old[1:]])), "two groups may be under way"
    assert np.array_equal(seen[2], new)


def test_what_a_short_copy_does_not_read_is_zero(module):
    given, got = np.arange(1, 129, dtype=np.int32), np.zeros(128, np.int32)
    module.get_function("short_copy")(cuda.In(given), cuda.Out(got), block=(32, 1, 1))
    want = given.view(np.uint8).reshape(32, 16).copy()
    for lane in range(32):
        want[lane, lane % 17 :] = 0
    assert np.array_equal(got.view(np.uint8).reshape(32, 16), want)


def test_a_barrier_hears_of_copies(module):
    given, seen = np.arange(64, dtype=np.int32), np.zeros(128, np.int32)
    module.get_function("arrives")(cuda.In(given), cuda.Out(seen), block=(64, 1, 1))
    assert np.all(seen[:64] == -1) and np.array_equal(seen[64:], given[::-1])


def test_libcu_barrier_and_pipelines(module):
    given = np.random.default_rng(1).integers(-1000, 1000, 1024, dtype=np.int32)
    size, got = np.int32(len(given)), np.zeros_like(given)
    module.get_function("with_barrier")(cuda.In(given), cuda.Out(got), size, block=(64, 1, 1), shared=1024)
    assert np.array_equal(got.reshape(-1, 256), 2 * given.reshape(-1, 256)[:, ::-1])
    module.get_function("with_pipeline")(cuda.In(given), cuda.Out(got), size, block=(128, 1, 1))
    assert np.array_equal(got.reshape(-1, 128), given.reshape(-1, 128)[:, ::-1] + np.arange(8)[:, None])
    got[:] = 0
    module.get_function("one_thread_pipeline")(cuda.In(given), cuda.Out(got), np.int32(256), block=(64, 1, 1))
    assert np.array_equal(got, given)


def test_bulk_copies_in_and_out(module):
    given = np.random.default_rng(2).integers(0, 1000, 1024, dtype=np.int32)
    got, seen = np.zeros_like(given), np.zeros_like(given)
    module.get_function("bulk")(cuda.In(given), cuda.Out(got), cuda.Out(seen), block=(256, 1, 1), grid=(4, 1))
    assert np.all(seen == -1), "the copy lands at the wait"
    assert np.array_equal(got, 2 * given)


def test_what_is_under_way_lands_at_the_end_of_its_block(module):
    given, got = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    module.get_function("unwaited")(cuda.In(given), cuda.Out(got), block=(32, 1, 1), grid=(8, 1))
    assert np.array_equal(got, given + 1)


def test_what_nobody_waits_for_does_not_pile_up(module):
    """Kept until the end, each would take 300 MB.  The kernel is long done when Linux tells of memory."""
    given, got = np.arange(1024, dtype=np.int32), np.zeros(1 << 13, np.int32)
    for name, n, shared in ("piled_copies", 300_000, 0), ("piled_arrivals", 60_000, 0), ("piled_bulk", 10_000, 32768):
        Path("/proc/self/clear_refs").write_text("5")  # the most memory so far is what there is now
        before = peak()
        got[:] = 0
        module.get_function(name)(cuda.In(given), cuda.InOut(got), np.int32(n), block=(32, 1, 1), shared=shared)
        assert np.array_equal(got[:32], given.take(n - 1 + np.arange(32), mode="wrap")), name
        assert peak() - before < 100_000, name


def peak() -> int:
    """The most memory that this process has had, in kB."""
    return int(next(s for s in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in s).split()[1])


@pytest.mark.parametrize(
    ("name", "dtype", "f"),
    [
        ("add_f32", np.float32, np.add),
        ("add_f64", np.float64, np.add),
        ("add_s32", np.int32, np.add),
        ("min_s32", np.int32, np.minimum),
        ("max_u64", np.uint64, np.maximum),
        ("xor_b32", np.uint32, np.bitwise_xor),
        ("inc_u32", np.uint32, lambda old, limit: np.where(old >= limit, 0, old + 1)),
    ],
)
def test_bulk_reductions(module, name, dtype, f):
    old, given = (np.random.default_rng(s).integers(0, 50, 64).astype(dtype) for s in (3, 4))
    if name == "add_s32":  # sums wrap around
        old[:2], given[:2] = (2**31 - 1, -(2**31)), (1, -1)
    got = old.copy()
    module.get_function(name)(cuda.In(given), cuda.InOut(got), block=(64, 1, 1))
    assert np.array_equal(got, f(old, given))


def test_multicast_reaches_the_blocks_of_its_mask(module):
    given, got = np.arange(64, dtype=np.int32), np.zeros((4, 64), np.int32)
    module.get_function("multicast")(cuda.In(given), cuda.Out(got), block=(64, 1, 1), grid=(4, 1))
    assert np.array_equal(got, [given, np.full(64, -1), given, given])


def test_blocks_of_a_cluster_write_to_each_other(module):
    given = np.arange(128, dtype=np.int32).reshape(2, 64)
    got = np.zeros_like(given)
    module.get_function("neighbours")(cuda.In(given), cuda.Out(got), block=(64, 1, 1), grid=(2, 1))
    words = np.array([[0, 20, 30, 40], [1, 20, 30, 40]])  # each block got its own rank from the other
    assert np.array_equal(got, given[::-1] + np.tile(words, 16) * 1000 + 111 * 100000)
