// Comparisons and what they steer: setp, set, selp, slct.
#include <utility>

#include "machine/block.h"
#include "machine/families.h"
#include "machine/float_rounding.h"
#include "machine/operations.h"

#include "machine/vectors.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

// 32 bytes that are 0 or 255 -> 32 bits.
uint32_t gather_bits(const uint8_t* flags) {
#if defined(__AVX2__)
    return uint32_t(_mm256_movemask_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(flags))));
#else
    uint32_t bits = 0;
    for (int k = 0; k < 4; ++k) {
        uint64_t eight;
        std::memcpy(&eight, flags + 8 * k, 8);
        // One bit of each byte to the top byte: bit k of byte k, summed by the multiplication.
        bits |= uint32_t(((eight & 0x0101010101010101ull) * 0x0102040810204080ull) >> 56) << (8 * k);
    }
    return bits;
#endif
}

// Four comparisons make all: gt and ge swap the operands, the unordered ones are the opposites' complements.
struct Equal {
    template <class T>
    bool operator()(T a, T b) const {
        return a == b;
    }
};
struct Less {
    template <class T>
    bool operator()(T a, T b) const {
        return a < b;
    }
};
struct LessEqual {
    template <class T>
    bool operator()(T a, T b) const {
        return a <= b;
    }
};
struct Ordered {  // neither is NaN
    template <class T>
    bool operator()(T a, T b) const {
        return (a == a) & (b == b);
    }
};

enum class Combine : uint8_t { none, with_and, with_or, with_xor };
uint32_t combine(uint8_t how, uint32_t t, uint32_t c) {
    switch (Combine(how)) {
        case Combine::with_and: return t & c;
        case Combine::with_or: return t | c;
        case Combine::with_xor: return t ^ c;
        default: return t;
    }
}
// small[0]: complement, small[1]: Combine with predicate row c, small[2]: dst2 gets the complement, combined likewise.
inline void write_predicates(std::byte* frame, const Op& op, uint32_t lanes, uint32_t holds) {
    if (op.small[0]) holds = ~holds;
    if (!(op.small[1] | op.small[2])) return write_mask(frame, op.dst, lanes, holds);
    const uint32_t c = *row_in<uint32_t>(frame, op.c);
    write_mask(frame, op.dst, lanes, combine(op.small[1], holds, c));
    if (op.small[2]) write_mask(frame, op.dst2, lanes, combine(op.small[1], ~holds, c));
}
#if defined(__AVX512BW__)
// The compiler makes bytes of the results, and bits of those; the CPU has an instruction for it.
template <class Test>
constexpr int predicate_of = -1;  // of vpcmp and vcmpps alike
template <>
constexpr int predicate_of<Equal> = 0;
template <>
constexpr int predicate_of<Less> = 1;
template <>
constexpr int predicate_of<LessEqual> = 2;
template <class T, int predicate>
uint32_t tested(const T* a, const T* b) {
    uint32_t bits = 0;
    constexpr int in_vector = 64 / sizeof(T);
#pragma GCC unroll 4
    for (int i = 0; i < warp_size; i += in_vector) {
        const __m512i x = _mm512_loadu_si512(a + i), y = _mm512_loadu_si512(b + i);
        uint32_t here;
        if constexpr (std::is_same_v<T, float>)
            here = _mm512_cmp_ps_mask(_mm512_castsi512_ps(x), _mm512_castsi512_ps(y), predicate);
        else if constexpr (std::is_same_v<T, int32_t>)
            here = _mm512_cmp_epi32_mask(x, y, predicate);
        else if constexpr (std::is_same_v<T, uint32_t>)
            here = _mm512_cmp_epu32_mask(x, y, predicate);
        else if constexpr (std::is_same_v<T, int64_t>)
            here = _mm512_cmp_epi64_mask(x, y, predicate);
        else
            here = _mm512_cmp_epu64_mask(x, y, predicate);
        bits |= here << i;
    }
    return bits;
}
template <class T, class Test, bool ftz>
constexpr bool has_vector_test = predicate_of<Test> >= 0 && !ftz && sizeof(T) >= 4 && !std::is_same_v<T, double>;
#endif
template <class T, class Test, bool ftz>
uint32_t holds_for(const T* a, const T* b) {
#if defined(__AVX512BW__)
    if constexpr (has_vector_test<T, Test, ftz>) return tested<T, predicate_of<Test>>(a, b);
#endif
    alignas(32) uint8_t flags[warp_size];
    for (int i = 0; i < warp_size; ++i) {
        T x = a[i], y = b[i];
        if constexpr (ftz) x = flush(x), y = flush(y);
        flags[i] = Test{}(x, y) ? 255 : 0;
    }
    return gather_bits(flags);
}
template <class T, class Test, bool ftz = false>
void run_compare(Warp& warp, const Op& op, uint32_t lanes) {
    each_frame(warp, [&op, lanes](std::byte* frame) {
        write_predicates(frame, op, lanes, holds_for<T, Test, ftz>(row_in<T>(frame, op.a), row_in<T>(frame, op.b)));
    });
}

