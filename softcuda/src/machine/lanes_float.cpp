// Single and double precision: arithmetic in all rounding modes, min and max, approximations.
//
// NaN results of f32 are NVIDIA's 0x7fffffff; f64 keeps the payload of one operand, in the order an H200 prefers them.
#include <cfenv>
#include <string>

#include "machine/families.h"
#include "machine/float_rounding.h"
#include "machine/operations.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

constexpr uint8_t flag_ftz = 1, flag_sat = 2;  // Op::small[0] of f32 arithmetic

// Operands that an operation does not have are given as its first.
enum class Mode { plain, ftz, flags };
template <class Operation, Rounding R, Mode mode>
float apply(float a, float b, float c, bool ftz, bool sat) {
    if constexpr (mode == Mode::plain) return canonical(Operation::template f32<R>(a, b, c));
    if constexpr (mode == Mode::ftz) return flush(canonical(Operation::template f32<R>(flush(a), flush(b), flush(c))));
    a = ftz ? flush(a) : a, b = ftz ? flush(b) : b, c = ftz ? flush(c) : c;
    float d = canonical(Operation::template f32<R>(a, b, c));
    d = ftz ? flush(d) : d;
    return sat ? saturate(d) : d;
}
// .ftz looks at the result as rounded to 24 bits without a least exponent (IEEE 754's tininess after rounding, measured):
// what becomes the least normal number only because subnormals have fewer bits is flushed.
template <class Operation>
constexpr bool can_round_up_to_normal = false;
template <>
constexpr bool can_round_up_to_normal<MulF> = true;
template <>
constexpr bool can_round_up_to_normal<FmaF> = true;
template <>
constexpr bool can_round_up_to_normal<DivF> = true;
template <>
constexpr bool can_round_up_to_normal<RcpF> = true;
bool is_least_normal(float d) { return std::fabs(d) == FLT_MIN; }
template <class Operation, Rounding R>
float flush_rounded_up(float d, float a, float b, float c) {
    const float twice = narrow<R>(2 * Operation::template wide<R>(flush(a), flush(b), flush(c)));  // normal: 24 bits
    return is_least_normal(d) && std::fabs(twice) < 2 * FLT_MIN ? float_of(bits_of(d) & 0x80000000u) : d;
}
template <class Operation, Rounding R, Mode mode>
void run_f32(Warp& warp, const Op& op, uint32_t lanes) {
    if constexpr (mode == Mode::plain)
        return each_frame(warp, [&op, lanes](std::byte* frame) {
            const float *a = row_in<float>(frame, op.a), *b = row_in<float>(frame, op.b),
                        *c = row_in<float>(frame, op.c);
            each_lane(row_in<float>(frame, op.dst), lanes,
                      [=](int i) { return apply<Operation, R, mode>(a[i], b[i], c[i], false, false); });
        });
    const float *a = warp.row<float>(op.a), *b = warp.row<float>(op.b), *c = warp.row<float>(op.c);
    const bool ftz = op.small[0] & flag_ftz, sat = op.small[0] & flag_sat;
    if constexpr (mode != Mode::plain && R != Rounding::rz && can_round_up_to_normal<Operation>) {
        if (ftz) {
            alignas(64) float out[warp_size];
            uint32_t suspects = 0;
            for (int i = 0; i < warp_size; ++i) {
                out[i] = apply<Operation, R, mode>(a[i], b[i], c[i], true, sat);
                suspects |= uint32_t(is_least_normal(out[i]));
            }
            if (suspects)
                for (int i = 0; i < warp_size; ++i) out[i] = flush_rounded_up<Operation, R>(out[i], a[i], b[i], c[i]);
            return each_lane(warp.row<float>(op.dst), lanes, [&](int i) { return out[i]; });
        }
    }
    each_lane(warp.row<float>(op.dst), lanes,
              [=](int i) { return apply<Operation, R, mode>(a[i], b[i], c[i], ftz, sat); });
}
// Two floats in a 64-bit register (sm_100 and later).
template <class Operation, Rounding R>
void run_f32x2(Warp& warp, const Op& op, uint32_t lanes) {
    const float *a = warp.row<float>(op.a), *b = warp.row<float>(op.b), *c = warp.row<float>(op.c);
    const bool ftz = op.small[0] & flag_ftz;
    float out[2 * warp_size];
    for (int i = 0; i < 2 * warp_size; ++i) out[i] = apply<Operation, R, Mode::flags>(a[i], b[i], c[i], ftz, false);
    if constexpr (R != Rounding::rz && can_round_up_to_normal<Operation>)
        for (int i = 0; ftz && i < 2 * warp_size; ++i)
            out[i] = flush_rounded_up<Operation, R>(out[i], a[i], b[i], c[i]);
    each_lane(warp.row<uint64_t>(op.dst), lanes,
              [&](int i) { return uint64_t(bits_of(out[2 * i + 1])) << 32 | bits_of(out[2 * i]); });
}
template <class Operation>
void run_f64(Warp& warp, const Op& op, uint32_t lanes) {
    each_frame(warp, [&op, lanes](std::byte* frame) {
        const double *a = row_in<double>(frame, op.a), *b = row_in<double>(frame, op.b),
                     *c = row_in<double>(frame, op.c);
        each_lane(row_in<double>(frame, op.dst), lanes, [=](int i) { return Operation::f64(a[i], b[i], c[i]); });
    });
}
// Directed rounding of doubles: the CPU's own rounding mode, one lane at a time; volatile keeps the operation inside.
template <class Operation>
void run_f64_directed(Warp& warp, const Op& op, uint32_t lanes) {
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    const double *a = warp.row<double>(op.a), *b = warp.row<double>(op.b), *c = warp.row<double>(op.c);
    double* d = warp.row<double>(op.dst);
    const int before = std::fegetround();
    std::fesetround(modes[op.small[1]]);
    each_active(lanes, [=](int i) {
        volatile double x = a[i], y = b[i], z = c[i];
        volatile double result = Operation::f64(x, y, z);
        d[i] = result;
    });
    std::fesetround(before);
}

