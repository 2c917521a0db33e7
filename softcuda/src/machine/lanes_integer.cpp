// Integers and bits: arithmetic with and without carry, fields, shifts, logic, byte permutes, dot products, moves.
#include <limits>
#include <type_traits>
#include <vector>

#include "machine/families.h"
#include "machine/operations.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s8 = int8_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;
using u128 = unsigned __int128;
using s128 = __int128;

template <class T>
constexpr int bits = int(sizeof(T) * 8);
// PTX integers wrap; C++ promotes 16 bits to int and leaves signed overflow undefined.  So: compute unsigned, at least 32 bits.
template <class T>
using Wrap = std::conditional_t<sizeof(T) == 8, u64, u32>;
template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>,
                                std::conditional_t<sizeof(T) == 2, s32, std::conditional_t<sizeof(T) == 4, s64, s128>>,
                                std::conditional_t<sizeof(T) == 2, u32, std::conditional_t<sizeof(T) == 4, u64, u128>>>;

template <class T>
constexpr T high(T a, T b) {
    return T((Wide<T>(a) * Wide<T>(b)) >> bits<T>);
}

// --- division: never traps; by zero gives all ones, as NVIDIA's own division sequences do (PTX leaves it open).
template <class T>
T divide(T a, T b) {
    if (b == 0) return T(-1);
    if (std::is_signed_v<T> && b == T(-1)) return T(0 - Wrap<T>(a));
    return T(a / b);
}
template <class T>
T remainder(T a, T b) {
    if (b == 0) return T(-1);
    if (std::is_signed_v<T> && b == T(-1)) return 0;
    return T(a % b);
}
// 32 bits through double, which is exact: the quotient's distance from an integer is far above double's rounding.
inline u32 quotient(u32 a, u32 b) { return u32(s64(double(a) / double(b ? b : 1))); }
inline s32 quotient(s32 a, s32 b) {
    s32 safe = b ? b : 1;
    return s32(s64(double(a) / double(safe)));
}
template <class T>
T fast_divide(T a, T b) {
    T q = quotient(a, b);
    return b ? q : T(-1);
}
template <class T>
T fast_remainder(T a, T b) {
    T r = T(u32(a) - u32(quotient(a, b)) * u32(b));
    return b ? r : T(-1);
}

// --- fields
inline u32 popcount(u32 x) {
    x -= (x >> 1) & 0x55555555u;
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    return (x * 0x01010101u) >> 24;
}
inline u32 popcount(u64 x) { return popcount(u32(x)) + popcount(u32(x >> 32)); }
inline u32 reverse(u32 x) {
    x = ((x >> 1) & 0x55555555u) | ((x & 0x55555555u) << 1);
    x = ((x >> 2) & 0x33333333u) | ((x & 0x33333333u) << 2);
    x = ((x >> 4) & 0x0f0f0f0fu) | ((x & 0x0f0f0f0fu) << 4);
    x = ((x >> 8) & 0x00ff00ffu) | ((x & 0x00ff00ffu) << 8);
    return (x >> 16) | (x << 16);
}
template <class T>
u32 find_leading(T x, bool shift_amount) {  // bfind
    using U = std::make_unsigned_t<T>;
    U v = std::is_signed_v<T> && x < 0 ? U(~U(x)) : U(x);
    if (v == 0) return ~0u;
    u32 zeros = u32(std::countl_zero(v));
    return shift_amount ? zeros : u32(bits<T> - 1) - zeros;
}
// Position and length of a field: their low byte for 32 bits, as PTX says, yet for 64 bits, which the hardware has no
// instruction for, all their bits (measured on an H200).  Beyond 128 nothing changes.
template <class T>
u32 field_operand(u32 x) {
    if constexpr (sizeof(T) == 4) return x & 0xff;
    return x < 128 ? x : 128;
}
template <class T>
T extract(T a, u32 position, u32 length) {  // bfe
    using U = std::make_unsigned_t<T>;
    u32 pos = field_operand<T>(position), len = field_operand<T>(length), msb = bits<T> - 1;
    u32 last = pos + len - 1 < msb ? pos + len - 1 : msb;
    bool sign = std::is_signed_v<T> && len != 0 && ((U(a) >> last) & 1);
    U value = pos > msb ? U(0) : U(a) >> (pos & msb);
    if (len <= msb) {
        U mask = (U(1) << len) - 1;
        value &= mask;
    }
    // The bits the field lacks, by its own length or because it runs over the top, are copies of its sign.
    u32 have = pos > msb ? 0 : (len < msb + 1 - pos ? len : msb + 1 - pos);
    if (sign && have <= msb) value |= U(-1) << have;
    return T(value);
}
template <class T>
T insert(T a, T b, u32 position, u32 length) {  // bfi
    u32 pos = field_operand<T>(position), len = field_operand<T>(length);
    if (pos >= u32(bits<T>) || len == 0) return b;
    T mask = len >= u32(bits<T>) ? T(-1) : T((T(1) << len) - 1);
    mask = T(mask << pos);
    return T((b & ~mask) | (T(a << pos) & mask));
}
inline u32 bit_mask(u32 a, u32 b, bool clamp) {  // bmsk: b ones from bit a up
    if (clamp) {
        if (a > 31) return 0;
        u32 ones = b > 31 ? ~0u : (1u << b) - 1;
        return ones << a;
    }
    a &= 31, b &= 31;
    return ((1u << b) - 1) << a;
}
template <class T>
T extend_from(T a, u32 count, bool clamp) {  // szext: keep `count` low bits, extend
    if (clamp && count > 31) return a;
    count &= 31;
    u32 mask = (1u << count) - 1, value = u32(a) & mask;
    // N = 0 keeps nothing: a zero for u32, and there is no sign bit to copy for s32.
    if (std::is_signed_v<T> && count && (value >> (count - 1)) & 1) value |= ~mask;
    return T(value);
}
inline u32 find_nth_set(u32 mask, u32 base, s32 offset) {  // fns
    if (offset == std::numeric_limits<s32>::min())
        return 0;  // measured: its negation overflows in the hardware's sequence
    if (base > 31) return ~0u;
    if (offset == 0) return (mask >> base) & 1 ? base : ~0u;
    int step = offset > 0 ? 1 : -1, left = 0;
    u64 wanted = offset > 0 ? u64(offset) : u64(-s64(offset));
    for (int at = int(base); at >= 0 && at < 32; at += step)
        if ((mask >> at) & 1 && u64(++left) == wanted) return u32(at);
    return ~0u;
}

