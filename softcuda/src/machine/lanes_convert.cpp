// cvt: between all integer and floating-point types.
//
// Common pairs have SIMD loops (fast_exec); everything else takes the exact road of float_formats.h, one lane at a time.
#include <limits>
#include <string>

#include "machine/families.h"
#include "machine/half.h"
#include "machine/operations.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

// A type that cvt knows: an integer, or a floating-point format, alone or two in a register.
struct Kind {
    std::string_view name;
    Type reg;  // what a register holding it is declared as
    int bits;  // of one element
    bool is_signed, is_float;
    const Format* format;
    int parts;
};
constexpr Kind kinds[] = {
    {"u8", Type::u8, 8, false, false, nullptr, 1},
    {"s8", Type::s8, 8, true, false, nullptr, 1},
    {"u16", Type::u16, 16, false, false, nullptr, 1},
    {"s16", Type::s16, 16, true, false, nullptr, 1},
    {"u32", Type::u32, 32, false, false, nullptr, 1},
    {"s32", Type::s32, 32, true, false, nullptr, 1},
    {"u64", Type::u64, 64, false, false, nullptr, 1},
    {"s64", Type::s64, 64, true, false, nullptr, 1},
    {"f16", Type::f16, 16, true, true, &formats::f16, 1},
    {"bf16", Type::bf16, 16, true, true, &formats::bf16, 1},
    {"f32", Type::f32, 32, true, true, &formats::f32, 1},
    {"f64", Type::f64, 64, true, true, &formats::f64, 1},
    {"tf32", Type::b32, 32, true, true, &formats::tf32, 1},
    {"f16x2", Type::b32, 16, true, true, &formats::f16, 2},
    {"bf16x2", Type::b32, 16, true, true, &formats::bf16, 2},
    {"e4m3x2", Type::b16, 8, true, true, &formats::e4m3, 2},
    {"e5m2x2", Type::b16, 8, true, true, &formats::e5m2, 2},
    {"e2m3x2", Type::b16, 8, true, true, &formats::e2m3, 2},
    {"e3m2x2", Type::b16, 8, true, true, &formats::e3m2, 2},
    {"e2m1x2", Type::b8, 4, true, true, &formats::e2m1, 2},
};
const Kind* find_kind(std::string_view name) {
    for (const Kind& kind : kinds)
        if (kind.name == name) return &kind;
    return nullptr;
}
bool is(const Kind& kind, std::string_view name) { return kind.name == name; }

struct Conversion {
    const Kind *to, *from;
    Rounding rounding = Rounding::rn;
    bool integral = false;  // .rni and so on
    bool ftz = false, saturate = false, relu = false, finite = false;
    uint8_t to_bytes = 0, from_bytes = 0;  // of the registers' elements
};

