// f16 and bf16, alone and packed in twos.
//
// A row of packed halves is 64 halves side by side, so both forms share their loops.  Sums, differences and products of
// halves are computed in float and rounded once more, which is exact (24 >= 2 * 11 + 2 bits); fma goes through fused_odd.
#include <type_traits>

#include "machine/families.h"
#include "machine/half.h"
#include "machine/operations.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

constexpr uint8_t flag_ftz = 1, flag_sat = 2, flag_relu = 4, flag_nan = 8, flag_xorsign = 16, flag_abs = 32;

// Halves written for the active lanes; n is 32 or 64.
template <int n>
void store(Warp& warp, uint32_t row, uint32_t lanes, const uint16_t* halves) {
    using Element = std::conditional_t<n == warp_size, uint16_t, uint32_t>;
    Element values[warp_size];
    std::memcpy(values, halves, sizeof values);
    each_lane(warp.row<Element>(row), lanes, [&](int i) { return values[i]; });
}
template <class F>
uint16_t flush_half(uint16_t h) {
    return uint16_t(h & F::infinity ? h : h & 0x8000);
}

struct Add {
    float operator()(float a, float b, float) const { return a + b; }
};
struct Sub {
    float operator()(float a, float b, float) const { return a - b; }
};
struct Mul {
    float operator()(float a, float b, float) const { return a * b; }
};
struct Fma {
    float operator()(float a, float b, float c) const { return fused_odd(a, b, c); }
};
struct Exp2 {
    float operator()(float a, float, float) const { return exp2_approx(a); }
};
struct Tanh {
    float operator()(float a, float, float) const { return tanh_approx(a); }
};
template <class F, int n, class Operation>
void run_half(Warp& warp, const Op& op, uint32_t lanes) {
    const uint8_t flags = op.small[0];
    alignas(64) uint16_t in[3][n], out[n];
    alignas(64) float a[n], b[n], c[n];
    const uint32_t rows[3] = {op.a, op.b, op.c};
    for (int k = 0; k < 3; ++k) std::memcpy(in[k], warp.row<uint16_t>(rows[k]), sizeof in[k]);
    if (flags & flag_ftz)
        for (auto& row : in)
            for (uint16_t& h : row) h = flush_half<F>(h);
    F::widen(in[0], a, n), F::widen(in[1], b, n), F::widen(in[2], c, n);
    for (int i = 0; i < n; ++i) a[i] = Operation{}(a[i], b[i], c[i]);
    F::round(a, out, n);
    if (flags & flag_ftz) {  // of f16 alone; by the size rounded to 11 bits without a least exponent, as for f32
        const float least = F::least_normal * (1 - 0x1p-12f);
        for (int i = 0; i < n; ++i) out[i] = std::fabs(a[i]) < least ? uint16_t(out[i] & 0x8000) : out[i];
    }
    if (flags & flag_sat)  // NaN and negatives: +0
        for (uint16_t& h : out) h = (h & 0x8000) || h > F::infinity ? uint16_t(0) : h > F::one ? F::one : h;
    if (flags & flag_relu)
        for (uint16_t& h : out) h = h & 0x8000 ? uint16_t(0) : h;
    store<n>(warp, op.dst, lanes, out);
}

// min and max, by the order of the bits: negative values run backwards.
int order(uint16_t h) { return h & 0x8000 ? -int(h & 0x7fff) - 1 : int(h); }
template <class F>
uint16_t extreme(uint16_t x, uint16_t y, bool maximum, uint8_t flags) {
    uint16_t signs = flags & flag_xorsign ? uint16_t((x ^ y) & 0x8000) : uint16_t(0);
    if (flags & flag_abs) x &= 0x7fff, y &= 0x7fff;
    bool x_nan = (x & 0x7fff) > F::infinity, y_nan = (y & 0x7fff) > F::infinity;
    if ((x_nan && y_nan) || ((x_nan || y_nan) && flags & flag_nan)) return 0x7fff;
    uint16_t result = x_nan ? y : y_nan ? x : (order(x) < order(y)) != maximum ? x : y;
    return result | signs;
}
template <class F, int n, bool maximum>
void run_extreme(Warp& warp, const Op& op, uint32_t lanes) {
    const uint16_t *a = warp.row<uint16_t>(op.a), *b = warp.row<uint16_t>(op.b), *c = warp.row<uint16_t>(op.c);
    const uint8_t flags = op.small[0];
    const bool third = op.small[1], ftz = flags & flag_ftz;
    uint16_t out[n];
    for (int i = 0; i < n; ++i) {
        uint16_t x = ftz ? flush_half<F>(a[i]) : a[i], y = ftz ? flush_half<F>(b[i]) : b[i],
                 z = ftz ? flush_half<F>(c[i]) : c[i];
        out[i] = extreme<F>(x, y, maximum, flags);
        if (third) out[i] = extreme<F>(out[i], z, maximum, flags);
    }
    store<n>(warp, op.dst, lanes, out);
}
template <class F, int n>
void run_sign(Warp& warp, const Op& op,
              uint32_t lanes) {  // imm: bits kept, bits flipped; NaN becomes the canonical one
    const uint16_t* a = warp.row<uint16_t>(op.a);
    const uint16_t keep = uint16_t(op.imm), flip = uint16_t(op.imm >> 16);
    const bool ftz = op.small[0] & flag_ftz;
    uint16_t out[n];
    for (int i = 0; i < n; ++i) {
        const bool nan = (a[i] & 0x7fff) > F::infinity;
        out[i] = nan ? uint16_t(0x7fff) : uint16_t(((ftz ? flush_half<F>(a[i]) : a[i]) & keep) ^ flip);
    }
    store<n>(warp, op.dst, lanes, out);
}
template <class F>
void run_widen(Warp& warp, const Op& op, uint32_t lanes) {
    float out[warp_size];
    F::widen(warp.row<uint16_t>(op.a), out, warp_size);
    if constexpr (std::is_same_v<F, F16>)  // bf16 is the upper half of a float, NaN or not
        for (float& x : out) x = canonical(x);
    each_lane(warp.row<float>(op.dst), lanes, [&](int i) { return out[i]; });
}

