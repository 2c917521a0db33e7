// The shapes lane instructions come in (one operand, two, three), and how decode functions choose among them.
//
// A family writes its tables as  {Type::u32, binary<uint32_t>([](uint32_t a, uint32_t b) { return a + b; })}.
#pragma once

#include <initializer_list>

#include "machine/decode.h"
#include "machine/lanes.h"

namespace softcuda::SOFTCUDA_LEVEL {

using ptx::Type;

// decoder.unsupported(), which GCC 12 does not know to be noreturn through a virtual call.
[[noreturn]] inline void refuse(Decoder& decoder, const char* why = "") {
    decoder.unsupported(why);
    __builtin_unreachable();
}

// D is the element type of the result's row; A, B, C are those of the operands'.  F is a captureless lambda.
template <class D, class A, class F>
void run_unary(Warp& warp, const Op& op, uint32_t lanes) {
    each_frame(warp, [&op, lanes](std::byte* frame) {
        const A* a = row_in<A>(frame, op.a);
        each_lane(row_in<D>(frame, op.dst), lanes, [=](int i) -> D { return F{}(a[i]); });
    });
}
template <class D, class A, class B, class F>
void run_binary(Warp& warp, const Op& op, uint32_t lanes) {
    each_frame(warp, [&op, lanes](std::byte* frame) {
        const A* a = row_in<A>(frame, op.a);
        const B* b = row_in<B>(frame, op.b);
        each_lane(row_in<D>(frame, op.dst), lanes, [=](int i) -> D { return F{}(a[i], b[i]); });
    });
}
template <class D, class A, class B, class C, class F>
void run_ternary(Warp& warp, const Op& op, uint32_t lanes) {
    each_frame(warp, [&op, lanes](std::byte* frame) {
        const A* a = row_in<A>(frame, op.a);
        const B* b = row_in<B>(frame, op.b);
        const C* c = row_in<C>(frame, op.c);
        each_lane(row_in<D>(frame, op.dst), lanes, [=](int i) -> D { return F{}(a[i], b[i], c[i]); });
    });
}

template <class D, class A = D, class F>
constexpr Exec unary(F) {
    return run_unary<D, A, F>;
}
template <class D, class A = D, class B = A, class F>
constexpr Exec binary(F) {
    return run_binary<D, A, B, F>;
}
template <class D, class A = D, class B = A, class C = D, class F>
constexpr Exec ternary(F) {
    return run_ternary<D, A, B, C, F>;
}

// Predicates are masks: one word for all lanes.
inline void write_mask(std::byte* frame, uint32_t row, uint32_t lanes, uint32_t bits) {
    uint32_t& mask = *row_in<uint32_t>(frame, row);
    mask = (mask & ~lanes) | (bits & lanes);
}
inline void write_mask(Warp& warp, uint32_t row, uint32_t lanes, uint32_t bits) {
    write_mask(warp.frame, row, lanes, bits);
}
template <class F>
constexpr Exec on_masks(F) {  // F: (a, b, c) -> mask
    return [](Warp& warp, const Op& op, uint32_t lanes) {
        each_frame(warp, [&op, lanes](std::byte* frame) {
            auto mask = [=](uint32_t row) { return *row_in<uint32_t>(frame, row); };
            write_mask(frame, op.dst, lanes, F{}(mask(op.a), mask(op.b), mask(op.c)));
        });
    };
}

struct Choice {
    Type type;
    Exec exec;
};
// The function for this type; none is an error at load.
inline Exec choose(Decoder& decoder, Type type, std::initializer_list<Choice> choices) {
    for (const Choice& choice : choices)
        if (choice.type == type) return choice.exec;
    refuse(decoder, "no such operation for this type");
}

// What an instruction with up to four sources and one result needs; an operand's type is given by `types`.
inline Op& emit_plain(Decoder& decoder, Exec exec, Type result, std::initializer_list<Type> sources) {
    uint32_t rows[4] = {};
    size_t n = 0;
    if (decoder.count() != sources.size() + 1) refuse(decoder, "wrong number of operands");
    for (Type type : sources) {
        rows[n] = type == Type::pred ? decoder.predicate_source(n + 1).offset : decoder.source(n + 1, type).offset;
        ++n;
    }
    Row result_row = decoder.destination(0, result);
    Op& op = decoder.emit(exec);
    op.dst = result_row.offset;
    op.a = rows[0], op.b = rows[1], op.c = rows[2], op.d = rows[3];
    return op;
}

// Which comparison an instruction names, as an index into this list; -1: none.
inline int take_comparison(Decoder& decoder) {
    return decoder.take_one({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi",  //
                             "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
}

// The destination `p`, `p|q` or `d|p`; either half may be `_`.
struct PairOperands {
    ptx::Operand first, second;
    bool has_second;
    explicit PairOperands(const ptx::Operand& pair) : first(pair), second(pair) {
        has_second = pair.kind == ptx::OperandKind::reg_pair;
        if (!has_second) return;
        first.kind = pair.reg == ptx::sink_register ? ptx::OperandKind::sink : ptx::OperandKind::reg;
        second.kind = pair.reg2 == ptx::sink_register ? ptx::OperandKind::sink : ptx::OperandKind::reg;
        second.reg = pair.reg2;
    }
};
struct PredicatePair {
    uint32_t first, second;
    bool has_second;
    explicit PredicatePair(Decoder& decoder) {
        PairOperands pair(decoder.operand(0));
        has_second = pair.has_second;
        first = decoder.destination(pair.first, Type::pred).offset;
        second = has_second ? decoder.destination(pair.second, Type::pred).offset : first;
    }
};

inline bool is_signed(Type type) {
    return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}
inline bool is_integer(Type type) {
    return is_signed(type) || type == Type::u8 || type == Type::u16 || type == Type::u32 || type == Type::u64;
}
inline bool is_bits(Type type) {
    return type == Type::b8 || type == Type::b16 || type == Type::b32 || type == Type::b64;
}
inline bool is_half(Type type) {
    return type == Type::f16 || type == Type::bf16 || type == Type::f16x2 || type == Type::bf16x2;
}

}  // namespace softcuda::SOFTCUDA_LEVEL