// --- the exact road
uint64_t read_element(Warp& warp, uint32_t row, int bytes, int lane) {
    switch (bytes) {
        case 2: return warp.row<uint16_t>(row)[lane];
        case 4: return warp.row<uint32_t>(row)[lane];
        default: return warp.row<uint64_t>(row)[lane];
    }
}
void write_element(Warp& warp, uint32_t row, int bytes, int lane, uint64_t value) {
    switch (bytes) {
        case 2: warp.row<uint16_t>(row)[lane] = uint16_t(value); return;
        case 4: warp.row<uint32_t>(row)[lane] = uint32_t(value); return;
        default: warp.row<uint64_t>(row)[lane] = value;
    }
}
uint64_t extend(uint64_t value, int bits, bool is_signed) {
    int spare = 64 - bits;
    return is_signed ? uint64_t(int64_t(value << spare) >> spare) : (value << spare) >> spare;
}
bool is_subnormal(const Format& format, uint64_t bits) {
    return (bits & format.top()) < (uint64_t(1) << format.fraction_bits);
}
Exact read_exact(const Kind& kind, uint64_t bits, bool ftz) {
    if (!kind.is_float) {
        uint64_t value = extend(bits, kind.bits, kind.is_signed);
        return kind.is_signed ? Exact::of_signed(int64_t(value)) : Exact::of_unsigned(value);
    }
    Exact value = unpack(*kind.format, bits);
    if (ftz && kind.format == &formats::f32 && is_subnormal(*kind.format, bits)) value.significand = 0;
    return value;
}
// NaN from f64 and to f64 keeps its sign and what fits of its payload, and becomes quiet; with .ftz an f32's is canonical.
uint64_t convert_nan(const Conversion& how, uint64_t bits) {
    const Format &to = *how.to->format, &from = *how.from->format;
    if (how.ftz && &from == &formats::f32) return 0x7fffffffe0000000u;
    const uint64_t payload = bits & ((uint64_t(1) << from.fraction_bits) - 1);
    const int shift = to.fraction_bits - from.fraction_bits;
    const uint64_t negative = (bits >> from.sign_bit()) & 1, quiet = uint64_t(1) << (to.fraction_bits - 1);
    return negative << to.sign_bit() | to.infinity() | quiet | (shift >= 0 ? payload << shift : payload >> -shift);
}
// NaN to tf32, as measured: .rna cuts it like a number, with .satfinite one step lower; the other roundings know one NaN.
uint32_t tf32_nan(const Conversion& how, uint32_t bits) {
    if (how.rounding != Rounding::rna) return 0x7fffe000u;
    return (bits & 0xffffe000u) - (how.finite ? 0x2000u : 0u);
}
uint64_t convert_element(const Conversion& how, uint64_t bits) {
    const Kind &to = *how.to, &from = *how.from;
    Exact value = read_exact(from, bits, how.ftz);
    if (!to.is_float) {
        if (from.is_float && value.kind == Exact::Kind::nan)
            // PTX: 0, but the indefinite integer where f64 or 64 bits are involved.
            return from.bits == 64 || to.bits == 64 ? extend(uint64_t(1) << (to.bits - 1), to.bits, to.is_signed) : 0;
        uint64_t result = from.is_float || how.saturate ? to_integer(value, how.rounding, to.bits, to.is_signed) : bits;
        if (!from.is_float && !how.saturate) result = extend(bits, from.bits, from.is_signed);
        return extend(result, to.bits, to.is_signed);
    }
    bool nan = value.kind == Exact::Kind::nan;
    if (nan && to.format == &formats::tf32) return tf32_nan(how, uint32_t(bits));
    if (nan && !how.saturate && (is(to, "f64") || is(from, "f64"))) return convert_nan(how, bits);
    if (how.integral) value = to_integral(value, how.rounding);
    if ((how.saturate && (nan || value.negative)) || (how.relu && !nan && value.negative)) value = Exact{};
    uint64_t result = pack(*to.format, value, how.rounding, how.finite);
    if (how.saturate && result > uint64_t(to.format->bias()) << to.format->fraction_bits)
        result = uint64_t(to.format->bias()) << to.format->fraction_bits;  // 1.0
    if (how.ftz && to.format == &formats::f32 && is_subnormal(*to.format, result)) result &= uint64_t(1) << 31;
    if (to.format == &formats::tf32) result <<= 13;
    return result;
}
void run_exact(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& how = *static_cast<const Conversion*>(op.extra);
    each_active(lanes, [&](int i) {
        write_element(warp, op.dst, how.to_bytes, i, convert_element(how, read_element(warp, op.a, how.from_bytes, i)));
    });
}
// Two elements: from two registers (the first operand becomes the upper half) or from one.
void run_exact_pair(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& how = *static_cast<const Conversion*>(op.extra);
    const int width = how.to->bits;
    const uint64_t field = (uint64_t(1) << width) - 1, from_field = (uint64_t(1) << how.from->bits) - 1;
    each_active(lanes, [&](int i) {
        uint64_t upper = read_element(warp, op.a, how.from_bytes, i), lower;
        if (how.from->parts == 2)
            lower = upper & from_field, upper = (upper >> how.from->bits) & from_field;
        else
            lower = read_element(warp, op.b, how.from_bytes, i);
        upper = convert_element(how, upper) & field, lower = convert_element(how, lower) & field;
        write_element(warp, op.dst, how.to_bytes, i, upper << width | lower);
    });
}