// --- byte permute
inline u32 permute(u32 a, u32 b, u32 selector) {
    u64 bytes = u64(b) << 32 | a;
    u32 result = 0;
    for (int i = 0; i < 4; ++i) {
        u32 s = selector >> (4 * i);
        u32 byte = u32(bytes >> (8 * (s & 7))) & 0xff;
        if (s & 8) byte = byte & 0x80 ? 0xff : 0;  // replicate the sign
        result |= byte << (8 * i);
    }
    return result;
}
// The named modes are fixed selectors that depend on the two low bits of c.
constexpr u32 permute_modes[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543},  // f4e
    {0x5670, 0x6701, 0x7012, 0x0123},  // b4e
    {0x0000, 0x1111, 0x2222, 0x3333},  // rc8
    {0x3210, 0x3211, 0x3222, 0x3333},  // ecl
    {0x0000, 0x1110, 0x2210, 0x3210},  // ecr
    {0x1010, 0x3232, 0x1010, 0x3232},  // rc16
};

// --- shifts: counts at or above the width clamp
template <class T>
T shift_left(T a, u32 n) {
    return n >= u32(bits<T>) ? T(0) : T(Wrap<T>(a) << (n & (bits<T> - 1)));
}
template <class T>
T shift_right(T a, u32 n) {
    u32 most = bits<T> - 1;
    if constexpr (std::is_signed_v<T>) return T(a >> (n > most ? most : n));
    return n > most ? T(0) : T(a >> (n & most));
}

template <class T>
T absolute(T a) {
    return a < 0 ? T(0 - Wrap<T>(a)) : a;
}
template <class T>
T smaller(T a, T b) {
    return b < a ? b : a;
}
template <class T>
T larger(T a, T b) {
    return a < b ? b : a;
}

template <class T, class X>
T clamp_to(X x) {  // .sat: to the range of T
    constexpr X low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    return T(x < low ? low : x > high ? high : x);
}

// Two 16-bit lanes in one register; f works on each half.
template <class T, class F>
u32 halves(u32 a, u32 b, F f) {
    return u32(u16(f(T(a), T(b)))) | u32(u16(f(T(a >> 16), T(b >> 16)))) << 16;
}

inline s32 byte_of(u32 word, int i, bool is_signed) {
    u32 byte = (word >> (8 * i)) & 0xff;
    return is_signed ? s32(s8(byte)) : s32(byte);
}
inline s32 half_of(u32 word, int i, bool is_signed) {
    u32 half = (word >> (16 * i)) & 0xffff;
    return is_signed ? s32(s16(half)) : s32(half);
}

// --- the tables' helpers: one entry per type
template <class F>
Exec pick_integer(Decoder& decoder, Type type, F make) {  // make(T{}) -> Exec
    switch (type) {
        case Type::u16: return make(u16{});
        case Type::s16: return make(s16{});
        case Type::u32: return make(u32{});
        case Type::s32: return make(s32{});
        case Type::u64: return make(u64{});
        case Type::s64: return make(s64{});
        default: refuse(decoder, "not an integer type");
    }
}
template <class F>
Exec pick_unsigned(Decoder& decoder, Type type, F make) {  // where the sign makes no difference
    switch (bytes_of(type)) {
        case 2: return make(u16{});
        case 4: return make(u32{});
        case 8: return make(u64{});
        default: refuse(decoder, "not a 16, 32 or 64-bit type");
    }
}

// --- carry
// CC.CF is a predicate row: read from `d`, written to `dst2`.  It is the adder's carry in every case: a - b is
// a + ~b + 1, so sub.cc sets it where nothing was borrowed, and subc adds ~b and it.  The PTX manual speaks of a borrow,
// but add.cc then subc shows the difference, and nvcc's own 128-bit division tests sub.cc's flag with addc.
enum class Carry { none, in, out, both };
template <class T, bool subtract>
void run_carry(Warp& warp, const Op& op, uint32_t lanes) {
    const T *a = warp.row<T>(op.a), *b = warp.row<T>(op.b);
    T* d = warp.row<T>(op.dst);
    const bool reads = op.small[0] & 1, writes = op.small[0] & 2;
    const u32 flags = reads ? warp.predicate(op.d) : subtract ? all_lanes : 0;
    u32 carries = 0;
    each_active(lanes, [&](int i) {
        T x = a[i], y = subtract ? T(~b[i]) : b[i], first = T(x + y), second = T(first + T((flags >> i) & 1));
        d[i] = second;
        carries |= u32(first < x || second < first) << i;
    });
    if (writes) write_mask(warp, op.dst2, lanes, carries);
}
template <class T, bool upper>
void run_multiply_carry(Warp& warp, const Op& op, uint32_t lanes) {  // mad.lo.cc, madc.hi …
    using U = std::make_unsigned_t<T>;
    const T *a = warp.row<T>(op.a), *b = warp.row<T>(op.b);
    const U* c = warp.row<U>(op.c);
    U* d = warp.row<U>(op.dst);
    const bool reads = op.small[0] & 1, writes = op.small[0] & 2;
    const u32 flags = reads ? warp.predicate(op.d) : 0;
    u32 carries = 0;
    each_active(lanes, [&](int i) {
        U product = upper ? U(high(a[i], b[i])) : U(U(a[i]) * U(b[i])), in = (flags >> i) & 1;
        U first = product + c[i], second = first + in;
        carries |= u32(first < product || second < first) << i;
        d[i] = second;
    });
    if (writes) write_mask(warp, op.dst2, lanes, carries);
}
void link_carry(Decoder& decoder, Op& op, bool reads, bool writes, uint32_t flag) {
    (void)decoder;
    op.small[0] = u8(reads) | u8(writes) << 1;
    op.d = op.dst2 = flag;
}
void decode_carry(Decoder& decoder, bool subtract, bool reads) {
    bool writes = decoder.take("cc");
    Type type = decoder.take_type();
    if (type != Type::u32 && type != Type::s32 && type != Type::u64 && type != Type::s64)
        refuse(decoder, "carries are for 32 and 64 bits");
    Exec exec = bytes_of(type) == 4 ? (subtract ? run_carry<u32, true> : run_carry<u32, false>)
                                    : (subtract ? run_carry<u64, true> : run_carry<u64, false>);
    uint32_t flag = decoder.carry_flag().offset;
    link_carry(decoder, emit_plain(decoder, exec, type, {type, type}), reads, writes, flag);
}

