// What only newer generations have: pairs of floats, three operands, 256-bit loads, stack allocation, elected lanes.
#include "check.h"

TEST(float_pairs, 1, 64, since = 100) {
#if __CUDA_ARCH__ >= 1000
    const float2 x = hide(make_float2(threadIdx.x * 0.37f - 5, threadIdx.x * 1e-3f)),
                 y = hide(make_float2(-1.1f, 3e7f));
    const float2 z = hide(make_float2(0.3f, 1e30f));
#define PAIR(mode)                                                 \
    SAME(__fadd2_##mode(x, y).x, __fadd_##mode(x.x, y.x));         \
    SAME(__fadd2_##mode(x, y).y, __fadd_##mode(x.y, y.y));         \
    SAME(__fmul2_##mode(x, y).x, __fmul_##mode(x.x, y.x));         \
    SAME(__fmul2_##mode(x, y).y, __fmul_##mode(x.y, y.y));         \
    SAME(__ffma2_##mode(x, y, z).x, __fmaf_##mode(x.x, y.x, z.x)); \
    SAME(__ffma2_##mode(x, y, z).y, __fmaf_##mode(x.y, y.y, z.y));
    PAIR(rn)
    PAIR(rz)
    PAIR(ru)
    PAIR(rd)
#endif
}

TEST(three_operands, 1, 64) {
    const float a = hide(threadIdx.x * 0.37f - 5), b = hide(2.5f), c = hide(-0.5f);
    SAME(fmaxf(fmaxf(a, b), c), a > 2.5f ? a : 2.5f);
    SAME(fminf(a, fminf(b, c)), a < -0.5f ? a : -0.5f);
    const int i = hide((int)threadIdx.x), j = hide(20), k = hide(40);
    SAME(max(max(i, j), k), i > 40 ? i : 40);
    SAME(min(min(i, j), k), i < 20 ? i : 20);
    SAME(max(min(i, k), j), i < 20 ? 20 : i > 40 ? 40 : i);
#if __CUDA_ARCH__ >= 1000
    float most;
    asm("max.f32 %0, %1, %2, %3;" : "=f"(most) : "f"(a), "f"(b), "f"(c));
    SAME(most, a > 2.5f ? a : 2.5f);
#endif
}

__device__ __noinline__ int filled(int n) {
#ifdef __CUDACC_RTC__  // NVRTC 12.9 has no alloca
    int room[20];
#else
    int* room = (int*)__builtin_alloca(n * sizeof(int));
#endif
    for (int i = 0; i < n; ++i) room[i] = i * i;
    int sum = 0;
    for (int i = n; i--;) sum += room[i];
    return sum;
}

TEST(stack_allocation, 1, 64) {
    const int n = hide((int)threadIdx.x % 20 + 1);
    SAME(filled(n), (n - 1) * n * (2 * n - 1) / 6);
}

TEST(election, 1, 64, since = 90) {
#if __CUDA_ARCH__ >= 900
    unsigned leader, chosen;
    asm volatile("{\n\t.reg .pred p;\n\telect.sync %0|p, 0xffffffff;\n\tselp.u32 %1, 1, 0, p;\n\t}"
                 : "=r"(leader), "=r"(chosen));
    CHECK(leader < 32);
    SAME(__ballot_sync(0xffffffffu, chosen), 1u << leader);
#endif
}

// Bytes and halves by themselves in sums and comparisons, and selection without branches.
TEST(narrow_arithmetic, 1, 64) {
    const unsigned char a = hide((unsigned char)(threadIdx.x * 5)), b = hide((unsigned char)200);
    const short s = hide((short)(threadIdx.x * 900 - 30000)), t = hide((short)-7);
    SAME((unsigned char)(a + b), (threadIdx.x * 5 + 200) & 255);
    SAME(a > b ? a - b : b - a, abs((int)(threadIdx.x * 5 & 255) - 200));
    SAME((short)(s / t), (short)((int)(threadIdx.x * 900 - 30000) / -7));
    SAME((short)(s % t), (short)((int)(threadIdx.x * 900 - 30000) % -7));
    SAME((short)(s >> 3), (short)((int)(threadIdx.x * 900 - 30000) >> 3));
    SAME((unsigned short)s >> 3, (unsigned)((threadIdx.x * 900 - 30000) & 0xffff) >> 3);
    SAME(max(s, t), s > t ? s : t);
    SAME(min(a, b), a < b ? a : b);
    const bool p = hide(threadIdx.x) & 1, q = hide(threadIdx.x) & 2;
    SAME((p && q) + (p || q) * 2 + (p ^ q) * 4,
         ((threadIdx.x & 3) == 3) + ((threadIdx.x & 3) != 0) * 2 + (((threadIdx.x ^ threadIdx.x >> 1) & 1) != 0) * 4);
}