// --- fast loops
// Integer to integer: cut to the narrower of both types, then extend; shifts are the same for all lanes.
// small: spare bits of the source in its register, is it signed, spare bits of the result in its register, is it signed.
template <class From, class To>
void run_integers(Warp& warp, const Op& op, uint32_t lanes) {
    using SignedFrom = std::make_signed_t<From>;
    using SignedTo = std::make_signed_t<To>;
    const int in = op.small[0], out = op.small[2];
    const bool in_signed = op.small[1], out_signed = op.small[3];
    const From in_mask = From(From(~From(0)) >> in);
    const From in_sign = in_signed ? From(From(1) << (sizeof(From) * 8 - 1 - in)) : From(0);
    const To out_mask = To(To(~To(0)) >> out);
    const To out_sign = out_signed ? To(To(1) << (sizeof(To) * 8 - 1 - out)) : To(0);
    if (in == 0 && out == 0)  // whole registers
        return each_frame(warp, [=, &op](std::byte* frame) {
            const From* a = row_in<From>(frame, op.a);
            if (in_signed)
                each_lane(row_in<To>(frame, op.dst), lanes, [=](int i) { return To(SignedTo(SignedFrom(a[i]))); });
            else
                each_lane(row_in<To>(frame, op.dst), lanes, [=](int i) { return To(a[i]); });
        });
    each_frame(warp, [=, &op](std::byte* frame) {
        const From* a = row_in<From>(frame, op.a);
        each_lane(row_in<To>(frame, op.dst), lanes, [=](int i) {
            // (x ^ sign) - sign extends a field by its sign bit.
            From x = From(((a[i] & in_mask) ^ in_sign) - in_sign);
            To y = in_signed ? To(SignedTo(SignedFrom(x))) : To(x);
            return To(((y & out_mask) ^ out_sign) - out_sign);
        });
    });
}
template <class From>
Exec integers_exec(int to_bytes) {
    return to_bytes == 2   ? run_integers<From, uint16_t>
           : to_bytes == 4 ? run_integers<From, uint32_t>
                           : run_integers<From, uint64_t>;
}