// --- decoding
bool is_packed(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }
bool is_bf16(Type type) { return type == Type::bf16 || type == Type::bf16x2; }
Type register_type(Type type) { return is_packed(type) ? Type::b32 : Type::b16; }

Type take_half(Decoder& decoder) {
    Type type = decoder.take_type();
    if (!is_half(type)) refuse(decoder, "not an f16 or bf16 type");
    return type;
}
template <class Operation>
Exec exec_of(Type type) {
    switch (type) {
        case Type::f16: return run_half<F16, warp_size, Operation>;
        case Type::f16x2: return run_half<F16, 2 * warp_size, Operation>;
        case Type::bf16: return run_half<BF16, warp_size, Operation>;
        default: return run_half<BF16, 2 * warp_size, Operation>;
    }
}
Op& emit_half(Decoder& decoder, Exec exec, Type type, size_t sources) {
    if (decoder.count() != sources + 1) refuse(decoder, "wrong number of operands");
    Type reg = register_type(type);
    uint32_t rows[3];
    for (size_t i = 0; i < 3; ++i) rows[i] = i < sources ? decoder.source(i + 1, reg).offset : rows[0];
    Row result = decoder.destination(0, reg);
    Op& op = decoder.emit(exec);
    op.dst = result.offset, op.a = rows[0], op.b = rows[1], op.c = rows[2];
    return op;
}
template <class Operation>
void decode_arithmetic(Decoder& decoder, size_t sources, bool relu_allowed) {
    decoder.take("rn");  // the only rounding there is
    uint8_t flags = 0;
    if (decoder.take("ftz")) flags |= flag_ftz;
    if (decoder.take("sat")) flags |= flag_sat;
    if (relu_allowed && decoder.take("relu")) flags |= flag_relu;
    Type type = take_half(decoder);
    if (is_bf16(type) && flags & (flag_ftz | flag_sat)) refuse(decoder, "no .ftz and .sat for bf16");
    emit_half(decoder, exec_of<Operation>(type), type, sources).small[0] = flags;
}
template <bool maximum>
void decode_extreme(Decoder& decoder) {
    uint8_t flags = 0;
    if (decoder.take("ftz")) flags |= flag_ftz;
    if (decoder.take("NaN")) flags |= flag_nan;
    if (decoder.take("xorsign")) flags |= flag_xorsign;
    if (decoder.take("abs")) flags |= flag_abs;
    if ((flags & flag_xorsign) && !(flags & flag_abs)) refuse(decoder, ".xorsign comes with .abs");
    Type type = take_half(decoder);
    if (is_bf16(type) && flags & flag_ftz) refuse(decoder, "no .ftz for bf16");
    Exec exec = type == Type::f16     ? run_extreme<F16, warp_size, maximum>
                : type == Type::f16x2 ? run_extreme<F16, 2 * warp_size, maximum>
                : type == Type::bf16  ? run_extreme<BF16, warp_size, maximum>
                                      : run_extreme<BF16, 2 * warp_size, maximum>;
    bool third = decoder.count() == 4;
    Op& op = emit_half(decoder, exec, type, third ? 3 : 2);
    op.small[0] = flags, op.small[1] = third;
}
void decode_sign(Decoder& decoder, uint16_t keep, uint16_t flip) {
    bool ftz = decoder.take("ftz");
    Type type = take_half(decoder);
    if (is_bf16(type) && ftz) refuse(decoder, "no .ftz for bf16");
    Exec exec = type == Type::f16     ? run_sign<F16, warp_size>
                : type == Type::f16x2 ? run_sign<F16, 2 * warp_size>
                : type == Type::bf16  ? run_sign<BF16, warp_size>
                                      : run_sign<BF16, 2 * warp_size>;
    Op& op = emit_half(decoder, exec, type, 1);
    op.imm = keep | uint64_t(flip) << 16;
    op.small[0] = ftz ? flag_ftz : 0;
}

