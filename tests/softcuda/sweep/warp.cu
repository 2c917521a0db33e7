// A warp's lanes among themselves: shuffles, votes, matches, reductions, and masks.
#include "check.h"

constexpr unsigned everyone = 0xffffffffu;

template <class T>
__device__ void shuffles() {
    const unsigned lane = threadIdx.x % 32;
    auto at = [](unsigned lane) { return T(lane * 77 + 3); };
    const T x = hide(at(lane));
    SAME(__shfl_sync(everyone, x, lane * 5 + 1), at((lane * 5 + 1) % 32));
    SAME(__shfl_sync(everyone, x, 3, 8), at((lane & ~7u) + 3));
    SAME(__shfl_up_sync(everyone, x, 3), at(lane < 3 ? lane : lane - 3));
    SAME(__shfl_up_sync(everyone, x, 2, 4), at(lane % 4 < 2 ? lane : lane - 2));
    SAME(__shfl_down_sync(everyone, x, 5), at(lane > 26 ? lane : lane + 5));
    SAME(__shfl_down_sync(everyone, x, 1, 16), at(lane % 16 == 15 ? lane : lane + 1));
    SAME(__shfl_xor_sync(everyone, x, 9), at(lane ^ 9));
    SAME(__shfl_xor_sync(everyone, x, 1, 2), at(lane ^ 1));
}

TEST(exchange, 1, 64) {
    shuffles<int>();
    shuffles<unsigned>();
    shuffles<long>();
    shuffles<long long>();
    shuffles<unsigned long long>();
    shuffles<float>();
    shuffles<double>();
}

TEST(votes, 1, 64) {
    const unsigned lane = threadIdx.x % 32;
    SAME(__ballot_sync(everyone, hide(lane) % 3 == 0), 0x49249249u);
    SAME(__any_sync(everyone, hide(lane) == 40), 0);
    SAME(__any_sync(everyone, hide(lane) == 4), 1);
    SAME(__all_sync(everyone, hide(lane) < 32), 1);
    SAME(__all_sync(everyone, hide(lane) < 31), 0);
    SAME(__activemask(), everyone);
    if (lane & 1) {
        SAME(__ballot_sync(0xaaaaaaaau, lane > 15), 0xaaaa0000u);
        __syncwarp(0xaaaaaaaau);
    } else {
        SAME(__ballot_sync(0x55555555u, lane > 15), 0x55550000u);
        __syncwarp(0x55555555u);
    }
    __syncwarp();
}

TEST(matches, 1, 64) {
    const unsigned lane = threadIdx.x % 32;
    int same;
    SAME(__match_any_sync(everyone, lane % 4), 0x11111111u << lane % 4);
    SAME(__match_any_sync(everyone, (unsigned long long)(lane / 16) << 40), lane < 16 ? 0xffffu : 0xffff0000u);
    SAME(__match_any_sync(everyone, lane < 3 ? 1.5f : 2.5f), lane < 3 ? 7u : ~7u);
    SAME(__match_any_sync(everyone, lane < 3 ? 1.5 : 2.5), lane < 3 ? 7u : ~7u);
    SAME(__match_all_sync(everyone, 7, &same), everyone);
    SAME(same, 1);
    SAME(__match_all_sync(everyone, (long long)lane, &same), 0u);
    SAME(same, 0);
}

TEST(reductions, 1, 64, since = 80) {
#if __CUDA_ARCH__ >= 800
    const unsigned lane = threadIdx.x % 32, x = hide(lane * 3 + 1);
    SAME(__reduce_add_sync(everyone, x), 31u * 16 * 3 + 32);
    SAME(__reduce_add_sync(everyone, -int(x)), -(31 * 16 * 3 + 32));
    SAME(__reduce_min_sync(everyone, x), 1u);
    SAME(__reduce_min_sync(everyone, -int(x)), -94);
    SAME(__reduce_max_sync(everyone, x), 94u);
    SAME(__reduce_max_sync(everyone, -int(x)), -1);
    SAME(__reduce_and_sync(everyone, x | 64), 64u);
    SAME(__reduce_or_sync(everyone, 1u << lane), everyone);
    SAME(__reduce_xor_sync(everyone, 1u << lane % 16), 0u);
    if (lane < 7) SAME(__reduce_add_sync(0x7fu, lane), 21u);
#endif
}

TEST(identity, 1, 64) {
    unsigned lane, warp, equal, less, lesser, greater, greatest;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm("mov.u32 %0, %%lanemask_eq;" : "=r"(equal));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(less));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(lesser));
    asm("mov.u32 %0, %%lanemask_gt;" : "=r"(greater));
    asm("mov.u32 %0, %%lanemask_ge;" : "=r"(greatest));
    SAME(lane, threadIdx.x % 32);
    SAME(warp, threadIdx.x / 32);
    SAME(equal, 1u << lane);
    SAME(less, (1u << lane) - 1);
    SAME(lesser, less | equal);
    SAME(greater, ~lesser);
    SAME(greatest, ~less);
    SAME(warpSize, 32);
}

// Lanes that leave the loop at different times, and barriers that count and vote.
TEST(divergence, 2, 96) {
    unsigned n = 0;
    for (unsigned i = threadIdx.x; i != 1; i = i & 1 ? i * 3 + 1 : i / 2) {
        if (i == 0) break;
        n += __popc(__activemask()) > 0;
    }
    unsigned m = 0;
    for (unsigned i = threadIdx.x; i > 1; i = i & 1 ? i * 3 + 1 : i / 2) ++m;
    SAME(n, m);
    SAME(__syncthreads_count(threadIdx.x < 50), 50);
    SAME(__syncthreads_and(threadIdx.x < 96), 1);
    SAME(__syncthreads_or(threadIdx.x == 96), 0);
}