// The modifiers of one f32 or f64 instruction.
struct FloatForm {
    int rounding = -1;  // index of Rounding, -1: none written
    bool ftz = false, sat = false, packed = false;
    Type type = Type::none;
};
FloatForm take_form(Decoder& decoder) {
    FloatForm form;
    form.rounding = decoder.take_one({"rn", "rz", "rm", "rp"});
    form.ftz = decoder.take("ftz");
    form.sat = decoder.take("sat");
    form.packed = decoder.take("f32x2");
    form.type = form.packed ? Type::b64 : decoder.take_type();
    if (!form.packed && form.type != Type::f32 && form.type != Type::f64) refuse(decoder, "not a floating-point type");
    if (form.type == Type::f64 && (form.ftz || form.sat)) refuse(decoder, "no .ftz and .sat for .f64");
    return form;
}
template <class Operation, Rounding R>
Exec f32_exec(const FloatForm& form) {
    if (form.packed) return run_f32x2<Operation, R>;
    if constexpr (R == Rounding::rn) {
        if (!form.sat) return form.ftz ? run_f32<Operation, R, Mode::ftz> : run_f32<Operation, R, Mode::plain>;
    }
    return run_f32<Operation, R, Mode::flags>;
}
template <class Operation>
Exec exec_of(const FloatForm& form) {
    if (form.type == Type::f64) return form.rounding > 0 ? run_f64_directed<Operation> : run_f64<Operation>;
    switch (form.rounding) {
        case 1: return f32_exec<Operation, Rounding::rz>(form);
        case 2: return f32_exec<Operation, Rounding::rm>(form);
        case 3: return f32_exec<Operation, Rounding::rp>(form);
        default: return f32_exec<Operation, Rounding::rn>(form);
    }
}
// Emits with `sources` operands behind the destination.
void emit_float(Decoder& decoder, Exec exec, const FloatForm& form, int sources) {
    if (decoder.count() != size_t(sources) + 1) refuse(decoder, "wrong number of operands");
    // add.f32.f16 d, a, c: all but the last operand are halves (sm_100 and later).
    Type narrow_type = form.type == Type::f32 ? decoder.take_type() : Type::none;
    if (narrow_type != Type::none && narrow_type != Type::f16 && narrow_type != Type::bf16)
        refuse(decoder, "mixed precision takes .f16 or .bf16");
    uint32_t rows[3] = {};
    for (int i = 0; i < 3; ++i) {
        if (i >= sources) {
            rows[i] = rows[0];
        } else if (narrow_type != Type::none && i + 1 < sources) {
            Row half = decoder.source(i + 1, narrow_type), wide = decoder.scratch(4);
            Op& op = decoder.emit(widen_exec(narrow_type == Type::bf16));
            op.a = half.offset, op.dst = wide.offset;
            rows[i] = wide.offset;
        } else {
            rows[i] = decoder.source(i + 1, form.type).offset;
        }
    }
    Row result = decoder.destination(0, form.type);
    Op& op = decoder.emit(exec);
    op.dst = result.offset, op.a = rows[0], op.b = rows[1], op.c = rows[2];
    op.small[0] = uint8_t((form.ftz ? flag_ftz : 0) | (form.sat ? flag_sat : 0));
    op.small[1] = uint8_t(form.rounding < 0 ? 0 : form.rounding);
}
template <class Operation>
void decode_arithmetic(Decoder& decoder, int sources) {
    FloatForm form = take_form(decoder);
    emit_float(decoder, exec_of<Operation>(form), form, sources);
}