// --- comparisons: on floats, which order halves as they are
struct CompareSpec {
    int name;
    bool ftz, bf16, packed;
    int how;          // 0: none, and, or, xor
    int result;       // set: 0 all ones, 1: 1.0 in 32 bits, 2: a half in 16 bits
    bool has_second;  // setp p|q of one pair of halves: q is the complement
    uint16_t one;
};
bool holds(int name, float a, float b) {
    const bool unordered = a != a || b != b;
    switch (name) {
        case 0: return a == b;
        case 1: return !unordered && a != b;
        case 2: return a < b;
        case 3: return a <= b;
        case 4: return a > b;
        case 5: return a >= b;
        case 10: return unordered || a == b;
        case 11: return unordered || a != b;
        case 12: return unordered || a < b;
        case 13: return unordered || a <= b;
        case 14: return unordered || a > b;
        case 15: return unordered || a >= b;
        case 16: return !unordered;
        default: return unordered;
    }
}
uint32_t joined(int how, uint32_t t, uint32_t c) { return how == 1 ? t & c : how == 2 ? t | c : how == 3 ? t ^ c : t; }
// Masks of the lower and the upper halves.
void compare_halves(Warp& warp, const Op& op, const CompareSpec& spec, uint32_t masks[2]) {
    const int n = spec.packed ? 2 : 1;
    alignas(64) uint16_t in[2][2 * warp_size];
    alignas(64) float a[2 * warp_size], b[2 * warp_size];
    std::memcpy(in[0], warp.row<uint16_t>(op.a), size_t(n) * warp_size * 2);
    std::memcpy(in[1], warp.row<uint16_t>(op.b), size_t(n) * warp_size * 2);
    for (int i = 0; i < n * warp_size; ++i)
        for (auto& row : in) row[i] = spec.ftz ? flush_half<F16>(row[i]) : row[i];
    auto widen = spec.bf16 ? BF16::widen : F16::widen;
    widen(in[0], a, n * warp_size), widen(in[1], b, n * warp_size);
    masks[0] = masks[1] = 0;
    for (int i = 0; i < n * warp_size; ++i) masks[i % n] |= uint32_t(holds(spec.name, a[i], b[i])) << (i / n);
}
void run_setp(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& spec = *static_cast<const CompareSpec*>(op.extra);
    uint32_t masks[2];
    compare_halves(warp, op, spec, masks);
    if (!spec.packed) masks[1] = ~masks[0];
    const uint32_t c = spec.how ? warp.predicate(op.c) : 0;
    write_mask(warp, op.dst, lanes, joined(spec.how, masks[0], c));
    if (spec.has_second) write_mask(warp, op.dst2, lanes, joined(spec.how, masks[1], c));
}
void run_set(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& spec = *static_cast<const CompareSpec*>(op.extra);
    uint32_t masks[2];
    compare_halves(warp, op, spec, masks);
    const uint32_t c = spec.how ? warp.predicate(op.c) : 0;
    const uint32_t low = joined(spec.how, masks[0], c), high = joined(spec.how, masks[1], c);
    each_active(lanes, [&](int i) {
        bool p = (low >> i) & 1, q = (high >> i) & 1;
        if (spec.packed)  // each half: all ones, or one
            warp.row<uint32_t>(op.dst)[i] = (p ? spec.one : 0u) | (q ? uint32_t(spec.one) << 16 : 0u);
        else if (spec.result == 2)
            warp.row<uint16_t>(op.dst)[i] = p ? spec.one : uint16_t(0);
        else
            warp.row<uint32_t>(op.dst)[i] = p ? (spec.result ? bits_of(1.0f) : ~0u) : 0u;
    });
}
CompareSpec take_comparison_spec(Decoder& decoder) {
    CompareSpec spec{};
    spec.name = take_comparison(decoder);
    if (spec.name < 0 || (spec.name >= 6 && spec.name <= 9)) refuse(decoder, "no such comparison for this type");
    spec.how = decoder.take_one({"and", "or", "xor"}) + 1;
    spec.ftz = decoder.take("ftz");
    return spec;
}
void set_type(Decoder& decoder, CompareSpec& spec, Type type) {
    spec.bf16 = is_bf16(type), spec.packed = is_packed(type);
    if (spec.bf16 && spec.ftz) refuse(decoder, "no .ftz for bf16");
}
const void* keep_spec(Decoder& decoder, const CompareSpec& spec) {
    auto data = std::make_shared<CompareSpec>(spec);
    const void* address = data.get();
    decoder.keep(data);
    return address;
}

}  // namespace