template <class F>
F round_to_integral(F x, Rounding rounding) {
    switch (rounding) {
        case Rounding::rz: return std::trunc(x);
        case Rounding::rm: return std::floor(x);
        case Rounding::rp: return std::ceil(x);
        default: return std::rint(x);
    }
}
template <class F, class I>
I clamp_to_integer(F x) {
    constexpr F low = F(std::numeric_limits<I>::min());
    constexpr F beyond = F(std::numeric_limits<I>::max() / 2 + 1) * 2;  // 2^n
    constexpr F last = sizeof(F) > sizeof(I) ? beyond - 1 : beyond * (1 - std::numeric_limits<F>::epsilon() / 2);
    constexpr I of_nan = sizeof(F) == 8 || sizeof(I) == 8 ? I(std::make_unsigned_t<I>(1) << (sizeof(I) * 8 - 1)) : I(0);
    F y = x < low ? low : x;
    y = y > last ? last : y;
    y = y == y ? y : F(0);
    I v = I(y);
    v = x >= beyond ? std::numeric_limits<I>::max() : v;
    return x != x ? of_nan : v;
}
template <class F, class I, Rounding R, bool ftz>
void run_to_integer(Warp& warp, const Op& op, uint32_t lanes) {
    const F* a = warp.row<F>(op.a);
    each_lane(warp.row<I>(op.dst), lanes, [=](int i) {
        F x = a[i];
        if constexpr (ftz) x = flush(x);
        if constexpr (R != Rounding::rz) x = round_to_integral(x, R);
        return clamp_to_integer<F, I>(x);
    });
}
template <class F, class I>
Exec to_integer_exec(const Conversion& how) {
    switch (how.rounding) {  // flushing matters to .rmi and .rpi only, which then take the exact road
        case Rounding::rz: return run_to_integer<F, I, Rounding::rz, false>;
        case Rounding::rn: return run_to_integer<F, I, Rounding::rn, false>;
        case Rounding::rm: return how.ftz ? nullptr : run_to_integer<F, I, Rounding::rm, false>;
        case Rounding::rp: return how.ftz ? nullptr : run_to_integer<F, I, Rounding::rp, false>;
        default: return nullptr;
    }
}
template <Rounding R>
void run_integral(Warp& warp, const Op& op, uint32_t lanes) {  // cvt.rni.f32.f32
    const float* a = warp.row<float>(op.a);
    const bool ftz = op.small[0], saturates = op.small[1];
    each_lane(warp.row<float>(op.dst), lanes, [=](int i) {
        float x = ftz ? flush(a[i]) : a[i];
        x = canonical(round_to_integral(x, R));
        return saturates ? saturate(x) : x;
    });
}
void run_f32(Warp& warp, const Op& op, uint32_t lanes) {  // cvt{.ftz}{.sat}.f32.f32
    const float* a = warp.row<float>(op.a);
    const bool ftz = op.small[0], saturates = op.small[1];
    each_lane(warp.row<float>(op.dst), lanes, [=](int i) {
        float x = canonical(ftz ? flush(a[i]) : a[i]);
        return saturates ? saturate(x) : x;
    });
}
template <class H>
void run_narrow_half(Warp& warp, const Op& op, uint32_t lanes) {  // cvt.rn.f16.f32
    alignas(64) uint16_t out[warp_size];
    H::round(warp.row<float>(op.a), out, warp_size);
    each_lane(warp.row<uint16_t>(op.dst), lanes, [&](int i) { return out[i]; });
}
template <class H>
void run_pack_halves(Warp& warp, const Op& op, uint32_t lanes) {  // cvt.rn.f16x2.f32 d, upper, lower
    alignas(64) uint16_t upper[warp_size], lower[warp_size];
    H::round(warp.row<float>(op.a), upper, warp_size);
    H::round(warp.row<float>(op.b), lower, warp_size);
    each_lane(warp.row<uint32_t>(op.dst), lanes, [&](int i) { return uint32_t(upper[i]) << 16 | lower[i]; });
}