// A comparison as written: which of the four tests, and what to do to its operands and result.
struct Comparison {
    enum Test { equal, less, less_equal, ordered } test;
    bool swap, complement, for_integers, for_floats, for_bits;
};
constexpr Comparison comparisons[] = {
    // in the order of take_comparison()
    {Comparison::equal, false, false, true, true, true},         // eq
    {Comparison::equal, false, true, true, true, true},          // ne: for floats it needs both ordered, see below
    {Comparison::less, false, false, true, true, false},         // lt
    {Comparison::less_equal, false, false, true, true, false},   // le
    {Comparison::less, true, false, true, true, false},          // gt
    {Comparison::less_equal, true, false, true, true, false},    // ge
    {Comparison::less, false, false, true, false, false},        // lo
    {Comparison::less_equal, false, false, true, false, false},  // ls
    {Comparison::less, true, false, true, false, false},         // hi
    {Comparison::less_equal, true, false, true, false, false},   // hs
    {Comparison::equal, false, false, false, true, false},       // equ: equal or unordered, see below
    {Comparison::equal, false, true, false, true, false},        // neu
    {Comparison::less_equal, true, true, false, true, false},    // ltu: not b <= a
    {Comparison::less, true, true, false, true, false},          // leu
    {Comparison::less_equal, false, true, false, true, false},   // gtu
    {Comparison::less, false, true, false, true, false},         // geu
    {Comparison::ordered, false, false, false, true, false},     // num
    {Comparison::ordered, false, true, false, true, false},      // nan
};
constexpr int ne = 1, equ = 10;
// Of floats: `ne` is false and `equ` is true when a NaN takes part, which == and its complement alone do not give.
struct Unequal {
    template <class T>
    bool operator()(T a, T b) const {
        return (a < b) | (a > b);
    }
};

template <class T, bool ftz = false>
Exec compare_exec(Comparison::Test test) {
    switch (test) {
        case Comparison::equal: return run_compare<T, Equal, ftz>;
        case Comparison::less: return run_compare<T, Less, ftz>;
        case Comparison::less_equal: return run_compare<T, LessEqual, ftz>;
        default: return run_compare<T, Ordered, ftz>;
    }
}
Exec exec_for(Decoder& decoder, Type type, int name, bool ftz, bool& complement) {
    const Comparison& comparison = comparisons[name];
    complement = comparison.complement;
    bool is_float = type == Type::f32 || type == Type::f64;
    if (!(is_float ? comparison.for_floats : is_bits(type) ? comparison.for_bits : comparison.for_integers))
        refuse(decoder, "no such comparison for this type");
    bool unsigned_only = name >= 6 && name <= 9;
    if (unsigned_only && is_signed(type)) refuse(decoder, "no such comparison for this type");
    if (ftz && type != Type::f32) refuse(decoder, ".ftz is for .f32");
    if (is_float && (name == ne || name == equ)) {
        complement = name == equ;
        return type == Type::f64 ? run_compare<double, Unequal>
               : ftz             ? run_compare<float, Unequal, true>
                                 : run_compare<float, Unequal>;
    }
    switch (type) {
        case Type::b16:
        case Type::u16: return compare_exec<uint16_t>(comparison.test);
        case Type::s16: return compare_exec<int16_t>(comparison.test);
        case Type::b32:
        case Type::u32: return compare_exec<uint32_t>(comparison.test);
        case Type::s32: return compare_exec<int32_t>(comparison.test);
        case Type::b64:
        case Type::u64: return compare_exec<uint64_t>(comparison.test);
        case Type::s64: return compare_exec<int64_t>(comparison.test);
        case Type::f32: return ftz ? compare_exec<float, true>(comparison.test) : compare_exec<float>(comparison.test);
        case Type::f64: return compare_exec<double>(comparison.test);
        default: refuse(decoder, "cannot be compared");
    }
}
bool names_half(const Decoder& decoder) {
    for (const std::string& modifier : decoder.in.modifiers)
        if (modifier == "f16" || modifier == "f16x2" || modifier == "bf16" || modifier == "bf16x2") return true;
    return false;
}