// --- add, sub: integers here, floating point in the families that own it (see register_integer).
template <class T>
struct Add {
    T operator()(T a, T b) const { return T(Wrap<T>(a) + Wrap<T>(b)); }
};
template <class T>
struct Sub {
    T operator()(T a, T b) const { return T(Wrap<T>(a) - Wrap<T>(b)); }
};

void decode_add_sub(Decoder& decoder, bool subtract) {
    for (const std::string& modifier : decoder.in.modifiers)
        if (modifier == "cc") return decode_carry(decoder, subtract, false);
    bool saturate = decoder.take("sat");
    if (decoder.take("u16x2") || decoder.take("s16x2")) {
        if (saturate) refuse(decoder, "no .sat for packed integers");
        Exec exec = subtract ? binary<u32>([](u32 a, u32 b) { return halves<u16>(a, b, Sub<u16>{}); })
                             : binary<u32>([](u32 a, u32 b) { return halves<u16>(a, b, Add<u16>{}); });
        emit_plain(decoder, exec, Type::b32, {Type::b32, Type::b32});
        return;
    }
    Type type = decoder.take_type();
    Exec exec;
    if (saturate) {
        if (type != Type::s32) refuse(decoder, ".sat is for .s32");
        exec = subtract ? binary<s32>([](s32 a, s32 b) { return clamp_to<s32>(s64(a) - b); })
                        : binary<s32>([](s32 a, s32 b) { return clamp_to<s32>(s64(a) + b); });
    } else if (!is_integer(type)) {
        refuse(decoder, "not an integer type");
    } else {
        exec = pick_unsigned(decoder, type, [=](auto t) {
            using T = decltype(t);
            return subtract ? binary<T>(Sub<T>{}) : binary<T>(Add<T>{});
        });
    }
    emit_plain(decoder, exec, type, {type, type});
}

// --- mul, mad
Type doubled(Decoder& decoder, Type type) {
    switch (type) {
        case Type::u16: return Type::u32;
        case Type::s16: return Type::s32;
        case Type::u32: return Type::u64;
        case Type::s32: return Type::s64;
        default: refuse(decoder, ".wide is for 16 and 32 bits");
    }
}
template <class T>
Exec wide_exec(bool adds) {
    using W = Wide<T>;
    using U = std::make_unsigned_t<W>;
    return adds ? ternary<W, T, T, W>([](T a, T b, W c) { return W(U(W(a) * W(b)) + U(c)); })
                : binary<W, T>([](T a, T b) { return W(a) * W(b); });
}
void decode_multiply(Decoder& decoder, bool adds) {
    enum { lo, hi, wide };
    int part = decoder.take_one({"lo", "hi", "wide"});
    bool carry = decoder.take("cc"), saturate = decoder.take("sat");
    Type type = decoder.take_type();
    if (!is_integer(type) || bytes_of(type) < 2) refuse(decoder, "not an integer type");
    if (part < 0) refuse(decoder, "says neither .lo nor .hi nor .wide");
    if (carry) {
        if (!adds || part == wide || bytes_of(type) < 4) refuse(decoder, "carries are for mad.lo and mad.hi");
        Exec exec = choose(decoder, type,
                           {{Type::u32, part == hi ? run_multiply_carry<u32, true> : run_multiply_carry<u32, false>},
                            {Type::s32, part == hi ? run_multiply_carry<s32, true> : run_multiply_carry<s32, false>},
                            {Type::u64, part == hi ? run_multiply_carry<u64, true> : run_multiply_carry<u64, false>},
                            {Type::s64, part == hi ? run_multiply_carry<s64, true> : run_multiply_carry<s64, false>}});
        uint32_t flag = decoder.carry_flag().offset;
        link_carry(decoder, emit_plain(decoder, exec, type, {type, type, type}), false, true, flag);
        return;
    }
    Exec exec;
    Type result = type;
    if (saturate) {
        if (!adds || part != hi || type != Type::s32) refuse(decoder, ".sat is for mad.hi.s32");
        exec = ternary<s32>([](s32 a, s32 b, s32 c) { return clamp_to<s32>(s64(high(a, b)) + c); });
    } else if (part == wide) {
        result = doubled(decoder, type);
        exec = choose(decoder, type,
                      {{Type::u16, wide_exec<u16>(adds)},
                       {Type::s16, wide_exec<s16>(adds)},
                       {Type::u32, wide_exec<u32>(adds)},
                       {Type::s32, wide_exec<s32>(adds)}});
    } else if (part == lo) {
        exec = pick_unsigned(decoder, type, [=](auto t) {
            using T = decltype(t);
            return adds ? ternary<T>([](T a, T b, T c) { return T(Wrap<T>(a) * b + c); })
                        : binary<T>([](T a, T b) { return T(Wrap<T>(a) * b); });
        });
    } else {
        exec = pick_integer(decoder, type, [=](auto t) {
            using T = decltype(t);
            return adds ? ternary<T>([](T a, T b, T c) { return T(Wrap<T>(high(a, b)) + Wrap<T>(c)); })
                        : binary<T>([](T a, T b) { return high(a, b); });
        });
    }
    if (adds)
        emit_plain(decoder, exec, result, {type, type, result});
    else
        emit_plain(decoder, exec, result, {type, type});
}
void decode_madc(Decoder& decoder) {
    enum { lo, hi };
    int part = decoder.take_one({"lo", "hi"});
    bool writes = decoder.take("cc");
    Type type = decoder.take_type();
    if (part < 0) refuse(decoder, "says neither .lo nor .hi");
    Exec exec = choose(decoder, type,
                       {{Type::u32, part == hi ? run_multiply_carry<u32, true> : run_multiply_carry<u32, false>},
                        {Type::s32, part == hi ? run_multiply_carry<s32, true> : run_multiply_carry<s32, false>},
                        {Type::u64, part == hi ? run_multiply_carry<u64, true> : run_multiply_carry<u64, false>},
                        {Type::s64, part == hi ? run_multiply_carry<s64, true> : run_multiply_carry<s64, false>}});
    uint32_t flag = decoder.carry_flag().offset;
    link_carry(decoder, emit_plain(decoder, exec, type, {type, type, type}), true, writes, flag);
}

