// Floating-point formats by their numbers, and rounding between them with nothing lost: the slow, exact road for every
// conversion that is not common enough for a SIMD loop.
#pragma once

#include <cstdint>

namespace softcuda {

enum class Rounding : uint8_t { rn, rz, rm, rp, rna };  // nearest even, to zero, down, up, nearest with ties away

struct Format {
    enum class Kind : uint8_t {
        ieee,        // infinities and NaNs on the top exponent
        finite_nan,  // e4m3: no infinity; all ones is NaN
        finite,      // e2m1, e2m3, e3m2: neither
    };
    int exponent_bits, fraction_bits;
    Kind kind = Kind::ieee;

    constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
    constexpr int sign_bit() const { return exponent_bits + fraction_bits; }
    constexpr uint64_t top() const { return (uint64_t(1) << sign_bit()) - 1; }  // everything but the sign
    constexpr uint64_t infinity() const { return top() - ((uint64_t(1) << fraction_bits) - 1); }
    constexpr uint64_t largest() const {
        return kind == Kind::ieee ? infinity() - 1 : kind == Kind::finite_nan ? top() - 1 : top();
    }
    uint64_t nan() const;  // NVIDIA's canonical NaN; for formats without one, the largest value
};

namespace formats {
inline constexpr Format f64{11, 52}, f32{8, 23}, tf32{8, 10}, f16{5, 10}, bf16{8, 7};
inline constexpr Format e5m2{5, 2}, e4m3{4, 3, Format::Kind::finite_nan};
inline constexpr Format e3m2{3, 2, Format::Kind::finite}, e2m3{2, 3, Format::Kind::finite},
    e2m1{2, 1, Format::Kind::finite};
}  // namespace formats

// (-1)^negative * significand * 2^exponent; significand 0 is zero.
struct Exact {
    enum class Kind : uint8_t { number, infinity, nan } kind = Kind::number;
    bool negative = false;
    uint64_t significand = 0;
    int exponent = 0;

    static Exact of_unsigned(uint64_t value) { return {Kind::number, false, value, 0}; }
    static Exact of_signed(int64_t value) {
        return {Kind::number, value < 0, value < 0 ? 0 - uint64_t(value) : uint64_t(value), 0};
    }
};

Exact unpack(const Format& format, uint64_t bits);
// `finite`: what overflows, infinities included, becomes the largest value (.satfinite).
uint64_t pack(const Format& format, const Exact& value, Rounding rounding, bool finite = false);

// To an integer of 8 to 64 bits, clamped to its range; the caller decides what NaN gives.
uint64_t to_integer(const Exact& value, Rounding rounding, int bits, bool is_signed);
// To an integer in floating point (cvt.rni.f32.f32); keeps the sign of zero.
Exact to_integral(const Exact& value, Rounding rounding);

}  // namespace softcuda