void decode_setp(Decoder& decoder) {
    if (names_half(decoder)) return decode_half_setp(decoder);
    int name = take_comparison(decoder);
    int how = decoder.take_one({"and", "or", "xor"}) + 1;
    bool ftz = decoder.take("ftz");
    Type type = decoder.take_type();
    if (name < 0) refuse(decoder, "says no comparison");
    if (decoder.count() != (how ? 4u : 3u)) refuse(decoder, "wrong number of operands");
    bool complement;
    Exec exec = exec_for(decoder, type, name, ftz, complement);
    uint32_t a = decoder.source(1, type).offset, b = decoder.source(2, type).offset;
    uint32_t c = how ? decoder.predicate_source(3).offset : 0;
    PredicatePair result(decoder);
    Op& op = decoder.emit(exec);
    op.dst = result.first, op.dst2 = result.second;
    op.a = a, op.b = b, op.c = how ? c : result.first;
    if (comparisons[name].swap) std::swap(op.a, op.b);
    op.small[0] = complement, op.small[1] = uint8_t(how), op.small[2] = result.has_second;
}

// On a block's bases (affine.h): one mask a warp, of base + i * stride in its lanes.
template <class T, class Test>
void run_affine_compare(Warp& warp, const Op& op, uint32_t) {
    const T *a = warp.row<T>(op.a), *b = warp.row<T>(op.b);
    const T stride_a = static_cast<T>(static_cast<int32_t>(op.c)),
            stride_b = static_cast<T>(static_cast<int32_t>(op.d));
    uint32_t* masks = warp.row<uint32_t>(op.dst);
    using Bits = std::make_unsigned_t<T>;  // wraps around as the lanes' own sums do
    for (size_t w = 0; w < warp.block->warps.size(); ++w) {
        alignas(64) T x[warp_size], y[warp_size];
        for (int i = 0; i < warp_size; ++i) x[i] = static_cast<T>(Bits(a[w]) + Bits(i) * Bits(stride_a));
        for (int i = 0; i < warp_size; ++i) y[i] = static_cast<T>(Bits(b[w]) + Bits(i) * Bits(stride_b));
        const uint32_t holds = holds_for<T, Test, false>(x, y);
        masks[w] = op.small[0] ? ~holds : holds;
    }
}
template <class T>
Exec affine_compare_exec(Comparison::Test test) {
    switch (test) {
        case Comparison::equal: return run_affine_compare<T, Equal>;
        case Comparison::less: return run_affine_compare<T, Less>;
        default: return run_affine_compare<T, LessEqual>;
    }
}
// affine.setp mask, a, b, stride of a, stride of b;
void decode_affine_setp(Decoder& decoder) {
    const int name = take_comparison(decoder);
    const Type type = decoder.take_type();
    bool complement;
    exec_for(decoder, type, name, false, complement);  // refuses what there is not
    const Comparison& comparison = comparisons[name];
    const Exec exec = is_signed(type)       ? bytes_of(type) == 8 ? affine_compare_exec<int64_t>(comparison.test)
                                                                  : affine_compare_exec<int32_t>(comparison.test)
                      : bytes_of(type) == 8 ? affine_compare_exec<uint64_t>(comparison.test)
                                            : affine_compare_exec<uint32_t>(comparison.test);
    const uint32_t a = decoder.source(1, type).offset, b = decoder.source(2, type).offset;
    const Row result = decoder.destination(0, Type::b32);
    Op& op = decoder.emit(exec);
    op.dst = result.offset, op.a = a, op.b = b;
    op.c = static_cast<uint32_t>(decoder.operand(3).bits), op.d = static_cast<uint32_t>(decoder.operand(4).bits);
    op.small[0] = complement;
    if (comparison.swap) std::swap(op.a, op.b), std::swap(op.c, op.d);
}

