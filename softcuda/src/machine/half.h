// Rows of f16 and bf16 values, widened to float and rounded back.
#pragma once

#include "machine/float_rounding.h"
#include "machine/lanes.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace softcuda::SOFTCUDA_LEVEL {

// float -> nearest of a narrower format, ties to even, in integers; NaN gives 0x7fff.
inline uint16_t to_bf16(float x) {
    uint32_t b = bits_of(x);
    uint32_t rounded = (b + 0x7fffu + ((b >> 16) & 1)) >> 16;
    return uint16_t(x != x ? 0x7fffu : rounded);
}
inline float from_bf16(uint16_t h) { return float_of(uint32_t(h) << 16); }

inline uint16_t to_f16(float x) {
    uint32_t b = bits_of(x), sign = (b >> 16) & 0x8000u, m = b & 0x7fffffffu;
    uint32_t normal = (m - (112u << 23) + 0xfffu + ((m >> 13) & 1)) >> 13;
    // Below 2^-14: adding 0.5 leaves the value, rounded to 2^-24, in the low bits.
    uint32_t small = bits_of(float_of(m) + 0.5f) - bits_of(0.5f);
    uint32_t h = m < 0x38800000u ? small : normal;
    h = m >= 0x477ff000u ? 0x7c00u : h;
    return uint16_t(m > 0x7f800000u ? 0x7fffu : h | sign);
}
inline float from_f16(uint16_t h) {
    uint32_t sign = uint32_t(h & 0x8000u) << 16, m = h & 0x7fffu;
    uint32_t normal = (m << 13) + (112u << 23);
    normal = m >= 0x7c00u ? normal + (112u << 23) : normal;
    float small = float(int32_t(m)) * 0x1p-24f;
    return float_of((m < 0x400u ? bits_of(small) : normal) | sign);
}

struct F16 {
    static constexpr uint16_t infinity = 0x7c00, one = 0x3c00;
    static constexpr float least_normal = 0x1p-14f;
    static void widen(const uint16_t* h, float* f, int n) {
#ifdef __F16C__
        for (int i = 0; i < n; i += 8)
            _mm256_storeu_ps(f + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(h + i))));
#else
        for (int i = 0; i < n; ++i) f[i] = from_f16(h[i]);
#endif
    }
    static void round(const float* f, uint16_t* h, int n) {
#ifdef __F16C__
        for (int i = 0; i < n; i += 8) {
            __m256 x = _mm256_loadu_ps(f + i);
            __m128i bits = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(h + i), bits);
        }
        for (int i = 0; i < n; ++i) h[i] = uint16_t((h[i] & 0x7fff) > infinity ? 0x7fff : h[i]);
#else
        for (int i = 0; i < n; ++i) h[i] = to_f16(f[i]);
#endif
    }
};
struct BF16 {
    static constexpr uint16_t infinity = 0x7f80, one = 0x3f80;
    static constexpr float least_normal = 0x1p-126f;
    static void widen(const uint16_t* h, float* f, int n) {
        for (int i = 0; i < n; ++i) f[i] = from_bf16(h[i]);
    }
    static void round(const float* f, uint16_t* h, int n) {
        for (int i = 0; i < n; ++i) h[i] = to_bf16(f[i]);
    }
};

// a * b + c rounded to odd in float: correct after a second rounding to f16 or bf16.  Through double, since a product of
// bf16 values need not fit a float.
inline float fused_odd(float a, float b, float c) {
    double exact = add_odd(double(a) * double(b), double(c));
    float f = narrow<Rounding::rz>(exact);
    return float_of(bits_of(f) | uint32_t(double(f) != exact && f - f == 0));
}

}  // namespace softcuda::SOFTCUDA_LEVEL