// --- approximate forms as operations of the same shape
struct ApproxDiv {
    template <Rounding>
    static float f32(float a, float b, float) {
        // As a * (1/b): above 2^126 the reciprocal is flushed to zero.
        float magnitude = std::fabs(b);
        bool vanishes = magnitude > 0x1p126f && magnitude < float_of(0x7f800000u);
        return vanishes ? a * float_of(bits_of(b) & 0x80000000u) : a / b;
    }
};
struct ApproxRsqrt {
    template <Rounding>
    static float f32(float a, float, float) {
        return 1.0f / std::sqrt(a);
    }
};
struct ApproxExp2 {
    template <Rounding>
    static float f32(float a, float, float) {
        return exp2_approx(a);
    }
};
struct ApproxLog2 {
    template <Rounding>
    static float f32(float a, float, float) {
        return log2_approx(a);
    }
};
struct ApproxSin {
    template <Rounding>
    static float f32(float a, float, float) {
        return sin_cos_approx(a, 0);
    }
};
struct ApproxCos {
    template <Rounding>
    static float f32(float a, float, float) {
        return sin_cos_approx(a, 1);
    }
};
struct ApproxTanh {
    template <Rounding>
    static float f32(float a, float, float) {
        return tanh_approx(a);
    }
};
template <class Operation>
void decode_approximate(Decoder& decoder, int sources) {  // .approx or .full has been taken
    FloatForm form;
    form.ftz = decoder.take("ftz");
    form.type = decoder.take_type();
    if (form.type != Type::f32) refuse(decoder, "approximations are for .f32");
    Exec exec = form.ftz ? run_f32<Operation, Rounding::rn, Mode::ftz> : run_f32<Operation, Rounding::rn, Mode::plain>;
    emit_float(decoder, exec, form, sources);
}

// rcp.approx.ftz.f64, rsqrt.approx{.ftz}.f64: from the upper word of a, into the upper word of d.
double upper_word(double x) { return double_of(bits_of(x) & 0xffffffff00000000ull); }
double plain_nan(double x) { return x != x ? double_of(0x7fffffff00000000ull) : x; }
void decode_gross_f64(Decoder& decoder, bool root) {
    bool ftz = decoder.take("ftz");
    if (decoder.take_type() != Type::f64) refuse(decoder);
    if (!root && !ftz) refuse(decoder, "rcp.approx.f64 needs .ftz");
    Exec exec =
        !root ? unary<double>([](double a) { return upper_word(flush(plain_nan(1.0 / flush(upper_word(a))))); })
        : ftz ? unary<double>([](double a) { return upper_word(plain_nan(1.0 / std::sqrt(flush(upper_word(a))))); })
              : unary<double>([](double a) { return 1.0 / std::sqrt(a); });
    emit_plain(decoder, exec, Type::f64, {Type::f64});
}

void decode_div(Decoder& decoder) {
    if (decoder.take("approx")) return decode_approximate<ApproxDiv>(decoder, 2);
    if (decoder.take("full")) return decode_approximate<DivF>(decoder, 2);
    for (const std::string& modifier : decoder.in.modifiers)
        if (modifier == "f32" || modifier == "f64") return decode_arithmetic<DivF>(decoder, 2);
    decode_integer_div(decoder);
}
void decode_rcp(Decoder& decoder) {
    if (!decoder.take("approx")) return decode_arithmetic<RcpF>(decoder, 1);
    if (decoder.in.modifiers.back() == "f64") return decode_gross_f64(decoder, false);
    decode_approximate<RcpF>(decoder, 1);
}
void decode_sqrt(Decoder& decoder) {
    if (decoder.take("approx")) return decode_approximate<SqrtF>(decoder, 1);
    decode_arithmetic<SqrtF>(decoder, 1);
}
void decode_rsqrt(Decoder& decoder) {
    if (!decoder.take("approx")) refuse(decoder, "rsqrt is .approx");
    if (decoder.in.modifiers.back() == "f64") return decode_gross_f64(decoder, true);
    decode_approximate<ApproxRsqrt>(decoder, 1);
}
template <class Operation>
void decode_function(Decoder& decoder) {
    if (!decoder.take("approx")) refuse(decoder, "must be .approx");
    decode_approximate<Operation>(decoder, 1);
}