Exec fast_exec(const Conversion& how) {
    const Kind &to = *how.to, &from = *how.from;
    if (how.to_bytes * 8 != to.bits * to.parts || how.from_bytes * 8 != from.bits * from.parts) return nullptr;
    if (how.relu || how.finite || how.rounding == Rounding::rna) return nullptr;
    const bool nearest_even = how.rounding == Rounding::rn;
    if (is(from, "f32") && is(to, "f32")) {
        if (!how.integral) return how.ftz || how.saturate ? run_f32 : unary<uint32_t>([](uint32_t a) { return a; });
        switch (how.rounding) {
            case Rounding::rz: return run_integral<Rounding::rz>;
            case Rounding::rm: return run_integral<Rounding::rm>;
            case Rounding::rp: return run_integral<Rounding::rp>;
            default: return run_integral<Rounding::rn>;
        }
    }
    if (how.saturate) return nullptr;
    if (!to.is_float) {
        bool single = is(from, "f32");
        if (!single && !is(from, "f64")) return nullptr;
        if (is(to, "s32")) return single ? to_integer_exec<float, int32_t>(how) : to_integer_exec<double, int32_t>(how);
        if (is(to, "u32"))
            return single ? to_integer_exec<float, uint32_t>(how) : to_integer_exec<double, uint32_t>(how);
        if (is(to, "s64")) return single ? to_integer_exec<float, int64_t>(how) : to_integer_exec<double, int64_t>(how);
        if (is(to, "u64"))
            return single ? to_integer_exec<float, uint64_t>(how) : to_integer_exec<double, uint64_t>(how);
        return nullptr;
    }
    if (how.integral || how.ftz || !nearest_even) return nullptr;
    if (is(to, "f32")) {
        if (is(from, "s32")) return unary<float, int32_t>([](int32_t a) { return float(a); });
        if (is(from, "u32")) return unary<float, uint32_t>([](uint32_t a) { return float(a); });
        if (is(from, "s64")) return unary<float, int64_t>([](int64_t a) { return float(a); });
        if (is(from, "u64")) return unary<float, uint64_t>([](uint64_t a) { return float(a); });
        if (is(from, "f64")) return unary<float, double>([](double a) { return float(a); });  // NaN: see convert_nan
        if (is(from, "f16")) return widen_exec(false);
        if (is(from, "bf16")) return widen_exec(true);
    }
    if (is(to, "f64")) {
        if (is(from, "s32")) return unary<double, int32_t>([](int32_t a) { return double(a); });
        if (is(from, "u32")) return unary<double, uint32_t>([](uint32_t a) { return double(a); });
        if (is(from, "s64")) return unary<double, int64_t>([](int64_t a) { return double(a); });
        if (is(from, "u64")) return unary<double, uint64_t>([](uint64_t a) { return double(a); });
        if (is(from, "f32")) return unary<double, float>([](float a) { return double(a); });
        if (is(from, "f64") && !how.integral) return unary<uint64_t>([](uint64_t a) { return a; });
    }
    if (is(from, "f32")) {
        if (is(to, "f16")) return run_narrow_half<F16>;
        if (is(to, "bf16")) return run_narrow_half<BF16>;
        if (is(to, "f16x2")) return run_pack_halves<F16>;
        if (is(to, "bf16x2")) return run_pack_halves<BF16>;
    }
    return nullptr;
}

// --- cvt.pack.sat.d.a{.b32} d, a, b {, c}: both clamped to d's range; a above b, and c's low half shifted up above them
struct PackSpec {
    int bits;
    bool is_signed, appends;
    bool source_signed;
};
void run_pack_integers(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& spec = *static_cast<const PackSpec*>(op.extra);
    const uint32_t *a = warp.row<uint32_t>(op.a), *b = warp.row<uint32_t>(op.b), *c = warp.row<uint32_t>(op.c);
    const int64_t low = spec.is_signed ? -(int64_t(1) << (spec.bits - 1)) : 0;
    const int64_t up = spec.is_signed ? (int64_t(1) << (spec.bits - 1)) - 1 : (int64_t(1) << spec.bits) - 1;
    const uint32_t field = (1u << spec.bits) - 1;
    each_lane(warp.row<uint32_t>(op.dst), lanes, [=](int i) {
        auto clamped = [=](uint32_t x) {
            int64_t v = spec.source_signed ? int64_t(int32_t(x)) : int64_t(x);
            return uint32_t(v < low ? low : v > up ? up : v) & field;
        };
        uint32_t pair = clamped(a[i]) << spec.bits | clamped(b[i]);
        return spec.appends ? pair | c[i] << (2 * spec.bits) : pair;
    });
}
void decode_pack(Decoder& decoder) {
    if (!decoder.take("sat")) refuse(decoder, "cvt.pack is .sat");
    int to = decoder.take_one({"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"});
    Type from = decoder.take_type();
    bool appends = decoder.take("b32");
    if (to < 0 || (from != Type::s32 && from != Type::u32)) refuse(decoder);
    PackSpec spec{16 >> (to / 2), to % 2 == 1, appends, from == Type::s32};
    if (to / 2 == 2) spec.bits = 4;
    if (to / 2 == 3) spec.bits = 2;
    if (appends == (spec.bits == 16)) refuse(decoder, ".b32 and a third source belong to 8 bits and fewer");
    auto data = std::make_shared<PackSpec>(spec);
    const void* extra = data.get();
    decoder.keep(data);
    Op& op = appends ? emit_plain(decoder, run_pack_integers, Type::b32, {Type::b32, Type::b32, Type::b32})
                     : emit_plain(decoder, run_pack_integers, Type::b32, {Type::b32, Type::b32});
    if (!appends) op.c = op.a;
    op.extra = extra;
}

