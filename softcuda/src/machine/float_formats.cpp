#include "machine/float_formats.h"

#include <bit>

namespace softcuda {
namespace {

// significand >> drop (drop may exceed 64), rounded.
uint64_t shift_rounding(uint64_t significand, int drop, bool negative, Rounding rounding) {
    if (drop <= 0) return significand << -drop;
    uint64_t kept = drop >= 64 ? 0 : significand >> drop;
    bool half = drop <= 64 && (significand >> (drop - 1)) & 1;
    uint64_t below = drop > 64 ? significand : significand & ((uint64_t(1) << (drop - 1)) - 1);
    bool inexact = half || below;
    switch (rounding) {
        case Rounding::rn: return kept + (half && (below || (kept & 1)));
        case Rounding::rna: return kept + half;
        case Rounding::rz: return kept;
        case Rounding::rm: return kept + (inexact && negative);
        case Rounding::rp: return kept + (inexact && !negative);
    }
    return kept;
}

}  // namespace

uint64_t Format::nan() const {
    if (kind == Kind::finite) return top();
    if (exponent_bits == 11) return 0x7ff8000000000000ull;
    return top();
}

Exact unpack(const Format& format, uint64_t bits) {
    Exact value;
    value.negative = (bits >> format.sign_bit()) & 1;
    uint64_t magnitude = bits & format.top();
    if (format.kind == Format::Kind::ieee && magnitude >= format.infinity()) {
        value.kind = magnitude == format.infinity() ? Exact::Kind::infinity : Exact::Kind::nan;
        return value;
    }
    if (format.kind == Format::Kind::finite_nan && magnitude == format.top()) {
        value.kind = Exact::Kind::nan;
        return value;
    }
    int exponent = int(magnitude >> format.fraction_bits);
    value.significand = magnitude & ((uint64_t(1) << format.fraction_bits) - 1);
    if (exponent)
        value.significand |= uint64_t(1) << format.fraction_bits;
    else
        exponent = 1;
    value.exponent = exponent - format.bias() - format.fraction_bits;
    return value;
}

uint64_t pack(const Format& format, const Exact& value, Rounding rounding, bool finite) {
    if (value.kind == Exact::Kind::nan) return format.nan();
    uint64_t sign = uint64_t(value.negative) << format.sign_bit();
    bool has_infinity = format.kind == Format::Kind::ieee;
    uint64_t beyond = finite || format.kind == Format::Kind::finite ? format.largest()
                      : has_infinity                                ? format.infinity()
                                                                    : format.top();  // e4m3 overflows to NaN
    if (value.kind == Exact::Kind::infinity) return sign | beyond;
    if (value.significand == 0) return sign;
    int zeros = std::countl_zero(value.significand);
    uint64_t significand = value.significand << zeros;  // the leading one is bit 63 …
    int exponent = value.exponent - zeros + 63;         // … and is worth 2^exponent
    int lowest = 1 - format.bias();
    int drop = 63 - format.fraction_bits + (exponent < lowest ? lowest - exponent : 0);
    uint64_t rounded = shift_rounding(significand, drop, value.negative, rounding);
    // A carry out of the fraction moves on into the exponent field by itself.
    uint64_t magnitude = rounded;
    if (exponent >= lowest) {
        if (exponent > format.bias() + 1) exponent = format.bias() + 2;  // far too large: keep the arithmetic in range
        magnitude += uint64_t(exponent + format.bias() - 1) << format.fraction_bits;
    }
    if (magnitude > format.largest()) {
        bool stays = rounding == Rounding::rz || (rounding == Rounding::rm && !value.negative) ||
                     (rounding == Rounding::rp && value.negative);
        magnitude = stays ? format.largest() : beyond;
    }
    return sign | magnitude;
}

Exact to_integral(const Exact& value, Rounding rounding) {
    if (value.kind != Exact::Kind::number || value.exponent >= 0) return value;
    Exact result = value;
    result.significand = shift_rounding(value.significand, -value.exponent, value.negative, rounding);
    result.exponent = 0;
    return result;
}

uint64_t to_integer(const Exact& value, Rounding rounding, int bits, bool is_signed) {
    uint64_t all = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
    uint64_t up = is_signed ? all >> 1 : all, down = is_signed ? (all >> 1) + 1 : 0;  // magnitudes of the ends
    uint64_t limit = value.negative ? down : up, magnitude = limit;
    Exact whole = to_integral(value, rounding);
    if (whole.kind == Exact::Kind::number) {
        int room = std::countl_zero(whole.significand);
        if (whole.significand == 0)
            magnitude = 0;
        else if (whole.exponent <= room)
            magnitude = whole.significand << whole.exponent;
    }
    if (magnitude > limit) magnitude = limit;
    return value.negative ? 0 - magnitude : magnitude;
}

}  // namespace softcuda
