// __nv_bfloat16 and its pairs: every intrinsic of cuda_bf16.h against the same sum in single precision, rounded once.
#include <cuda_bf16.h>

#include "check.h"

using Number = __nv_bfloat16;
using Pair = __nv_bfloat162;

__device__ float wide(Number x) { return __bfloat162float(x); }
__device__ Number narrow(float x) { return __float2bfloat16_rn(x); }
__device__ Pair pair(Number a, Number b) { return __halves2bfloat162(a, b); }

__device__ Number input(unsigned i) {
    const float corner[] = {0, -0.0f, 1, -1.5f, 0.0999755859375f, 3e4f, -6e-5f, 2047};
    return hide(narrow(i < 8 ? corner[i] : float(int(i * 2654435761u) >> 12) / float(int(i) - 20 + (i == 20)) / 64));
}

#define OPERANDS                                                                                  \
    const Number x = input(threadIdx.x), y = input(63 - threadIdx.x), z = input(threadIdx.x / 2); \
    const Pair xx = pair(x, y), yy = pair(y, z), zz = pair(z, x);                                 \
    const float a = wide(x), b = wide(y), c = wide(z);

// Pairs do in each half what single ones do.
#define BOTH2(name2, name) SAME(name2(xx, yy), pair(name(x, y), name(y, z)));
#define BOTH1(name2, name) SAME(name2(xx), pair(name(x), name(y)));

__device__ float relu(float x) { return x > 0 ? x : 0; }
__device__ float saturate(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }

TEST(arithmetic, 1, 64) {
    OPERANDS
    SAME(__hadd(x, y), narrow(a + b));
    SAME(__hsub(x, y), narrow(a - b));
    SAME(__hmul(x, y), narrow(a * b));
    SAME(__hadd_rn(x, y), narrow(a + b));
    SAME(__hsub_rn(x, y), narrow(a - b));
    SAME(__hmul_rn(x, y), narrow(a * b));
    SAME(__hadd_sat(x, y), narrow(saturate(wide(narrow(a + b)))));
    SAME(__hsub_sat(x, y), narrow(saturate(wide(narrow(a - b)))));
    SAME(__hmul_sat(x, y), narrow(saturate(wide(narrow(a * b)))));
    if (b != 0) NEAR(wide(__hdiv(x, y)), wide(narrow(a / b)), 8e-3);
    SAME(__hneg(x), narrow(-a));
    SAME(__habs(x), narrow(fabsf(a)));
    SAME(x + y, __hadd(x, y));
    SAME(x - y, __hsub(x, y));
    SAME(x * y, __hmul(x, y));
    SAME(-x, __hneg(x));
    Number u = x;
    u += y, u -= z, u *= y, ++u, u--;
    SAME(u, narrow(wide(narrow(wide(narrow(wide(narrow(wide(narrow(a + b)) - c)) * b)) + 1)) - 1));
    BOTH2(__hadd2, __hadd)
    BOTH2(__hsub2, __hsub)
    BOTH2(__hmul2, __hmul)
    BOTH2(__hadd2_rn, __hadd_rn)
    BOTH2(__hsub2_rn, __hsub_rn)
    BOTH2(__hmul2_rn, __hmul_rn)
    BOTH2(__hadd2_sat, __hadd_sat)
    BOTH2(__hsub2_sat, __hsub_sat)
    BOTH2(__hmul2_sat, __hmul_sat)
    BOTH1(__hneg2, __hneg)
    BOTH1(__habs2, __habs)
    if (b != 0 && c != 0) NEAR(wide(__high2bfloat16(__h2div(xx, yy))), wide(narrow(b / c)), 8e-3);
    SAME(xx + yy, __hadd2(xx, yy));
#if __CUDA_ARCH__ >= 800
    NEAR(wide(__hfma(x, y, z)), wide(narrow(float((double)a * b + c))), 8e-3);
    SAME(__hfma_sat(x, y, z), narrow(saturate(wide(__hfma(x, y, z)))));
    SAME(__hfma_relu(x, y, z), narrow(relu(wide(__hfma(x, y, z)))));
    SAME(__hfma2_relu(xx, yy, zz), pair(__hfma_relu(x, y, z), __hfma_relu(y, z, x)));
    SAME(__hfma2(xx, yy, zz), pair(__hfma(x, y, z), __hfma(y, z, x)));
    SAME(__hfma2_sat(xx, yy, zz), pair(__hfma_sat(x, y, z), __hfma_sat(y, z, x)));
    const Pair product = __hcmadd(xx, yy, zz);
    CHECK(!__hisnan(product.x) || isnan(a * b) || isinf(a * b));
#endif
    SAME(xx * yy - zz, __hsub2(__hmul2(xx, yy), zz));
}