// --- min, max
constexpr uint8_t flag_nan = 2, flag_xorsign = 4, flag_abs = 8, flag_third = 16;
template <bool maximum>
void run_extreme_f32(Warp& warp, const Op& op, uint32_t lanes) {
    const float *a = warp.row<float>(op.a), *b = warp.row<float>(op.b), *c = warp.row<float>(op.c);
    const uint8_t flags = op.small[0];
    const bool ftz = flags & flag_ftz, with_nan = flags & flag_nan, third = flags & flag_third;
    const uint32_t keep = flags & flag_abs ? 0x7fffffffu : ~0u, sign = flags & flag_xorsign ? 0x80000000u : 0;
    each_lane(warp.row<float>(op.dst), lanes, [=](int i) {
        float x = ftz ? flush(a[i]) : a[i], y = ftz ? flush(b[i]) : b[i], z = ftz ? flush(c[i]) : c[i];
        uint32_t signs = (bits_of(x) ^ bits_of(y)) & sign;
        x = float_of(bits_of(x) & keep), y = float_of(bits_of(y) & keep), z = float_of(bits_of(z) & keep);
        float d = pick_extreme<float, maximum>(x, y);
        d = third ? pick_extreme<float, maximum>(d, z) : d;
        const bool nan = ((x != x) | (y != y) | (third & (z != z))) & with_nan;
        d = nan ? canonical_nan() : d;
        return d != d ? canonical_nan() : float_of(bits_of(d) | signs);
    });
}
template <bool maximum>
void decode_extreme(Decoder& decoder) {
    uint8_t flags = 0;
    if (decoder.take("ftz")) flags |= flag_ftz;
    if (decoder.take("NaN")) flags |= flag_nan;
    if (decoder.take("xorsign")) {
        flags |= flag_xorsign | flag_abs;
        if (!decoder.take("abs")) refuse(decoder, ".xorsign comes with .abs");
    } else if (decoder.take("abs")) {
        flags |= flag_abs;
        if (decoder.count() != 4) refuse(decoder, ".abs is for three operands, or with .xorsign");
    }
    Type type = decoder.take_type();
    if (type == Type::f64) {
        if (flags) refuse(decoder, "no such modifier for .f64");
        Exec exec = binary<double>([](double a, double b) {
            const double d = pick_extreme<double, maximum>(a, b);
            return d != d ? quiet(b) : d;  // of two NaNs the second
        });
        emit_plain(decoder, exec, type, {type, type});
        return;
    }
    if (type != Type::f32) refuse(decoder, "not a floating-point type");
    if (decoder.count() == 4) {
        if (flags & flag_xorsign) refuse(decoder, "no .xorsign for three operands");
        emit_plain(decoder, run_extreme_f32<maximum>, type, {type, type, type}).small[0] = flags | flag_third;
    } else if (!flags) {  // fminf and fmaxf, which deserve a short loop
        emit_plain(decoder,
                   binary<float>([](float a, float b) { return canonical(pick_extreme<float, maximum>(a, b)); }), type,
                   {type, type});
    } else {
        Op& op = emit_plain(decoder, run_extreme_f32<maximum>, type, {type, type});
        op.c = op.a;
        op.small[0] = flags;
    }
}

