// Arithmetic with a rounding mode in its name, and conversions: each mode against the other's neighbours.
#include "check.h"

template <class T>
__device__ T input(unsigned i) {
    const T corner[] = {T(0), T(-0.0), T(1), T(-1.5), T(0.1), T(1e30), T(-3e-30), T(16777217)};
    return i < 8 ? corner[i] : T(int(i * 2654435761u)) * T(1.0 / 8192) / T(int(i) - 20 + (i == 20));
}

// Down, up, towards zero and nearest bracket one another; where all agree the result was exact.
template <class T>
__device__ void bracket(unsigned line, T down, T up, T zero, T nearest) {
    record(line, down <= up, bits_of(down), bits_of(up));
    record(line, zero == (up <= 0 ? up : down) || down == up, bits_of(zero), bits_of(down));
    record(line, nearest == down || nearest == up, bits_of(nearest), bits_of(up));
    const unsigned long long a = bits_of(down), b = bits_of(up);
    record(line, a == b || a + 1 == b || b + 1 == a || down == -up || down == 0 || up == 0, a, b);
}

#define BRACKET(name, ...) \
    bracket(__LINE__, name##_rd(__VA_ARGS__), name##_ru(__VA_ARGS__), name##_rz(__VA_ARGS__), name##_rn(__VA_ARGS__))

TEST(single, 1, 64) {
    const float x = hide(input<float>(threadIdx.x)), y = hide(input<float>(63 - threadIdx.x)),
                z = hide(input<float>(threadIdx.x / 2));
    BRACKET(__fadd, x, y);
    BRACKET(__fsub, x, y);
    BRACKET(__fmul, x, y);
    BRACKET(__fmaf, x, y, z);
    if (y != 0) BRACKET(__fdiv, x, y);
    if (y != 0) BRACKET(__frcp, y);
    BRACKET(__fsqrt, fabsf(x));
    if (x != 0) NEAR(__frsqrt_rn(fabsf(x)), 1 / sqrt((double)fabsf(x)), 1e-7);
    SAME(__fadd_rn(x, y), x + y);
    SAME(__fmul_rn(x, y), float((double)x * y));
    SAME(__fmaf_ieee_rn(x, y, z), fmaf(x, y, z));
    SAME(__fmaf_ieee_rd(x, y, z), __fmaf_rd(x, y, z));
    SAME(__fmaf_ieee_ru(x, y, z), __fmaf_ru(x, y, z));
    SAME(__fmaf_ieee_rz(x, y, z), __fmaf_rz(x, y, z));
    SAME(__saturatef(x), x > 0 ? x < 1 ? x : 1.0f : 0.0f);
}

TEST(twice, 1, 64) {
    const double x = hide(input<double>(threadIdx.x)), y = hide(input<double>(63 - threadIdx.x)),
                 z = hide(input<double>(threadIdx.x / 2));
    BRACKET(__dadd, x, y);
    BRACKET(__dsub, x, y);
    BRACKET(__dmul, x, y);
    BRACKET(__fma, x, y, z);
    if (y != 0) BRACKET(__ddiv, x, y);
    if (y != 0) BRACKET(__drcp, y);
    BRACKET(__dsqrt, fabs(x));
    BRACKET(__double2float, x);
    SAME(__dadd_rn(x, y), x + y);
}

#define INTEGER(name, T, function, x)          \
    SAME(name##_rd(x), (T)floor((double)(x))); \
    SAME(name##_ru(x), (T)ceil((double)(x)));  \
    SAME(name##_rz(x), (T)trunc((double)(x))); \
    SAME(name##_rn(x), (T)rint((double)(x)));

TEST(to_integers, 1, 64) {
    const float x = hide((int(threadIdx.x) - 31) * 12345.375f), p = fabsf(x);
    const double y = hide((int(threadIdx.x) - 31) * 1234567.5), q = fabs(y);
    INTEGER(__float2int, int, , x)
    INTEGER(__float2uint, unsigned, , p)
    INTEGER(__float2ll, long long, , x)
    INTEGER(__float2ull, unsigned long long, , p)
    INTEGER(__double2int, int, , y)
    INTEGER(__double2uint, unsigned, , q)
    INTEGER(__double2ll, long long, , y)
    INTEGER(__double2ull, unsigned long long, , q)
    SAME(__float2int_rz(hide(3e9f)), 0x7fffffff);
    SAME(__float2int_rz(hide(-3e9f)), int(0x80000000));
    SAME(__float2uint_rz(hide(-1.0f)), 0u);
    SAME(__float2int_rn(__int_as_float(hide(0x7fc00000))), 0);
    SAME((unsigned char)hide(200.7f), 200);
    SAME((short)hide(-300.7f), -300);
    SAME((signed char)hide(-100.7), -100);
    SAME((bool)hide(0.001f), true);
}

TEST(from_integers, 1, 64) {
    const int i = hide(int(threadIdx.x * 0x9e3779b9u));
    const long long l = hide((long long)(threadIdx.x * 0x9e3779b97f4a7c15ull));
    BRACKET(__int2float, i);
    BRACKET(__uint2float, (unsigned)i);
    BRACKET(__ll2float, l);
    BRACKET(__ull2float, (unsigned long long)l);
    BRACKET(__ll2double, l);
    BRACKET(__ull2double, (unsigned long long)l);
    SAME(__int2double_rn(i), (double)i);
    SAME(__uint2double_rn(unsigned(i)), (double)unsigned(i));
    SAME((long long)__int2double_rn(i), (long long)i);
    SAME((float)(short)i, __int2float_rn((int)(short)i));
    SAME((double)(unsigned char)i, (double)(i & 255));
    SAME((float)(signed char)i, (float)(int)(signed char)i);
}

TEST(bit_patterns, 1, 64) {
    const double d = hide(input<double>(threadIdx.x));
    const float f = hide(input<float>(threadIdx.x));
    SAME(__hiloint2double(__double2hiint(d), __double2loint(d)), d);
    SAME(__longlong_as_double(__double_as_longlong(d)), d);
    SAME(__int_as_float(__float_as_int(f)), f);
    SAME(__uint_as_float(__float_as_uint(f) ^ 0x80000000), -f);
    SAME((double)f, f < 0 ? -(double)-f : (double)f);
}