TEST(comparisons, 1, 64) {
    OPERANDS
#define COMPARE(name, operation)                                                                          \
    SAME(__h##name(x, y), a operation b);                                                                 \
    SAME(__hb##name##2(xx, yy), (a operation b) && (b operation c));                                      \
    SAME(__h##name##2(xx, yy), pair(narrow(a operation b), narrow(b operation c)));                       \
    SAME(__h##name##2_mask(xx, yy), (a operation b ? 0xffffu : 0u) | (b operation c ? 0xffff0000u : 0u)); \
    SAME(__h##name##u(x, y), a operation b);                                                              \
    SAME(__hb##name##u2(xx, yy), (a operation b) && (b operation c));                                     \
    SAME(__h##name##u2(xx, yy), pair(narrow(a operation b), narrow(b operation c)));                      \
    SAME(__h##name##u2_mask(xx, yy), (a operation b ? 0xffffu : 0u) | (b operation c ? 0xffff0000u : 0u));
    COMPARE(eq, ==)
    COMPARE(ne, !=)
    COMPARE(lt, <)
    COMPARE(le, <=)
    COMPARE(gt, >)
    COMPARE(ge, >=)
    SAME(__hmax(x, y), narrow(fmaxf(a, b)));
    SAME(__hmin(x, y), narrow(fminf(a, b)));
    SAME(__hmax_nan(x, y), narrow(fmaxf(a, b)));
    SAME(__hmin_nan(x, y), narrow(fminf(a, b)));
    BOTH2(__hmax2, __hmax)
    BOTH2(__hmin2, __hmin)
    BOTH2(__hmax2_nan, __hmax_nan)
    BOTH2(__hmin2_nan, __hmin_nan)
    const Number none = narrow(__int_as_float(hide(0x7fffffff)));
    CHECK(__hisnan(none) && !__hisnan(x) && !__heq(none, none) && __hneu(none, x) && __hgtu(x, none));
    CHECK(__hisnan(__hmax_nan(x, none)) && !__hisnan(__hmax(x, none)));
    SAME(__hisnan2(pair(x, none)), pair(narrow(0), narrow(1)));
    SAME((x < y) + (x == y) + (x > y), 1);
    SAME(__hisinf(narrow(-__int_as_float(hide(0x7f800000)))), -1);
}

TEST(conversions, 1, 64) {
    OPERANDS
    const float f = hide(a * 1.0009765f + 0.3f);
    const float down = wide(__float2bfloat16_rd(f)), up = wide(__float2bfloat16_ru(f)),
                zero = wide(__float2bfloat16_rz(f));
    CHECK(down <= f && f <= up && zero == (f < 0 ? up : down));
    SAME(__float2bfloat16(f), narrow(f));
    SAME(__double2bfloat16((double)f), narrow(f));
    SAME(__float2bfloat162_rn(f), pair(narrow(f), narrow(f)));
    SAME(__floats2bfloat162_rn(f, a), pair(narrow(f), x));
    SAME(__float22bfloat162_rn(make_float2(f, a)), pair(narrow(f), x));
    SAME(__low2float(xx), a);
    SAME(__high2float(xx), b);
    SAME(__bfloat1622float2(xx).y, b);
    SAME(__low2bfloat16(xx), x);
    SAME(__high2bfloat16(xx), y);
    SAME(__low2bfloat162(xx), pair(x, x));
    SAME(__high2bfloat162(xx), pair(y, y));
    SAME(__lows2bfloat162(xx, yy), pair(x, y));
    SAME(__highs2bfloat162(xx, yy), pair(y, z));
    SAME(__lowhigh2highlow(xx), pair(y, x));
    SAME(__bfloat162bfloat162(x), pair(x, x));
    SAME(__bfloat16_as_ushort(x), bits_of(x));
    SAME(__ushort_as_bfloat16(__bfloat16_as_ushort(x)), x);
    SAME(__short_as_bfloat16(__bfloat16_as_short(y)), y);
#define INTEGER(type, T)                                                            \
    SAME(__bfloat162##type##_rn(x), (T)__float2ll_rn(a));                           \
    SAME(__bfloat162##type##_rd(x), (T)__float2ll_rd(a));                           \
    SAME(__bfloat162##type##_ru(x), (T)__float2ll_ru(a));                           \
    SAME(__bfloat162##type##_rz(x), (T)__float2ll_rz(a));                           \
    SAME(__##type##2bfloat16_rn((T)(threadIdx.x * 37)), narrow(threadIdx.x * 37));  \
    CHECK(wide(__##type##2bfloat16_rd((T)(threadIdx.x * 37))) <= threadIdx.x * 37); \
    CHECK(wide(__##type##2bfloat16_ru((T)(threadIdx.x * 37))) >= threadIdx.x * 37); \
    CHECK(wide(__##type##2bfloat16_rz((T)(threadIdx.x * 37))) <= threadIdx.x * 37);
    INTEGER(int, int)
    INTEGER(ll, long long)
    if (fabsf(a) < 32000) {
        INTEGER(short, short)
    }
    if (a >= 0) {
        INTEGER(uint, unsigned)
        INTEGER(ull, unsigned long long)
        if (a < 60000) {
            INTEGER(ushort, unsigned short)
        }
    }
    if (fabsf(a) < 100) SAME(__bfloat162char_rz(x), (signed char)a);
    if (a >= 0 && a < 200) SAME(__bfloat162uchar_rz(x), (unsigned char)a);
    SAME(Number((int)threadIdx.x), narrow(threadIdx.x));
    SAME((float)x, a);
    SAME((bool)x, a != 0);
    SAME((int)x, (int)a);
    SAME((unsigned long long)Number(7.75f), 7ull);
}

TEST(functions, 1, 64) {
    OPERANDS
    SAME(hceil(x), narrow(ceilf(a)));
    SAME(hfloor(x), narrow(floorf(a)));
    SAME(htrunc(x), narrow(truncf(a)));
    SAME(hrint(x), narrow(rintf(a)));
    BOTH1(h2ceil, hceil)
    BOTH1(h2floor, hfloor)
    BOTH1(h2trunc, htrunc)
    BOTH1(h2rint, hrint)
    const Number p = narrow(fabsf(a) + 0.125f), s = narrow(fminf(fmaxf(a, -4.0f), 4.0f));
    const float q = wide(p), t = wide(s);
    NEAR(wide(hsqrt(p)), sqrtf(q), 8e-3);
    NEAR(wide(hrsqrt(p)), rsqrtf(q), 8e-3);
    NEAR(wide(hrcp(p)), 1 / q, 8e-3);
    CHECK(fabsf(wide(hlog(p)) - logf(q)) < 1e-1f);
    CHECK(fabsf(wide(hlog2(p)) - log2f(q)) < 1e-1f);
    CHECK(fabsf(wide(hlog10(p)) - log10f(q)) < 1e-1f);
    NEAR(wide(hexp(s)), expf(t), 8e-3);
    NEAR(wide(hexp2(s)), exp2f(t), 8e-3);
    NEAR(wide(hexp10(s)), exp10f(t), 8e-3);
    CHECK(fabsf(wide(hsin(s)) - sinf(t)) < 1e-2f);
    CHECK(fabsf(wide(hcos(s)) - cosf(t)) < 1e-2f);
    CHECK(fabsf(wide(htanh(s)) - tanhf(t)) < 1e-2f);
    CHECK(fabsf(wide(htanh_approx(s)) - tanhf(t)) < 1e-2f);
    const Pair pp = pair(p, s), ss = pair(s, p);
    SAME(__low2bfloat16(h2sqrt(pp)), hsqrt(p));
    SAME(__low2bfloat16(h2rsqrt(pp)), hrsqrt(p));
    SAME(__low2bfloat16(h2rcp(pp)), hrcp(p));
    SAME(__low2bfloat16(h2log(pp)), hlog(p));
    SAME(__low2bfloat16(h2log2(pp)), hlog2(p));
    SAME(__low2bfloat16(h2log10(pp)), hlog10(p));
    SAME(__low2bfloat16(h2exp(ss)), hexp(s));
    SAME(__low2bfloat16(h2exp2(ss)), hexp2(s));
    SAME(__low2bfloat16(h2exp10(ss)), hexp10(s));
    SAME(__low2bfloat16(h2sin(ss)), hsin(s));
    SAME(__low2bfloat16(h2cos(ss)), hcos(s));
    SAME(__low2bfloat16(h2tanh(ss)), htanh(s));
    SAME(__low2bfloat16(h2tanh_approx(ss)), htanh_approx(s));
}

__device__ Number cells[128];
__device__ Pair pairs[64];

TEST(memory, 1, 64) {
    OPERANDS
    const unsigned i = threadIdx.x;
    __stcg(&cells[i], x), __stcs(&cells[i + 64], y), __stwt(&pairs[i], xx);
    __syncthreads();
    SAME(__ldcg(&cells[i]), x);
    SAME(__ldca(&cells[i + 64]), y);
    SAME(__ldcs(&pairs[i]), xx);
    SAME(__ldlu(&cells[i]), x);
    SAME(__ldcv(&pairs[i]), xx);
    SAME(__ldg(&pairs[i]), xx);
    __stwb(&cells[i], y), __stwb(&pairs[i], yy);
    SAME(__ldg(&cells[i + 64]), y);
}

TEST(warp, 1, 64) {
    OPERANDS
    const unsigned all = 0xffffffffu;
    SAME(__shfl_sync(all, x, 5), input((threadIdx.x & 32) + 5));
    SAME(__shfl_up_sync(all, x, 1), threadIdx.x % 32 ? input(threadIdx.x - 1) : x);
    SAME(__shfl_down_sync(all, x, 1), threadIdx.x % 32 < 31 ? input(threadIdx.x + 1) : x);
    SAME(__shfl_xor_sync(all, x, 3), input(threadIdx.x ^ 3));
    SAME(__shfl_xor_sync(all, xx, 3), pair(input(threadIdx.x ^ 3), input(63 - (threadIdx.x ^ 3))));
    SAME(__shfl_sync(all, xx, 5), pair(input((threadIdx.x & 32) + 5), input(63 - (threadIdx.x & 32) - 5)));
}

__device__ Number sum;
__device__ Pair both;

TEST(atomics, 1, 64) {
    if (threadIdx.x == 0) sum = narrow(0), both = pair(narrow(0), narrow(64));
    __syncthreads();
    const Number before = atomicAdd(&sum, narrow(2));
    CHECK(wide(before) >= 0 && wide(before) <= 126);
    atomicAdd(&both, pair(narrow(1), narrow(-1)));
    __syncthreads();
    SAME(sum, narrow(128));
    SAME(both, pair(narrow(64), narrow(0)));
}