// --- signs and classes
// NaN goes through an addition: it becomes the canonical one; in f64, quiet with its sign unchanged.
template <bool negate>
void decode_sign(Decoder& decoder) {
    bool ftz = decoder.take("ftz");
    Type type = decoder.take_type();
    Exec exec;
    if (type == Type::f32)
        exec = negate ? (ftz ? unary<float>([](float a) { return canonical(-flush(a)); })
                             : unary<float>([](float a) { return canonical(-a); }))
                      : (ftz ? unary<float>([](float a) { return canonical(std::fabs(flush(a))); })
                             : unary<float>([](float a) { return canonical(std::fabs(a)); }));
    else if (type == Type::f64 && !ftz)
        exec = negate ? unary<double>([](double a) { return prefer(a, -a); })
                      : unary<double>([](double a) { return prefer(a, std::fabs(a)); });
    else
        refuse(decoder);
    emit_plain(decoder, exec, type, {type});
}
void decode_copysign(Decoder& decoder) {  // the sign of a on the magnitude of b
    Type type = decoder.take_type();
    Exec exec = choose(
        decoder, type,
        {{Type::f32, binary<uint32_t>([](uint32_t a, uint32_t b) { return (a & 0x80000000u) | (b & 0x7fffffffu); })},
         {Type::f64, binary<uint64_t>([](uint64_t a, uint64_t b) {
              return (a & 0x8000000000000000ull) | (b & 0x7fffffffffffffffull);
          })}});
    emit_plain(decoder, exec, type, {type, type});
}
template <class Bits, int fraction, int exponents>
void run_testp(Warp& warp, const Op& op, uint32_t lanes) {
    const Bits* a = warp.row<Bits>(op.a);
    const int test = op.small[0];
    constexpr Bits infinity = ((Bits(1) << exponents) - 1) << fraction, least = Bits(1) << fraction;
    each_predicate(&warp.predicate(op.dst), lanes, [=](int i) {
        Bits m = a[i] & ~(Bits(1) << (sizeof(Bits) * 8 - 1));
        switch (test) {
            case 0: return m < infinity;
            case 1: return m == infinity;
            case 2: return m <= infinity;
            case 3: return m > infinity;
            case 4: return (m >= least && m < infinity) || m == 0;  // zeros count as normal, says PTX
            default: return m < least && m != 0;
        }
    });
}
void decode_testp(Decoder& decoder) {
    int test = decoder.take_one({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
    Type type = decoder.take_type();
    if (test < 0) refuse(decoder, "says no test");
    Exec exec =
        choose(decoder, type, {{Type::f32, run_testp<uint32_t, 23, 8>}, {Type::f64, run_testp<uint64_t, 52, 11>}});
    emit_plain(decoder, exec, Type::pred, {type}).small[0] = uint8_t(test);
}

// --- who decodes an opcode that several families have: the first type among the modifiers says
enum class Family { integer, single, half };
Family family_of(const Decoder& decoder) {
    for (const std::string& modifier : decoder.in.modifiers) {
        if (modifier == "f32" || modifier == "f64" || modifier == "f32x2") return Family::single;
        if (modifier == "f16" || modifier == "f16x2" || modifier == "bf16" || modifier == "bf16x2") return Family::half;
    }
    return Family::integer;
}
template <DecodeFn integer, DecodeFn single, DecodeFn half>
void decode_by_type(Decoder& decoder) {
    switch (family_of(decoder)) {
        case Family::integer: return integer(decoder);
        case Family::single: return single(decoder);
        case Family::half: return half(decoder);
    }
}
void no_integers(Decoder& decoder) { refuse(decoder, "not a floating-point type"); }

template <class Operation, int sources>
void decode_single(Decoder& decoder) {
    decode_arithmetic<Operation>(decoder, sources);
}

}  // namespace

void register_float(OperationTable& table) {
    table.add("add", decode_by_type<decode_integer_add, decode_single<AddF, 2>, decode_half_add>, {Effect::pure});
    table.add("sub", decode_by_type<decode_integer_sub, decode_single<SubF, 2>, decode_half_sub>, {Effect::pure});
    table.add("mul", decode_by_type<decode_integer_mul, decode_single<MulF, 2>, decode_half_mul>, {Effect::pure});
    table.add("mad", decode_by_type<decode_integer_mad, decode_single<FmaF, 3>, no_integers>, {Effect::pure});
    table.add("fma", decode_by_type<no_integers, decode_single<FmaF, 3>, decode_half_fma>, {Effect::pure});
    table.add("div", decode_div, {Effect::pure});
    table.add("min", decode_by_type<decode_integer_min, decode_extreme<false>, decode_half_min>, {Effect::pure});
    table.add("max", decode_by_type<decode_integer_max, decode_extreme<true>, decode_half_max>, {Effect::pure});
    table.add("abs", decode_by_type<decode_integer_abs, decode_sign<false>, decode_half_abs>, {Effect::pure});
    table.add("neg", decode_by_type<decode_integer_neg, decode_sign<true>, decode_half_neg>, {Effect::pure});
    table.add("rcp", decode_rcp, {Effect::pure});
    table.add("sqrt", decode_sqrt, {Effect::pure});
    table.add("rsqrt", decode_rsqrt, {Effect::writes_first});
    table.add("ex2", decode_by_type<no_integers, decode_function<ApproxExp2>, decode_half_ex2>, {Effect::writes_first});
    table.add("tanh", decode_by_type<no_integers, decode_function<ApproxTanh>, decode_half_tanh>,
              {Effect::writes_first});
    table.add("lg2", decode_function<ApproxLog2>, {Effect::writes_first});
    table.add("sin", decode_function<ApproxSin>, {Effect::writes_first});
    table.add("cos", decode_function<ApproxCos>, {Effect::writes_first});
    table.add("copysign", decode_copysign, {Effect::pure});
    table.add("testp", decode_testp, {Effect::writes_first});
}

}  // namespace softcuda::SOFTCUDA_LEVEL