// --- ue8m0: a power of two without a sign, 2^(code - 127); 255 is NaN
uint32_t to_ue8m0(uint32_t f32, bool up, bool finite) {
    const uint32_t magnitude = f32 & 0x7fffffffu, beyond = finite ? 254 : 255;
    if (magnitude > 0x7f800000u) return 255;
    if (magnitude == 0x7f800000u) return beyond;
    uint32_t code = magnitude >> 23, fraction = magnitude & 0x7fffffu;
    if (up) code += code ? fraction != 0 : fraction > 0x400000u;  // 2^-127 is a subnormal float
    return code == 255 ? beyond : code;
}
// small[0]: up; [1]: .satfinite; [2]: from bf16x2 in row a, else from floats, row a's the upper one
void run_to_ue8m0(Warp& warp, const Op& op, uint32_t lanes) {
    const uint32_t *a = warp.row<uint32_t>(op.a), *b = warp.row<uint32_t>(op.b);
    const bool up = op.small[0], finite = op.small[1], halves = op.small[2];
    each_lane(warp.row<uint16_t>(op.dst), lanes, [=](int i) {
        const uint32_t upper = halves ? a[i] & 0xffff0000u : a[i], lower = halves ? a[i] << 16 : b[i];
        return uint16_t(to_ue8m0(upper, up, finite) << 8 | to_ue8m0(lower, up, finite));
    });
}
uint32_t ue8m0_to_bf16(uint32_t code) { return code == 255 ? 0x7fff : code == 0 ? 0x40 : code << 7; }
void decode_ue8m0(Decoder& decoder) {
    if (decoder.take("bf16x2") && decoder.in.modifiers.back() == "ue8m0x2") {
        if (!decoder.take("ue8m0x2") || !decoder.take("rn")) refuse(decoder, "needs .rn");
        emit_plain(decoder, unary<uint32_t, uint16_t>([](uint16_t a) {
                       return ue8m0_to_bf16(a >> 8u) << 16 | ue8m0_to_bf16(a & 0xffu);
                   }),
                   Type::b32, {Type::b16});
        return;
    }
    const bool halves = decoder.in.modifiers.back() == "bf16x2";
    if (!decoder.take("ue8m0x2") || (!halves && !decoder.take("f32"))) refuse(decoder, "of .f32 or .bf16x2");
    const int rounding = decoder.take_one({"rz", "rp"});
    if (rounding < 0) refuse(decoder, "needs .rz or .rp");
    const bool finite = decoder.take("satfinite");
    Op& op = halves ? emit_plain(decoder, run_to_ue8m0, Type::b16, {Type::b32})
                    : emit_plain(decoder, run_to_ue8m0, Type::b16, {Type::b32, Type::b32});
    if (halves) op.b = op.a;
    op.small[0] = rounding == 1, op.small[1] = finite, op.small[2] = halves;
}