inline s64 multiply24(s32 a, s32 b) { return s64(s32(u32(a) << 8) >> 8) * (s32(u32(b) << 8) >> 8); }
inline u64 multiply24(u32 a, u32 b) { return u64(a & 0xffffff) * (b & 0xffffff); }
template <class T>
Exec exec24(bool adds, bool upper) {  // .lo: bits 31..0 of the 48-bit product, .hi: bits 47..16
    if (adds)
        return upper ? ternary<T>([](T a, T b, T c) { return T(u32(multiply24(a, b) >> 16) + u32(c)); })
                     : ternary<T>([](T a, T b, T c) { return T(u32(multiply24(a, b)) + u32(c)); });
    return upper ? binary<T>([](T a, T b) { return T(multiply24(a, b) >> 16); })
                 : binary<T>([](T a, T b) { return T(multiply24(a, b)); });
}
void decode_multiply24(Decoder& decoder, bool adds) {
    int part = decoder.take_one({"lo", "hi"});
    bool saturate = decoder.take("sat");
    Type type = decoder.take_type();
    if (part < 0) refuse(decoder, "says neither .lo nor .hi");
    if (saturate) {
        if (!adds || part != 1 || type != Type::s32) refuse(decoder, ".sat is for mad24.hi.s32");
        Exec exec = ternary<s32>([](s32 a, s32 b, s32 c) { return clamp_to<s32>((multiply24(a, b) >> 16) + c); });
        emit_plain(decoder, exec, type, {type, type, type});
        return;
    }
    Exec exec =
        choose(decoder, type, {{Type::u32, exec24<u32>(adds, part == 1)}, {Type::s32, exec24<s32>(adds, part == 1)}});
    if (adds)
        emit_plain(decoder, exec, type, {type, type, type});
    else
        emit_plain(decoder, exec, type, {type, type});
}

void decode_sad(Decoder& decoder) {
    Type type = decoder.take_type();
    Exec exec = pick_integer(decoder, type, [](auto t) {
        using T = decltype(t);
        return ternary<T>([](T a, T b, T c) {
            Wrap<T> difference = a < b ? Wrap<T>(b) - Wrap<T>(a) : Wrap<T>(a) - Wrap<T>(b);
            return T(Wrap<T>(c) + difference);
        });
    });
    emit_plain(decoder, exec, type, {type, type, type});
}

void decode_divide(Decoder& decoder, bool wants_remainder) {
    Type type = decoder.take_type();
    Exec exec = pick_integer(decoder, type, [=](auto t) {
        using T = decltype(t);
        if constexpr (sizeof(T) == 4)
            return wants_remainder ? binary<T>([](T a, T b) { return fast_remainder(a, b); })
                                   : binary<T>([](T a, T b) { return fast_divide(a, b); });
        else
            return wants_remainder ? binary<T>([](T a, T b) { return remainder(a, b); })
                                   : binary<T>([](T a, T b) { return divide(a, b); });
    });
    emit_plain(decoder, exec, type, {type, type});
}

void decode_abs(Decoder& decoder) {
    Type type = decoder.take_type();
    if (!is_signed(type)) refuse(decoder, "not a signed integer type");
    Exec exec = pick_integer(decoder, type, [](auto t) {
        using T = decltype(t);
        return unary<T>([](T a) { return absolute(a); });
    });
    emit_plain(decoder, exec, type, {type});
}
void decode_neg(Decoder& decoder) {
    Type type = decoder.take_type();
    if (!is_signed(type)) refuse(decoder, "not a signed integer type");
    Exec exec = pick_unsigned(decoder, type, [](auto t) {
        using T = decltype(t);
        return unary<T>([](T a) { return T(0 - Wrap<T>(a)); });
    });
    emit_plain(decoder, exec, type, {type});
}

template <class T>
struct Min {
    T operator()(T a, T b) const { return smaller(a, b); }
};
template <class T>
struct Max {
    T operator()(T a, T b) const { return larger(a, b); }
};
template <template <class> class Pick>
void decode_min_max(Decoder& decoder) {
    bool relu = decoder.take("relu");
    int packed = decoder.take_one({"u16x2", "s16x2"});
    if (packed >= 0) {
        if (relu && packed == 0) refuse(decoder, ".relu is for signed types");
        Exec exec = packed == 0 ? binary<u32>([](u32 a, u32 b) { return halves<u16>(a, b, Pick<u16>{}); })
                    : relu      ? binary<u32>([](u32 a, u32 b) {
                          return halves<s16>(a, b, [](s16 x, s16 y) { return larger(Pick<s16>{}(x, y), s16(0)); });
                      })
                                : binary<u32>([](u32 a, u32 b) { return halves<s16>(a, b, Pick<s16>{}); });
        emit_plain(decoder, exec, Type::b32, {Type::b32, Type::b32});
        return;
    }
    Type type = decoder.take_type();
    Exec exec;
    if (relu) {
        if (type != Type::s32) refuse(decoder, ".relu is for .s32 and .s16x2");
        exec = binary<s32>([](s32 a, s32 b) { return larger(Pick<s32>{}(a, b), 0); });
    } else {
        exec = pick_integer(decoder, type, [](auto t) { return binary<decltype(t)>(Pick<decltype(t)>{}); });
    }
    emit_plain(decoder, exec, type, {type, type});
}