// set: the comparison goes into a mask of the instruction's own; this turns it into 0 and all ones, or 0 and 1.0.
template <class T>
void run_spread(Warp& warp, const Op& op, uint32_t lanes) {
    const uint32_t holds = warp.predicate(op.a);
    const T yes = T(op.imm);
    each_lane(warp.row<T>(op.dst), lanes, [=](int i) { return (holds >> i) & 1 ? yes : T(0); });
}
void decode_set(Decoder& decoder) {
    if (names_half(decoder)) return decode_half_set(decoder);
    int name = take_comparison(decoder);
    int how = decoder.take_one({"and", "or", "xor"}) + 1;
    bool ftz = decoder.take("ftz");
    Type result_type = decoder.take_type(), type = decoder.take_type();
    if (name < 0) refuse(decoder, "says no comparison");
    if (result_type != Type::u32 && result_type != Type::s32 && result_type != Type::f32)
        refuse(decoder, "the result is .u32, .s32 or .f32");
    if (decoder.count() != (how ? 4u : 3u)) refuse(decoder, "wrong number of operands");
    bool complement;
    Exec exec = exec_for(decoder, type, name, ftz, complement);
    uint32_t a = decoder.source(1, type).offset, b = decoder.source(2, type).offset, mask = decoder.scratch(4).offset;
    uint32_t c = how ? decoder.predicate_source(3).offset : mask;
    Row result = decoder.destination(0, result_type);
    Op& test = decoder.emit(exec);
    test.dst = mask, test.a = a, test.b = b, test.c = c;
    if (comparisons[name].swap) std::swap(test.a, test.b);
    test.small[0] = complement, test.small[1] = uint8_t(how);
    Op& spread = decoder.emit(run_spread<uint32_t>);
    spread.dst = result.offset, spread.a = mask, spread.imm = result_type == Type::f32 ? bits_of(1.0f) : ~0u;
}

template <class T>
void run_select(Warp& warp, const Op& op, uint32_t lanes) {
    each_frame(warp, [&op, lanes](std::byte* frame) {
        const T *a = row_in<T>(frame, op.a), *b = row_in<T>(frame, op.b);
        const uint32_t c = *row_in<uint32_t>(frame, op.c);
        each_lane(row_in<T>(frame, op.dst), lanes, [=](int i) { return (c >> i) & 1 ? a[i] : b[i]; });
    });
}
void decode_selp(Decoder& decoder) {
    Type type = decoder.take_type();
    Exec exec = nullptr;
    switch (bytes_of(type)) {
        case 2: exec = run_select<uint16_t>; break;
        case 4: exec = run_select<uint32_t>; break;
        case 8: exec = run_select<uint64_t>; break;
        default: refuse(decoder, "not a 16, 32 or 64-bit type");
    }
    emit_plain(decoder, exec, type, {type, type, Type::pred});
}
template <class T>
Exec slct_exec(Type by, bool ftz) {
    if (by == Type::s32) return ternary<T, T, T, int32_t>([](T a, T b, int32_t c) { return c >= 0 ? a : b; });
    if (ftz) return ternary<T, T, T, float>([](T a, T b, float c) { return flush(c) >= 0 ? a : b; });
    return ternary<T, T, T, float>([](T a, T b, float c) { return c >= 0 ? a : b; });
}
void decode_slct(Decoder& decoder) {
    bool ftz = decoder.take("ftz");
    Type type = decoder.take_type(), by = decoder.take_type();
    if ((by != Type::s32 && by != Type::f32) || (ftz && by != Type::f32)) refuse(decoder, "selects by .s32 or .f32");
    Exec exec = nullptr;
    switch (bytes_of(type)) {
        case 2: exec = slct_exec<uint16_t>(by, ftz); break;
        case 4: exec = slct_exec<uint32_t>(by, ftz); break;
        case 8: exec = slct_exec<uint64_t>(by, ftz); break;
        default: refuse(decoder, "not a 16, 32 or 64-bit type");
    }
    emit_plain(decoder, exec, type, {type, type, by});
}

}  // namespace

void register_compare(OperationTable& table) {
    table.add("setp", decode_setp, {Effect::pure});
    table.add("affine.setp", decode_affine_setp, {Effect::pure});
    table.add("set", decode_set, {Effect::pure});
    table.add("selp", decode_selp, {.effect = Effect::pure, .moves = true});
    table.add("slct", decode_slct, {Effect::pure});
}

}  // namespace softcuda::SOFTCUDA_LEVEL