Exec widen_exec(bool bf16) { return bf16 ? run_widen<BF16> : run_widen<F16>; }

void decode_half_add(Decoder& decoder) { decode_arithmetic<Add>(decoder, 2, false); }
void decode_half_sub(Decoder& decoder) { decode_arithmetic<Sub>(decoder, 2, false); }
void decode_half_mul(Decoder& decoder) { decode_arithmetic<Mul>(decoder, 2, false); }
void decode_half_fma(Decoder& decoder) { decode_arithmetic<Fma>(decoder, 3, true); }
void decode_half_abs(Decoder& decoder) { decode_sign(decoder, 0x7fff, 0); }
void decode_half_neg(Decoder& decoder) { decode_sign(decoder, 0xffff, 0x8000); }
void decode_half_min(Decoder& decoder) { decode_extreme<false>(decoder); }
void decode_half_max(Decoder& decoder) { decode_extreme<true>(decoder); }
template <class Operation>
void decode_half_function(Decoder& decoder, bool ftz_of_bf16) {
    if (!decoder.take("approx")) refuse(decoder, "must be .approx");
    bool ftz = decoder.take("ftz");
    Type type = take_half(decoder);
    // ex2.approx.ftz.bf16 is the only form bf16 has; ex2.approx.f16 and tanh take no .ftz.
    if (ftz != (ftz_of_bf16 && is_bf16(type))) refuse(decoder, ".ftz belongs to ex2 of bf16 alone");
    emit_half(decoder, exec_of<Operation>(type), type, 1).small[0] = ftz ? flag_ftz : 0;
}
void decode_half_ex2(Decoder& decoder) { decode_half_function<Exp2>(decoder, true); }
void decode_half_tanh(Decoder& decoder) { decode_half_function<Tanh>(decoder, false); }

void decode_half_setp(Decoder& decoder) {
    CompareSpec spec = take_comparison_spec(decoder);
    Type type = take_half(decoder);
    set_type(decoder, spec, type);
    if (decoder.count() != (spec.how ? 4u : 3u)) refuse(decoder, "wrong number of operands");
    uint32_t a = decoder.source(1, register_type(type)).offset, b = decoder.source(2, register_type(type)).offset;
    uint32_t c = spec.how ? decoder.predicate_source(3).offset : 0;
    PredicatePair result(decoder);
    spec.has_second = result.has_second;
    const void* extra = keep_spec(decoder, spec);
    Op& op = decoder.emit(run_setp);
    op.dst = result.first, op.dst2 = result.second, op.a = a, op.b = b, op.c = c, op.extra = extra;
}
void decode_half_set(Decoder& decoder) {
    CompareSpec spec = take_comparison_spec(decoder);
    Type to = decoder.take_type(), type = decoder.take_type();
    if (!is_half(type)) refuse(decoder, "halves are compared with halves");  // set.f16.f32 and the like: not in use
    set_type(decoder, spec, type);
    if (decoder.count() != (spec.how ? 4u : 3u)) refuse(decoder, "wrong number of operands");
    Type result_type = Type::b32;
    if (is_packed(type)) {  // f16x2 -> f16x2, or a mask of 16 bits each in .u32, .s32
        if (to != type && to != Type::u32 && to != Type::s32) refuse(decoder, "no such result");
        spec.one = to == type ? (spec.bf16 ? BF16::one : F16::one) : 0xffff;
    } else if (to == Type::u32 || to == Type::s32 || to == Type::f32) {
        spec.result = to == Type::f32;
    } else if (to == type || to == Type::u16 || to == Type::s16) {
        spec.result = 2, spec.one = to == type ? (spec.bf16 ? BF16::one : F16::one) : 0xffff;
        result_type = Type::b16;
    } else {
        refuse(decoder, "no such result");
    }
    uint32_t a = decoder.source(1, register_type(type)).offset, b = decoder.source(2, register_type(type)).offset;
    uint32_t c = spec.how ? decoder.predicate_source(3).offset : 0;
    Row result = decoder.destination(0, result_type);
    const void* extra = keep_spec(decoder, spec);
    Op& op = decoder.emit(run_set);
    op.dst = result.offset, op.a = a, op.b = b, op.c = c, op.extra = extra;
}

void register_half(OperationTable&) {}  // its opcodes are shared: lanes_float.cpp and lanes_compare.cpp come here

}  // namespace softcuda::SOFTCUDA_LEVEL