// --- counting and fields
void decode_popc(Decoder& decoder) {
    Type type = decoder.take_type();
    Exec exec = choose(decoder, type,
                       {{Type::b32, unary<u32>([](u32 a) { return popcount(a); })},
                        {Type::b64, unary<u32, u64>([](u64 a) { return popcount(a); })}});
    emit_plain(decoder, exec, Type::u32, {type});
}
void decode_clz(Decoder& decoder) {
    Type type = decoder.take_type();
    Exec exec = choose(decoder, type,
                       {{Type::b32, unary<u32>([](u32 a) { return u32(std::countl_zero(a)); })},
                        {Type::b64, unary<u32, u64>([](u64 a) { return u32(std::countl_zero(a)); })}});
    emit_plain(decoder, exec, Type::u32, {type});
}
template <class T>
Exec bfind_exec(bool shift) {
    return shift ? unary<u32, T>([](T a) { return find_leading(a, true); })
                 : unary<u32, T>([](T a) { return find_leading(a, false); });
}
void decode_bfind(Decoder& decoder) {
    bool shift = decoder.take("shiftamt");
    Type type = decoder.take_type();
    Exec exec = choose(decoder, type,
                       {{Type::u32, bfind_exec<u32>(shift)},
                        {Type::s32, bfind_exec<s32>(shift)},
                        {Type::u64, bfind_exec<u64>(shift)},
                        {Type::s64, bfind_exec<s64>(shift)}});
    emit_plain(decoder, exec, Type::u32, {type});
}
void decode_brev(Decoder& decoder) {
    Type type = decoder.take_type();
    Exec exec =
        choose(decoder, type,
               {{Type::b32, unary<u32>([](u32 a) { return reverse(a); })},
                {Type::b64, unary<u64>([](u64 a) { return u64(reverse(u32(a))) << 32 | reverse(u32(a >> 32)); })}});
    emit_plain(decoder, exec, type, {type});
}
template <class T>
Exec bfe_exec() {
    return ternary<T, T, u32, u32>([](T a, u32 p, u32 n) { return extract(a, p, n); });
}
void decode_bfe(Decoder& decoder) {
    Type type = decoder.take_type();
    Exec exec = choose(decoder, type,
                       {{Type::u32, bfe_exec<u32>()},
                        {Type::s32, bfe_exec<s32>()},
                        {Type::u64, bfe_exec<u64>()},
                        {Type::s64, bfe_exec<s64>()}});
    emit_plain(decoder, exec, type, {type, Type::u32, Type::u32});
}
template <class T>
void run_bfi(Warp& warp, const Op& op, uint32_t lanes) {
    const T *a = warp.row<T>(op.a), *b = warp.row<T>(op.b);
    const u32 *position = warp.row<u32>(op.c), *length = warp.row<u32>(op.d);
    each_lane(warp.row<T>(op.dst), lanes, [=](int i) { return insert(a[i], b[i], position[i], length[i]); });
}
void decode_bfi(Decoder& decoder) {
    Type type = decoder.take_type();
    Exec exec = choose(decoder, type, {{Type::b32, run_bfi<u32>}, {Type::b64, run_bfi<u64>}});
    emit_plain(decoder, exec, type, {type, type, Type::u32, Type::u32});
}
void decode_bmsk(Decoder& decoder) {
    int mode = decoder.take_one({"clamp", "wrap"});
    Type type = decoder.take_type();
    if (type != Type::b32 || mode < 0) refuse(decoder, "bmsk is .clamp.b32 or .wrap.b32");
    Exec exec = mode == 0 ? binary<u32>([](u32 a, u32 b) { return bit_mask(a, b, true); })
                          : binary<u32>([](u32 a, u32 b) { return bit_mask(a, b, false); });
    emit_plain(decoder, exec, type, {type, type});
}
template <class T>
Exec szext_exec(int mode) {
    return mode == 0 ? binary<T, T, u32>([](T a, u32 n) { return extend_from(a, n, true); })
                     : binary<T, T, u32>([](T a, u32 n) { return extend_from(a, n, false); });
}
void decode_szext(Decoder& decoder) {
    int mode = decoder.take_one({"clamp", "wrap"});
    Type type = decoder.take_type();
    if (mode < 0) refuse(decoder, "says neither .clamp nor .wrap");
    Exec exec = choose(decoder, type, {{Type::u32, szext_exec<u32>(mode)}, {Type::s32, szext_exec<s32>(mode)}});
    emit_plain(decoder, exec, type, {type, Type::u32});
}
void decode_fns(Decoder& decoder) {
    if (decoder.take_type() != Type::b32) refuse(decoder, "fns is .b32");
    Exec exec =
        ternary<u32, u32, u32, s32>([](u32 mask, u32 base, s32 offset) { return find_nth_set(mask, base, offset); });
    emit_plain(decoder, exec, Type::b32, {Type::b32, Type::b32, Type::s32});
}

// --- dot products
template <int parts>  // 4: dp4a, 2: dp2a
void run_dot(Warp& warp, const Op& op, uint32_t lanes) {
    const u32 *a = warp.row<u32>(op.a), *b = warp.row<u32>(op.b), *c = warp.row<u32>(op.c);
    const bool a_signed = op.small[0], b_signed = op.small[1];
    const int first = op.small[2];  // dp2a: which bytes of b
    each_lane(warp.row<u32>(op.dst), lanes, [=](int i) {
        u32 sum = c[i];
        for (int k = 0; k < parts; ++k) {
            s32 x = parts == 4 ? byte_of(a[i], k, a_signed) : half_of(a[i], k, a_signed);
            sum += u32(x) * u32(byte_of(b[i], first + k, b_signed));
        }
        return sum;
    });
}
void decode_dot(Decoder& decoder, bool four) {
    int part = four ? 0 : decoder.take_one({"lo", "hi"});
    Type a = decoder.take_type(), b = decoder.take_type();
    auto word = [](Type t) { return t == Type::u32 || t == Type::s32; };
    if (!word(a) || !word(b) || part < 0) refuse(decoder);
    Op& op = emit_plain(decoder, four ? run_dot<4> : run_dot<2>, Type::b32, {Type::b32, Type::b32, Type::b32});
    op.small[0] = a == Type::s32, op.small[1] = b == Type::s32, op.small[2] = u8(2 * part);
}