void decode_cvt(Decoder& decoder) {
    if (decoder.take("pack")) return decode_pack(decoder);
    for (const std::string& modifier : decoder.in.modifiers)
        if (modifier == "ue8m0x2") return decode_ue8m0(decoder);
    const auto& modifiers = decoder.in.modifiers;
    if (modifiers.size() < 2) refuse(decoder, "says no types");
    // The last two are the types.
    Conversion how;
    how.to = find_kind(modifiers[modifiers.size() - 2]), how.from = find_kind(modifiers.back());
    if (!how.to || !how.from) refuse(decoder, "a type that is not known");
    decoder.take(how.to->name), decoder.take(how.from->name);
    const Kind &to = *how.to, &from = *how.from;

    static constexpr Rounding order[] = {Rounding::rn, Rounding::rz, Rounding::rm, Rounding::rp, Rounding::rna};
    int integral = decoder.take_one({"rni", "rzi", "rmi", "rpi"});
    int rounding = decoder.take_one({"rn", "rz", "rm", "rp", "rna"});
    if (integral >= 0 && rounding >= 0) refuse(decoder, "two roundings");
    if (integral >= 0) how.rounding = order[integral], how.integral = true;
    if (rounding >= 0) how.rounding = order[rounding];
    how.relu = decoder.take("relu");
    how.finite = decoder.take("satfinite");
    how.ftz = decoder.take("ftz");
    how.saturate = decoder.take("sat");

    // What PTX asks for.
    const bool loses = to.is_float && (!from.is_float || to.format->fraction_bits < from.format->fraction_bits ||
                                       to.format->exponent_bits < from.format->exponent_bits);
    if (!to.is_float && from.is_float && integral < 0)
        refuse(decoder, "float to integer needs .rni, .rzi, .rmi or .rpi");
    if (!to.is_float && !from.is_float && (integral >= 0 || rounding >= 0)) refuse(decoder, "integers are not rounded");
    const bool halves = (is(to, "bf16") && is(from, "f16")) || (is(to, "f16") && is(from, "bf16"));  // ptxas takes .rn
    if (loses && rounding < 0 && !halves) refuse(decoder, "needs a rounding: .rn, .rz, .rm, .rp");
    if (to.is_float && integral >= 0 && &to != &from) refuse(decoder, "rounding to an integer keeps the type");
    if (how.ftz && !is(to, "f32") && !is(from, "f32")) refuse(decoder, ".ftz is for .f32");
    if ((how.relu || how.finite) && !to.is_float) refuse(decoder, "no .relu and .satfinite for integers");
    if (how.finite && to.format == &formats::f64) refuse(decoder, "no .satfinite for .f64");
    if (is(to, "f16")) how.ftz = false;  // allowed, and ignored: seen where .rm and .rp round away from zero

    const bool pair = to.parts == 2, two_sources = pair && from.parts == 1;
    if (from.parts == 2 && !pair) refuse(decoder, "two elements into one");
    if (two_sources && !is(from, "f32")) refuse(decoder, "pairs are made of .f32");
    // The small formats saturate whether or not they say so, but they must say so.
    if (to.bits < 16 && to.is_float && (!how.finite || rounding != 0)) refuse(decoder, "needs .rn.satfinite");
    if (decoder.count() != (two_sources ? 3u : 2u)) refuse(decoder, "wrong number of operands");

    Row a = decoder.source(1, from.reg, true), b = two_sources ? decoder.source(2, from.reg, true) : a;
    Row d = decoder.destination(0, to.reg, true);
    how.to_bytes = d.element_bytes, how.from_bytes = a.element_bytes;

    if (!to.is_float && !from.is_float && !how.saturate) {
        Exec exec = a.element_bytes == 2   ? integers_exec<uint16_t>(d.element_bytes)
                    : a.element_bytes == 4 ? integers_exec<uint32_t>(d.element_bytes)
                                           : integers_exec<uint64_t>(d.element_bytes);
        Op& op = decoder.emit(exec);
        op.dst = d.offset, op.a = a.offset;
        op.small[0] = uint8_t(a.element_bytes * 8 - from.bits), op.small[1] = from.is_signed;
        op.small[2] = uint8_t(d.element_bytes * 8 - to.bits), op.small[3] = to.is_signed;
        return;
    }
    if (Exec exec = fast_exec(how)) {
        Op& op = decoder.emit(exec);
        op.dst = d.offset, op.a = a.offset, op.b = b.offset;
        op.small[0] = how.ftz, op.small[1] = how.saturate;
        return;
    }
    auto data = std::make_shared<Conversion>(how);
    const void* extra = data.get();
    decoder.keep(data);
    Op& op = decoder.emit(pair ? run_exact_pair : run_exact);
    op.dst = d.offset, op.a = a.offset, op.b = b.offset, op.extra = extra;
}

}  // namespace

void register_convert(OperationTable& table) { table.add("cvt", decode_cvt, {Effect::pure}); }

}  // namespace softcuda::SOFTCUDA_LEVEL
