// Single-precision arithmetic in every rounding mode without touching the CPU's, so that loops stay SIMD loops; and the
// approximations.  Only IEEE operations in a fixed order: every SIMD level gives the same bits.
#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>

#include "machine/float_formats.h"
#include "machine/lanes.h"

namespace softcuda::SOFTCUDA_LEVEL {

inline uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
inline uint64_t bits_of(double x) { return std::bit_cast<uint64_t>(x); }
inline float float_of(uint32_t x) { return std::bit_cast<float>(x); }
inline double double_of(uint64_t x) { return std::bit_cast<double>(x); }

inline float canonical_nan() { return float_of(0x7fffffffu); }
inline float canonical(float x) { return x != x ? canonical_nan() : x; }
// A subnormal becomes a zero of its sign (.ftz).
inline float flush(float x) {
    uint32_t b = bits_of(x);
    return float_of((b & 0x7f800000u) ? b : b & 0x80000000u);
}
inline double flush(double x) {
    uint64_t b = bits_of(x);
    return double_of((b & 0x7ff0000000000000ull) ? b : b & 0x8000000000000000ull);
}
// A NaN made quiet, its sign and payload kept.
inline double quiet(double x) { return x != x ? double_of(bits_of(x) | 0x0008000000000000ull) : x; }
// If `nan` is one, then that, quiet: which of several NaNs becomes the result is the hardware's choice, as measured.
inline double prefer(double nan, double result) { return nan != nan ? quiet(nan) : result; }
// .sat: to [0, 1]; NaN and -0 give +0.
template <class T>
T saturate(T x) {
    return x > T(0) ? (x < T(1) ? x : T(1)) : T(0);
}

// The neighbour of s on e's side, if s is even and e is not zero: "round to odd".  What is odd in 53 bits rounds to 24 or
// fewer bits as the exact s + e would (Boldo, Melquiond 2008).
inline double to_odd(double s, double e) {
    uint64_t b = bits_of(s);
    uint64_t away = (e > 0) == (s > 0) ? uint64_t(1) : ~uint64_t(0);
    bool inexact = e > 0 || e < 0;  // not for NaN, which infinities make of e
    return double_of(inexact && !(b & 1) ? b + away : b);
}
// a + b with nothing lost that a float could see.
inline double add_odd(double a, double b) {
    double s = a + b, bb = s - a, e = (a - (s - bb)) + (b - bb);
    return to_odd(s, e);
}

template <Rounding R>
float narrow(double d) {
    float f = float(d);
    uint32_t b = bits_of(f), sign = b >> 31;
    double back = f;
    if constexpr (R == Rounding::rz) b -= std::fabs(back) > std::fabs(d);
    if constexpr (R == Rounding::rm) b += back > d ? (sign ? 1u : ~0u) : 0u;
    if constexpr (R == Rounding::rp) b += back < d ? (sign ? ~0u : 1u) : 0u;
    return float_of(b);
}
// An exact sum of zero is -0 when rounding down, unless both are +0.
template <Rounding R>
double sum(double a, double b) {
    double s = add_odd(a, b);
    if constexpr (R == Rounding::rm) s = s == 0 && ((bits_of(a) | bits_of(b)) >> 63) ? -0.0 : s;
    return s;
}

inline float fused(float a, float b, float c) {
#ifdef __FMA__
    return std::fma(a, b, c);
#else
    return float(add_odd(double(a) * double(b), double(c)));  // the product is exact in double
#endif
}

// `wide` is the result before its rounding to 24 bits, from which that rounding is right.
struct AddF {
    template <Rounding R>
    static float f32(float a, float b, float) {
        if constexpr (R == Rounding::rn) return a + b;
        return narrow<R>(sum<R>(a, b));
    }
    static double f64(double a, double b, double) { return prefer(b, a + b); }
};
struct SubF {
    template <Rounding R>
    static float f32(float a, float b, float) {
        return AddF::f32<R>(a, -b, 0);
    }
    static double f64(double a, double b, double) { return prefer(b, a - b); }
};
struct MulF {
    template <Rounding R>
    static float f32(float a, float b, float) {
        if constexpr (R == Rounding::rn) return a * b;
        return narrow<R>(wide<R>(a, b, 0));
    }
    template <Rounding R>
    static double wide(float a, float b, float) {
        return double(a) * double(b);
    }
    static double f64(double a, double b, double) { return prefer(b, a * b); }
};
struct FmaF {
    template <Rounding R>
    static float f32(float a, float b, float c) {
        if constexpr (R == Rounding::rn) return fused(a, b, c);
        return narrow<R>(wide<R>(a, b, c));
    }
    template <Rounding R>
    static double wide(float a, float b, float c) {
        return sum<R>(double(a) * double(b), c);
    }
    static double f64(double a, double b, double c) { return prefer(b, prefer(c, prefer(a, std::fma(a, b, c)))); }
};
// A quotient or root of floats is either a float or further from every float than double's rounding error.
struct DivF {
    template <Rounding R>
    static float f32(float a, float b, float) {
        if constexpr (R == Rounding::rn) return a / b;
        return narrow<R>(wide<R>(a, b, 0));
    }
    template <Rounding R>
    static double wide(float a, float b, float) {
        return double(a) / double(b);
    }
    static double f64(double a, double b, double) { return a / b; }
};
struct RcpF {
    template <Rounding R>
    static float f32(float a, float, float) {
        return DivF::f32<R>(1.0f, a, 0);
    }
    template <Rounding R>
    static double wide(float a, float, float) {
        return DivF::wide<R>(1.0f, a, 0);
    }
    static double f64(double a, double, double) { return 1.0 / a; }
};
struct SqrtF {
    template <Rounding R>
    static float f32(float a, float, float) {
        if constexpr (R == Rounding::rn) return std::sqrt(a);
        return narrow<R>(std::sqrt(double(a)));
    }
    static double f64(double a, double, double) { return std::sqrt(a); }
};

// --- approximations.  Nearest integer by adding and subtracting 1.5 * 2^(fraction bits), for small arguments.
inline float nearest(float x) {
    const float magic = 12582912.0f;
    return (x + magic) - magic;
}
inline double nearest(double x) {
    const double magic = 6755399441055744.0;
    return (x + magic) - magic;
}

// 2^x, relative error below 2^-22.5 over the full range.
inline float exp2_approx(float x) {
    float bounded = x > 130.0f ? 130.0f : (x < -160.0f ? -160.0f : x);
    bounded = bounded == bounded ? bounded : 0.0f;
    float n = nearest(bounded), f = bounded - n;  // |f| <= 1/2, exact
    float p = 1.52527338e-5f;                     // ln(2)^k / k!
    p = p * f + 1.54035304e-4f;
    p = p * f + 1.33335581e-3f;
    p = p * f + 9.61812911e-3f;
    p = p * f + 5.55041087e-2f;
    p = p * f + 2.40226507e-1f;
    p = p * f + 6.93147181e-1f;
    p = p * f + 1.0f;
    int32_t k = int32_t(n), half = k >> 1;  // two steps, so that subnormal results are reached
    float result = (p * float_of(uint32_t(half + 127) << 23)) * float_of(uint32_t(k - half + 127) << 23);
    return x == x ? result : canonical_nan();
}

// log2(x) by way of double: half a float ulp and a little.
inline float log2_approx(float x) {
    double wide = x;  // subnormals are normal here
    uint64_t b = bits_of(wide);
    int32_t exponent = int32_t((b >> 52) & 0x7ff) - 1023;
    double m = double_of((b & 0x000fffffffffffffull) | 0x3ff0000000000000ull);
    bool upper = m > 1.4142135623730951;
    m = upper ? m * 0.5 : m;
    double e = double(upper ? exponent + 1 : exponent);
    double s = (m - 1) / (m + 1), z = s * s;  // log2 m = 2/ln2 * (s + s^3/3 + s^5/5 …)
    double p = 1.0 / 13;
    p = p * z + 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z + 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z + 1.0 / 3;
    p = p * z + 1.0;
    float result = float(e + p * s * 2.8853900817779268);
    result = x == float_of(0x7f800000u) ? x : result;
    result = x == 0 ? -float_of(0x7f800000u) : result;
    return x >= 0 ? result : canonical_nan();
}

// sin and cos: turns in double, then a polynomial on an eighth of a turn to each side.  Beyond 2^31 nothing is promised.
inline float sin_cos_approx(float x, int quarter) {  // quarter 0: sin, 1: cos
    double turns = double(x) * 0.15915494309189535;
    turns = std::fabs(x) < 2147483648.0f ? turns : 0.0;
    turns -= nearest(turns);
    double quarters = nearest(turns * 4), y = (turns - quarters * 0.25) * 6.283185307179586, z = y * y;
    double s = -1.0 / 39916800;
    s = s * z + 1.0 / 362880;
    s = s * z - 1.0 / 5040;
    s = s * z + 1.0 / 120;
    s = s * z - 1.0 / 6;
    s = y * (s * z + 1.0);  // keeps the sign of zero
    double c = -1.0 / 3628800;
    c = c * z + 1.0 / 40320;
    c = c * z - 1.0 / 720;
    c = c * z + 1.0 / 24;
    c = c * z - 0.5;
    c = c * z + 1.0;
    int32_t q = int32_t(quarters) + quarter;
    double value = q & 1 ? c : s;
    value = q & 2 ? -value : value;
    return x - x == 0 ? float(value) : canonical_nan();
}

// Relative error below 2^-17 (published: 2^-11).
inline float tanh_approx(float x) {
    float a = std::fabs(x), z = x * x;
    float small = a - a * z * (0.33333333f - z * 0.13333333f);
    float e = exp2_approx(a * 2.88539008f);
    float large = 1.0f - 2.0f / (e + 1.0f);
    float magnitude = a < 0.0625f ? small : large;
    return x == x ? float_of(bits_of(magnitude) | (bits_of(x) & 0x80000000u)) : canonical_nan();
}

// --- min and max: a NaN loses against a number (unless .NaN); -0 is below +0.
template <class T, bool maximum>
T pick_extreme(T a, T b) {
    auto x = bits_of(a), y = bits_of(b);
    auto tie = maximum ? x & y : x | y, ordered = (maximum ? a > b : a < b) ? x : y;  // as bits: it vectorises
    auto result = a == b ? tie : ordered;
    result = a != a ? y : result;
    return std::bit_cast<T>(b != b ? x : result);
}

}  // namespace softcuda::SOFTCUDA_LEVEL
