// Floats of eight, six and four bits: the conversions of cuda_fp8.h, cuda_fp6.h and cuda_fp4.h.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#if __has_include(<cuda_fp6.h>)
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#define SIX_AND_FOUR
#endif

#include "check.h"

// The value of a float of `exponent` and `fraction` bits; infinities and NaN are the caller's business.
__device__ float value(unsigned bits, int exponent, int fraction, int bias) {
    const int e = bits >> fraction & ((1 << exponent) - 1), f = bits & ((1 << fraction) - 1);
    const float size =
        e ? ldexpf(float(f | 1 << fraction), e - bias - fraction) : ldexpf(float(f), 1 - bias - fraction);
    return bits >> (exponent + fraction) & 1 ? -size : size;
}

TEST(e4m3, 1, 256) {
    const unsigned bits = threadIdx.x;
    __nv_fp8_e4m3 x;
    x.__x = (__nv_fp8_storage_t)hide(bits);
    if ((bits & 127) == 127) {
        CHECK(isnan(float(x)));
        return;
    }
    const float f = value(bits, 4, 3, 7);
    SAME(float(x), f);
    SAME(__half(x), __float2half_rn(f));
    SAME(double(x), double(f));
    SAME(__nv_fp8_e4m3(f).__x, bits);
    SAME(__nv_fp8_e4m3(double(f)).__x, bits);
    SAME(__nv_fp8_e4m3(__float2half_rn(f)).__x, bits);
    SAME(__nv_fp8_e4m3(__float2bfloat16_rn(f)).__x, bits);
    SAME(__nv_fp8_e4m3(hide(1e6f)).__x, 0x7e);
    SAME(__nv_cvt_float_to_fp8(hide(-1e6f), __NV_SATFINITE, __NV_E4M3), 0xfe);
    SAME(__nv_cvt_float_to_fp8(hide(-1e6f), __NV_NOSAT, __NV_E4M3), 0xff);
    SAME(int(x), int(f));
}

TEST(e5m2, 1, 256) {
    const unsigned bits = threadIdx.x;
    __nv_fp8_e5m2 x;
    x.__x = (__nv_fp8_storage_t)hide(bits);
    if ((bits & 127) >= 124) {
        CHECK((bits & 127) == 124 ? isinf(float(x)) : isnan(float(x)));
        return;
    }
    const float f = value(bits, 5, 2, 15);
    SAME(float(x), f);
    SAME(__half(x), __float2half_rn(f));
    SAME(__nv_fp8_e5m2(f).__x, bits);
    SAME(__nv_fp8_e5m2(double(f)).__x, bits);
    SAME(__nv_fp8_e5m2(__float2half_rn(f)).__x, bits);
    SAME(__nv_fp8_e5m2(__float2bfloat16_rn(f)).__x, bits);
    SAME(__nv_fp8_e5m2(hide(1e6f)).__x, 0x7b);
    SAME(__nv_cvt_float_to_fp8(hide(1e6f), __NV_NOSAT, __NV_E5M2), 0x7c);
}

__device__ float2 pair_of(__nv_fp8x2_e4m3 x) { return static_cast<float2>(x); }
__device__ float4 four_of(__nv_fp8x4_e4m3 x) { return static_cast<float4>(x); }

TEST(pairs, 1, 64) {
    const float a = hide(threadIdx.x * 0.375f - 12), b = hide(40.0f - threadIdx.x);
    const __nv_fp8x2_e4m3 p(make_float2(a, b));
    SAME(p.__x & 255, __nv_fp8_e4m3(a).__x);
    SAME(p.__x >> 8, __nv_fp8_e4m3(b).__x);
    SAME(pair_of(p).y, float(__nv_fp8_e4m3(b)));
    SAME(__nv_fp8x2_e5m2(make_float2(a, b)).__x, __nv_fp8_e5m2(a).__x | __nv_fp8_e5m2(b).__x << 8);
    SAME(__nv_fp8x2_e4m3(__floats2half2_rn(a, b)).__x, p.__x);
    SAME(__nv_fp8x2_e5m2(__floats2half2_rn(a, b)).__x, __nv_fp8x2_e5m2(make_float2(a, b)).__x);
    SAME(static_cast<__half2>(p), __floats2half2_rn(pair_of(p).x, pair_of(p).y));
    const __nv_fp8x4_e4m3 four(make_float4(a, b, -a, -b));
    SAME(four.__x & 0xffff, p.__x);
    SAME(four_of(four).w, -pair_of(p).y);
}

TEST(powers_of_two, 1, 64) {
#if defined(__CUDA_FP8_TYPES_EXIST__) && defined(SIX_AND_FOUR)
    const __nv_fp8_e8m0 x(hide(ldexpf(1.0f, int(threadIdx.x) - 30)));
    SAME(x.__x, threadIdx.x + 97);
    SAME(float(x), ldexpf(1.0f, int(threadIdx.x) - 30));
#endif
    CHECK(true);
}

TEST(six_bits, 1, 64) {
#ifdef SIX_AND_FOUR
    const unsigned bits = threadIdx.x;
    const float e3m2 = value(bits, 3, 2, 3), e2m3 = value(bits, 2, 3, 1);
    __nv_fp6_e3m2 x;
    x.__x = hide(bits);
    SAME(float(x), e3m2);
    SAME(__nv_fp6_e3m2(e3m2).__x, bits);
    SAME(__nv_fp6_e3m2(__float2half_rn(e3m2)).__x, bits);
    __nv_fp6_e2m3 y;
    y.__x = hide(bits);
    SAME(float(y), e2m3);
    SAME(__nv_fp6_e2m3(e2m3).__x, bits);
    SAME(__nv_fp6_e2m3(double(e2m3)).__x, bits);
    SAME(__nv_fp6_e2m3(hide(100.0f)).__x, 31);
    SAME(__nv_fp6x2_e2m3(make_float2(e2m3, -e2m3)).__x, bits | (bits ^ 32) << 8);
    SAME(__nv_fp6x2_e3m2(make_float2(e3m2, -e3m2)).__x, bits | (bits ^ 32) << 8);
#endif
    CHECK(true);
}

TEST(four_bits, 1, 16) {
#ifdef SIX_AND_FOUR
    const unsigned bits = threadIdx.x;
    const float e2m1 = value(bits, 2, 1, 1);
    __nv_fp4_e2m1 x;
    x.__x = hide(bits);
    SAME(float(x), e2m1);
    SAME(__half(x), __float2half_rn(e2m1));
    SAME(__nv_fp4_e2m1(e2m1).__x, bits);
    SAME(__nv_fp4_e2m1(__float2bfloat16_rn(e2m1)).__x, bits);
    SAME(__nv_fp4_e2m1(hide(100.0f)).__x, 7);
    SAME(__nv_fp4x2_e2m1(make_float2(e2m1, -e2m1)).__x, bits | (bits ^ 8) << 4);
    SAME(__nv_fp4x2_e2m1(__floats2half2_rn(e2m1, -e2m1)).__x, bits | (bits ^ 8) << 4);
#endif
    CHECK(true);
}