void run_permute_mode(Warp& warp, const Op& op, uint32_t lanes) {
    const u32 *a = warp.row<u32>(op.a), *b = warp.row<u32>(op.b), *c = warp.row<u32>(op.c);
    const u32* selectors = permute_modes[op.small[0]];
    each_lane(warp.row<u32>(op.dst), lanes, [=](int i) { return permute(a[i], b[i], selectors[c[i] & 3]); });
}
void decode_prmt(Decoder& decoder) {
    if (decoder.take_type() != Type::b32) refuse(decoder, "prmt is .b32");
    int mode = decoder.take_one({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
    Exec exec = mode >= 0 ? run_permute_mode : ternary<u32>([](u32 a, u32 b, u32 c) { return permute(a, b, c); });
    emit_plain(decoder, exec, Type::b32, {Type::b32, Type::b32, Type::b32}).small[0] = u8(mode < 0 ? 0 : mode);
}

// --- logic
template <class F>
void decode_logic(Decoder& decoder, F f) {
    Type type = decoder.take_type();
    if (type == Type::pred) {
        uint32_t a = decoder.predicate_source(1).offset, b = decoder.predicate_source(2).offset;
        Row result = decoder.destination(0, Type::pred);
        Op& op = decoder.emit(on_masks([](u32 x, u32 y, u32) { return F{}(x, y); }));
        op.dst = result.offset, op.a = a, op.b = b, op.c = a;
        return;
    }
    if (!is_bits(type)) refuse(decoder, "logic is for .pred and .b types");
    (void)f;
    Exec exec = pick_unsigned(decoder, type, [](auto t) {
        using T = decltype(t);
        return binary<T>([](T a, T b) { return T(F{}(a, b)); });
    });
    emit_plain(decoder, exec, type, {type, type});
}
void decode_not(Decoder& decoder) {
    Type type = decoder.take_type();
    if (type == Type::pred) {
        uint32_t a = decoder.predicate_source(1).offset;
        Row result = decoder.destination(0, Type::pred);
        Op& op = decoder.emit(on_masks([](u32 x, u32, u32) { return ~x; }));
        op.dst = result.offset, op.a = op.b = op.c = a;
        return;
    }
    if (!is_bits(type)) refuse(decoder, "logic is for .pred and .b types");
    Exec exec = pick_unsigned(decoder, type, [](auto t) {
        using T = decltype(t);
        return unary<T>([](T a) { return T(~a); });
    });
    emit_plain(decoder, exec, type, {type});
}
void decode_cnot(Decoder& decoder) {
    Type type = decoder.take_type();
    if (!is_bits(type)) refuse(decoder, "logic is for .b types");
    Exec exec = pick_unsigned(decoder, type, [](auto t) {
        using T = decltype(t);
        return unary<T>([](T a) { return T(a == 0); });
    });
    emit_plain(decoder, exec, type, {type});
}

// f(a, b, c) by truth table, as a tree of selects between eight masks that are the same for all lanes.
struct Truth {
    u32 m[8];
    explicit Truth(u32 lut) {
        for (int k = 0; k < 8; ++k) m[k] = (lut >> k) & 1 ? ~0u : 0;
    }
    u32 operator()(u32 a, u32 b, u32 c) const {
        u32 low = pick(b, pick(c, m[3], m[2]), pick(c, m[1], m[0]));
        u32 up = pick(b, pick(c, m[7], m[6]), pick(c, m[5], m[4]));
        return pick(a, up, low);
    }
    static u32 pick(u32 mask, u32 ones, u32 zeros) { return (mask & ones) | (~mask & zeros); }
};
void run_lop3(Warp& warp, const Op& op, uint32_t lanes) {
    const u32 *a = warp.row<u32>(op.a), *b = warp.row<u32>(op.b), *c = warp.row<u32>(op.c);
    const Truth truth{u32(op.imm)};
    each_lane(warp.row<u32>(op.dst), lanes, [=](int i) { return truth(a[i], b[i], c[i]); });
}
// lop3.or / lop3.and: also p = (d != 0) op q.  Row `d` is q; small[0]: 1 for .or
void run_lop3_predicate(Warp& warp, const Op& op, uint32_t lanes) {
    const u32 q = warp.predicate(op.d);
    run_lop3(warp, op, lanes);
    const u32* d = warp.row<u32>(op.dst);
    u32 nonzero = 0;
    for (int i = 0; i < warp_size; ++i) nonzero |= u32(d[i] != 0) << i;
    write_mask(warp, op.dst2, lanes, op.small[0] ? nonzero | q : nonzero & q);
}
uint32_t lop3_table(Decoder& decoder) {
    const ptx::Operand& lut = decoder.operand(4);
    if (lut.kind != ptx::OperandKind::integer || lut.bits > 255) refuse(decoder, "the truth table is 0 to 255");
    return uint32_t(lut.bits);
}
void decode_lop3(Decoder& decoder) {
    int combine = decoder.take_one({"and", "or"});
    if (decoder.take_type() != Type::b32) refuse(decoder, "lop3 is .b32");
    if (decoder.count() != (combine < 0 ? 5u : 6u)) refuse(decoder, "wrong number of operands");
    uint32_t lut = lop3_table(decoder);
    uint32_t a = decoder.source(1, Type::b32).offset, b = decoder.source(2, Type::b32).offset,
             c = decoder.source(3, Type::b32).offset;
    if (combine < 0) {
        Row result = decoder.destination(0, Type::b32);
        Op& op = decoder.emit(run_lop3);
        op.dst = result.offset, op.a = a, op.b = b, op.c = c, op.imm = lut;
        return;
    }
    PairOperands pair(decoder.operand(0));
    if (!pair.has_second) refuse(decoder, "needs d|p");
    uint32_t q = decoder.predicate_source(5).offset;
    Row result = decoder.destination(pair.first, Type::b32), predicate = decoder.destination(pair.second, Type::pred);
    Op& op = decoder.emit(run_lop3_predicate);
    op.dst = result.offset, op.dst2 = predicate.offset, op.a = a, op.b = b, op.c = c, op.d = q;
    op.imm = lut, op.small[0] = u8(combine);
}

// --- shifts
void decode_shl(Decoder& decoder) {
    Type type = decoder.take_type();
    if (!is_bits(type)) refuse(decoder, "shl is for .b types");
    Exec exec = pick_unsigned(decoder, type, [](auto t) {
        using T = decltype(t);
        return binary<T, T, u32>([](T a, u32 n) { return shift_left(a, n); });
    });
    emit_plain(decoder, exec, type, {type, Type::u32});
}
void decode_shr(Decoder& decoder) {
    Type type = decoder.take_type();
    auto make = [](auto t) {
        using T = decltype(t);
        return binary<T, T, u32>([](T a, u32 n) { return shift_right(a, n); });
    };
    Exec exec = is_bits(type) ? pick_unsigned(decoder, type, make) : pick_integer(decoder, type, make);
    emit_plain(decoder, exec, type, {type, Type::u32});
}
void decode_shf(Decoder& decoder) {
    int direction = decoder.take_one({"l", "r"}), mode = decoder.take_one({"clamp", "wrap"});
    if (decoder.take_type() != Type::b32 || direction < 0 || mode < 0) refuse(decoder);
    // [b:a] is one 64-bit value; .l gives its upper word after the shift, .r its lower.
    Exec execs[2][2] = {
        {ternary<u32>([](u32 a, u32 b, u32 n) { return u32(((u64(b) << 32 | a) << (n < 32 ? n : 32)) >> 32); }),
         ternary<u32>([](u32 a, u32 b, u32 n) { return u32(((u64(b) << 32 | a) << (n & 31)) >> 32); })},
        {ternary<u32>([](u32 a, u32 b, u32 n) { return u32((u64(b) << 32 | a) >> (n < 32 ? n : 32)); }),
         ternary<u32>([](u32 a, u32 b, u32 n) { return u32((u64(b) << 32 | a) >> (n & 31)); })}};
    emit_plain(decoder, execs[direction][mode], Type::b32, {Type::b32, Type::b32, Type::u32});
}

// --- moves
struct Wide128 {
    u64 low, high;
};
template <class Part, class Whole>
void run_pack(Warp& warp, const Op& op, uint32_t lanes) {  // rows of the parts in `extra`
    constexpr int n = int(sizeof(Whole) / sizeof(Part));
    const auto* rows = static_cast<const uint32_t*>(op.extra);
    Part packed[warp_size * n];
    for (int k = 0; k < n; ++k) {
        const Part* part = warp.row<Part>(rows[k]);
        for (int i = 0; i < warp_size; ++i) packed[i * n + k] = part[i];
    }
    Part* d = warp.row<Part>(op.dst);
    if (lanes == all_lanes)
        std::memcpy(d, packed, sizeof packed);
    else
        each_active(lanes, [&](int i) { std::memcpy(d + i * n, packed + i * n, sizeof(Whole)); });
}
template <class Part, class Whole>
void run_unpack(Warp& warp, const Op& op, uint32_t lanes) {
    constexpr int n = int(sizeof(Whole) / sizeof(Part));
    const auto* rows = static_cast<const uint32_t*>(op.extra);
    Part whole[warp_size * n];  // a copy: a part may be written where the source lies
    std::memcpy(whole, warp.row<Part>(op.a), sizeof whole);
    for (int k = 0; k < n; ++k) each_lane(warp.row<Part>(rows[k]), lanes, [&](int i) { return whole[i * n + k]; });
}
// Parts of eight bits, which registers of 16 hold.
template <class Whole>
void run_pack_bytes(Warp& warp, const Op& op, uint32_t lanes) {
    const auto* rows = static_cast<const uint32_t*>(op.extra);
    Whole packed[warp_size] = {};
    for (size_t k = 0; k < sizeof(Whole); ++k) {
        const u16* part = warp.row<u16>(rows[k]);
        for (int i = 0; i < warp_size; ++i) packed[i] = Whole(packed[i] | Whole(part[i] & 0xff) << (8 * k));
    }
    each_lane(warp.row<Whole>(op.dst), lanes, [&](int i) { return packed[i]; });
}
template <class Whole>
void run_unpack_bytes(Warp& warp, const Op& op, uint32_t lanes) {
    const auto* rows = static_cast<const uint32_t*>(op.extra);
    Whole whole[warp_size];
    std::memcpy(whole, warp.row<Whole>(op.a), sizeof whole);
    for (size_t k = 0; k < sizeof(Whole); ++k)
        each_lane(warp.row<u16>(rows[k]), lanes, [&](int i) { return u16((whole[i] >> (8 * k)) & 0xff); });
}
Type unsigned_of(int bytes) {
    return bytes == 1 ? Type::b8 : bytes == 2 ? Type::b16 : bytes == 4 ? Type::b32 : Type::b64;
}
void decode_vector_move(Decoder& decoder, Type type) {
    bool packs = decoder.operand(1).kind == ptx::OperandKind::vector;
    const auto& elements = decoder.operand(packs ? 1 : 0).elements;
    int whole = bytes_of(type), n = int(elements.size());
    struct Shape {
        int part, whole;
        Exec pack, unpack;
    };
    static const Shape shapes[] = {
        {1, 2, run_pack_bytes<u16>, run_unpack_bytes<u16>},
        {1, 4, run_pack_bytes<u32>, run_unpack_bytes<u32>},
        {2, 4, run_pack<u16, u32>, run_unpack<u16, u32>},
        {2, 8, run_pack<u16, u64>, run_unpack<u16, u64>},
        {4, 8, run_pack<u32, u64>, run_unpack<u32, u64>},
        {4, 16, run_pack<u32, Wide128>, run_unpack<u32, Wide128>},
        {8, 16, run_pack<u64, Wide128>, run_unpack<u64, Wide128>},
    };
    for (const Shape& shape : shapes) {
        if (shape.whole != whole || shape.part * n != whole) continue;
        auto rows = std::make_shared<std::vector<uint32_t>>();
        Type part = unsigned_of(shape.part);
        for (const ptx::Operand& element : elements)
            rows->push_back(packs ? decoder.source(element, part).offset : decoder.destination(element, part).offset);
        uint32_t other = packs ? decoder.destination(0, type).offset : decoder.source(1, type).offset;
        const uint32_t* data = rows->data();
        decoder.keep(rows);
        Op& op = decoder.emit(packs ? shape.pack : shape.unpack);
        (packs ? op.dst : op.a) = other;
        op.extra = data;
        return;
    }
    refuse(decoder, "the vector's elements do not fill the register");
}
void decode_mov(Decoder& decoder) {
    Type type = decoder.take_type();
    if (type == Type::pred) {
        uint32_t a = decoder.predicate_source(1).offset;
        Row result = decoder.destination(0, Type::pred);
        Op& op = decoder.emit(on_masks([](u32 x, u32, u32) { return x; }));
        op.dst = result.offset, op.a = op.b = op.c = a;
        return;
    }
    if (decoder.count() != 2) refuse(decoder, "wrong number of operands");
    if (decoder.take("v4")) {  // of a special register: mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid
        const ptx::Operand &to = decoder.operand(0), &from = decoder.operand(1);
        if (type != Type::u32 || from.kind != ptx::OperandKind::special || to.elements.size() != 4) refuse(decoder);
        for (size_t k = 0; k < 4; ++k) {
            ptx::Operand component = from;
            component.name += std::string(".") + "xyzw"[k];
            const uint32_t a = decoder.source(component, type).offset,
                           d = decoder.destination(to.elements[k], type).offset;
            Op& op = decoder.emit(unary<u32>([](u32 x) { return x; }));
            op.dst = d, op.a = a;
        }
        return;
    }
    if (decoder.operand(0).kind == ptx::OperandKind::vector || decoder.operand(1).kind == ptx::OperandKind::vector)
        return decode_vector_move(decoder, type);
    Exec exec;
    switch (bytes_of(type)) {
        case 2: exec = unary<u16>([](u16 a) { return a; }); break;
        case 4: exec = unary<u32>([](u32 a) { return a; }); break;
        case 8: exec = unary<u64>([](u64 a) { return a; }); break;
        case 16: exec = unary<Wide128>([](Wide128 a) { return a; }); break;
        default: refuse(decoder, "not a type that registers hold");
    }
    emit_plain(decoder, exec, type, {type});
}

}  // namespace

// add, sub, mul, mad, min, max, abs, neg are also floating point's: register_float and register_half own those opcodes
// for their types and fall back on these.
void decode_integer_add(Decoder& decoder) { decode_add_sub(decoder, false); }
void decode_integer_sub(Decoder& decoder) { decode_add_sub(decoder, true); }
void decode_integer_mul(Decoder& decoder) { decode_multiply(decoder, false); }
void decode_integer_mad(Decoder& decoder) { decode_multiply(decoder, true); }
void decode_integer_div(Decoder& decoder) { decode_divide(decoder, false); }
void decode_integer_abs(Decoder& decoder) { decode_abs(decoder); }
void decode_integer_neg(Decoder& decoder) { decode_neg(decoder); }
void decode_integer_min(Decoder& decoder) { decode_min_max<Min>(decoder); }
void decode_integer_max(Decoder& decoder) { decode_min_max<Max>(decoder); }

void register_integer(OperationTable& table) {
    register_video(table);
    table.add("addc", [](Decoder& d) { decode_carry(d, false, true); }, {Effect::writes_first});
    table.add("subc", [](Decoder& d) { decode_carry(d, true, true); }, {Effect::writes_first});
    table.add("madc", decode_madc, {Effect::writes_first});
    table.add("mul24", [](Decoder& d) { decode_multiply24(d, false); }, {Effect::pure});
    table.add("mad24", [](Decoder& d) { decode_multiply24(d, true); }, {Effect::pure});
    table.add("sad", decode_sad, {Effect::pure});
    table.add("rem", [](Decoder& d) { decode_divide(d, true); }, {Effect::pure});
    table.add("popc", decode_popc, {Effect::pure});
    table.add("clz", decode_clz, {Effect::pure});
    table.add("bfind", decode_bfind, {Effect::pure});
    table.add("brev", decode_brev, {Effect::pure});
    table.add("bfe", decode_bfe, {Effect::pure});
    table.add("bfi", decode_bfi, {Effect::pure});
    table.add("bmsk", decode_bmsk);
    table.add("szext", decode_szext);
    table.add("fns", decode_fns);
    table.add("dp4a", [](Decoder& d) { decode_dot(d, true); }, {Effect::writes_first});
    table.add("dp2a", [](Decoder& d) { decode_dot(d, false); }, {Effect::writes_first});
    table.add("prmt", decode_prmt, {Effect::pure});
    table.add("and", [](Decoder& d) { decode_logic(d, [](auto a, auto b) { return a & b; }); }, {Effect::pure});
    table.add("or", [](Decoder& d) { decode_logic(d, [](auto a, auto b) { return a | b; }); }, {Effect::pure});
    table.add("xor", [](Decoder& d) { decode_logic(d, [](auto a, auto b) { return a ^ b; }); }, {Effect::pure});
    table.add("not", decode_not, {Effect::pure});
    table.add("cnot", decode_cnot, {Effect::pure});
    table.add("lop3", decode_lop3, {Effect::pure});
    table.add("shl", decode_shl, {Effect::pure});
    table.add("shr", decode_shr, {Effect::pure});
    table.add("shf", decode_shf, {Effect::pure});
    table.add("mov", decode_mov, {.effect = Effect::pure, .moves = true});
}

}  // namespace softcuda::SOFTCUDA_LEVEL
