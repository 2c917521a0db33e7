// Lanes among themselves: shuffles, votes, matches, reductions, barriers.
#include "machine/block.h"
#include "machine/decode.h"
#include "machine/float_rounding.h"
#include "machine/lanes.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using ptx::Type;

// Lanes that share a member mask form one operation; a converged warp may run several at once (two half-warp tiles).
// f(lanes of one operation).
template <class F>
void each_operation(Warp& warp, uint32_t mask_row, uint32_t lanes, F f) {
    if (mask_row == 0) return f(lanes);
    const uint32_t* mask = warp.row<uint32_t>(mask_row);
    while (lanes) {
        uint32_t same = 0, wanted = mask[std::countr_zero(lanes)];
        for (int i = 0; i < warp_size; ++i) same |= uint32_t(mask[i] == wanted) << i;
        same &= lanes;
        f(same);
        lanes &= ~same;
    }
}

const MeetShape* keep_shape(Decoder& decoder, MeetShape shape) {
    return static_cast<const MeetShape*>(decoder.keep(std::make_shared<MeetShape>(shape)));
}

// --- shfl: dst, dst2 (in range), a, b (lane or distance), c (clamp and segment), d (members)

enum class Shuffle : uint8_t { up, down, bfly, idx };

template <Shuffle mode, bool predicate>
void exec_shfl(Warp& warp, const Op& op, uint32_t lanes) {
    const uint32_t* a = warp.row<uint32_t>(op.a);
    const uint32_t* b = warp.row<uint32_t>(op.b);
    const uint32_t* c = warp.row<uint32_t>(op.c);
    alignas(64) uint32_t from[warp_size];
    uint32_t inside = 0;
    for (int i = 0; i < warp_size; ++i) {
        int lane = i, distance = int(b[i] & 31), clamp = int(c[i] & 31), segment = int((c[i] >> 8) & 31);
        int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
        int source = 0;
        bool in_range = false;
        if constexpr (mode == Shuffle::up) source = lane - distance, in_range = source >= last;
        if constexpr (mode == Shuffle::down) source = lane + distance, in_range = source <= last;
        if constexpr (mode == Shuffle::bfly) source = lane ^ distance, in_range = source <= last;
        if constexpr (mode == Shuffle::idx) source = first | (distance & ~segment), in_range = source <= last;
        source = in_range ? source : lane;
        from[i] = a[source & 31];
        inside |= uint32_t(in_range) << i;
    }
    uint32_t* d = warp.row<uint32_t>(op.dst);
    each_lane(d, lanes, [&](int i) { return from[i]; });
    if constexpr (predicate) {
        uint32_t& p = warp.predicate(op.dst2);
        p = (p & ~lanes) | (inside & lanes);
    }
}

void decode_shfl(Decoder& decoder) {
    const bool sync = decoder.take("sync");
    const int mode = decoder.take_one({"up", "down", "bfly", "idx"});
    if (mode < 0 || !decoder.take("b32")) decoder.unsupported();
    const ptx::Operand& result = decoder.operand(0);
    const bool predicate = result.kind == ptx::OperandKind::reg_pair && result.reg2 >= 0;
    Row a = decoder.source(1, Type::b32), b = decoder.source(2, Type::b32), c = decoder.source(3, Type::b32);
    Row members = sync ? decoder.source(4, Type::b32) : Row{};
    Row d = decoder.destination(0, Type::b32), p;
    if (predicate) {
        ptx::Operand second = result;
        second.kind = ptx::OperandKind::reg;
        second.reg = result.reg2;
        p = decoder.destination(second, Type::pred);
    }
    constexpr Exec table[4][2] = {{exec_shfl<Shuffle::up, false>, exec_shfl<Shuffle::up, true>},
                                  {exec_shfl<Shuffle::down, false>, exec_shfl<Shuffle::down, true>},
                                  {exec_shfl<Shuffle::bfly, false>, exec_shfl<Shuffle::bfly, true>},
                                  {exec_shfl<Shuffle::idx, false>, exec_shfl<Shuffle::idx, true>}};
    const MeetShape* shape = keep_shape(
        decoder, {.dst = 4, .dst2 = predicate ? uint8_t(0) : MeetShape::unused, .a = 4, .b = 4, .c = 4, .d = 4});
    Op& op = decoder.emit(table[mode][predicate]);
    op.dst = d.offset, op.dst2 = p.offset, op.a = a.offset, op.b = b.offset, op.c = c.offset;
    if (sync) {
        op.d = members.offset;
        op.flow = Flow::meet;
        op.extra = shape;
    }
}

// --- vote: dst, a (predicate), d (members)

enum class Vote : uint8_t { all, any, uni, ballot };

template <Vote mode>
void exec_vote(Warp& warp, const Op& op, uint32_t lanes) {
    const uint32_t votes = warp.predicate(op.a);
    each_operation(warp, op.d, lanes, [&](uint32_t members) {
        const uint32_t yes = votes & members;
        if constexpr (mode == Vote::ballot) {
            each_lane(warp.row<uint32_t>(op.dst), members, [&](int) { return yes; });
        } else {
            bool result = mode == Vote::all   ? yes == members
                          : mode == Vote::any ? yes != 0
                                              : yes == members || yes == 0;
            uint32_t& p = warp.predicate(op.dst);
            p = result ? p | members : p & ~members;
        }
    });
}

void decode_vote(Decoder& decoder) {
    const bool sync = decoder.take("sync");
    const int mode = decoder.take_one({"all", "any", "uni", "ballot"});
    if (mode < 0 || !decoder.take(mode == 3 ? "b32" : "pred")) decoder.unsupported();
    Row a = decoder.predicate_source(1);
    Row members = sync ? decoder.source(2, Type::b32) : Row{};
    Row d = decoder.destination(0, mode == 3 ? Type::b32 : Type::pred);
    constexpr Exec table[4] = {exec_vote<Vote::all>, exec_vote<Vote::any>, exec_vote<Vote::uni>,
                               exec_vote<Vote::ballot>};
    const MeetShape* shape = keep_shape(decoder, {.dst = mode == 3 ? uint8_t(4) : uint8_t(0), .a = 0, .d = 4});
    Op& op = decoder.emit(table[mode]);
    op.dst = d.offset, op.a = a.offset;
    if (sync) {
        op.d = members.offset;
        op.flow = Flow::meet;
        op.extra = shape;
    }
}

void exec_activemask(Warp& warp, const Op& op, uint32_t lanes) {
    each_lane(warp.row<uint32_t>(op.dst), lanes, [=](int) { return lanes; });
}

void decode_activemask(Decoder& decoder) {
    if (!decoder.take("b32")) decoder.unsupported();
    Row d = decoder.destination(0, Type::b32);
    decoder.emit(exec_activemask).dst = d.offset;
}

// --- match: dst, dst2 (all), a, d (members)

template <class T, bool all>
void exec_match(Warp& warp, const Op& op, uint32_t lanes) {
    T a[warp_size];
    std::memcpy(a, warp.row<T>(op.a), sizeof a);
    each_operation(warp, op.d, lanes, [&](uint32_t members) {
        uint32_t* d = warp.row<uint32_t>(op.dst);
        if constexpr (all) {
            const T wanted = a[std::countr_zero(members)];
            bool same = true;
            each_active(members, [&](int i) { same = same && a[i] == wanted; });
            each_active(members, [&](int i) { d[i] = same ? members : 0; });
            uint32_t& p = warp.predicate(op.dst2);
            p = same ? p | members : p & ~members;
        } else {
            each_active(members, [&](int i) {
                uint32_t same = 0;
                for (int k = 0; k < warp_size; ++k) same |= uint32_t(a[k] == a[i]) << k;
                d[i] = same & members;
            });
        }
    });
}

void decode_match(Decoder& decoder) {
    const int mode = decoder.take_one({"any", "all"});
    if (mode < 0 || !decoder.take("sync")) decoder.unsupported();
    const int wide = decoder.take_one({"b32", "b64"});
    if (wide < 0) decoder.unsupported();
    Row a = decoder.source(1, wide ? Type::b64 : Type::b32);
    Row members = decoder.source(2, Type::b32);
    Row d = decoder.destination(0, Type::b32);
    Row p = decoder.scratch(0);
    const ptx::Operand& result = decoder.operand(0);
    if (result.kind == ptx::OperandKind::reg_pair && result.reg2 >= 0) {
        ptx::Operand second = result;
        second.kind = ptx::OperandKind::reg;
        second.reg = result.reg2;
        p = decoder.destination(second, Type::pred);
    }
    constexpr Exec table[2][2] = {{exec_match<uint32_t, false>, exec_match<uint64_t, false>},
                                  {exec_match<uint32_t, true>, exec_match<uint64_t, true>}};
    const MeetShape* shape = keep_shape(
        decoder,
        {.dst = 4, .dst2 = mode ? uint8_t(0) : MeetShape::unused, .a = wide ? uint8_t(8) : uint8_t(4), .d = 4});
    Op& op = decoder.emit(table[mode][wide]);
    op.dst = d.offset, op.dst2 = p.offset, op.a = a.offset, op.d = members.offset;
    op.flow = Flow::meet;
    op.extra = shape;
}

// --- redux: dst, a, d (members)

template <class T, class F>
void exec_redux(Warp& warp, const Op& op, uint32_t lanes) {
    each_operation(warp, op.d, lanes, [&](uint32_t members) {
        const T* a = warp.row<T>(op.a);
        T result = a[std::countr_zero(members)];
        each_active(members & (members - 1), [&](int i) { result = F{}(result, a[i]); });
        each_lane(warp.row<T>(op.dst), members, [=](int) { return result; });
    });
}
template <class T, class F>
constexpr Exec redux(F) {
    return exec_redux<T, F>;
}

Exec choose_redux(int operation, Type type) {
    if (operation >= 3) {
        if (type != Type::b32) return nullptr;
        if (operation == 3) return redux<uint32_t>([](uint32_t a, uint32_t b) { return a & b; });
        if (operation == 4) return redux<uint32_t>([](uint32_t a, uint32_t b) { return a | b; });
        return redux<uint32_t>([](uint32_t a, uint32_t b) { return a ^ b; });
    }
    if (type != Type::u32 && type != Type::s32) return nullptr;
    const bool s = type == Type::s32;
    if (operation == 0) return redux<uint32_t>([](uint32_t a, uint32_t b) { return a + b; });
    if (operation == 1)
        return s ? redux<int32_t>([](int32_t a, int32_t b) { return a < b ? a : b; })
                 : redux<uint32_t>([](uint32_t a, uint32_t b) { return a < b ? a : b; });
    return s ? redux<int32_t>([](int32_t a, int32_t b) { return a < b ? b : a; })
             : redux<uint32_t>([](uint32_t a, uint32_t b) { return a < b ? b : a; });
}

// A NaN loses against a number, or wins (.NaN).
template <bool maximum, bool absolute, bool nan>
void exec_redux_float(Warp& warp, const Op& op, uint32_t lanes) {
    each_operation(warp, op.d, lanes, [&](uint32_t members) {
        auto value = [&](int i) {
            const float x = warp.row<float>(op.a)[i];
            return absolute ? std::fabs(x) : x;
        };
        float result = value(std::countr_zero(members));
        each_active(members & (members - 1), [&](int i) {
            const float x = value(i);
            result = nan && (x != x || result != result) ? canonical_nan() : pick_extreme<float, maximum>(result, x);
        });
        result = canonical(result);
        each_lane(warp.row<float>(op.dst), members, [=](int) { return result; });
    });
}
template <bool maximum>
Exec redux_float(bool absolute, bool nan) {
    if (absolute) return nan ? exec_redux_float<maximum, true, true> : exec_redux_float<maximum, true, false>;
    return nan ? exec_redux_float<maximum, false, true> : exec_redux_float<maximum, false, false>;
}

void decode_redux(Decoder& decoder) {
    if (!decoder.take("sync")) decoder.unsupported();
    const int operation = decoder.take_one({"add", "min", "max", "and", "or", "xor"});
    const Type type = decoder.take_type();
    Exec exec = nullptr;
    if (type != Type::f32) {
        exec = choose_redux(operation, type);
    } else if (operation == 1 || operation == 2) {
        const bool absolute = decoder.take("abs"), nan = decoder.take("NaN");
        exec = operation == 1 ? redux_float<false>(absolute, nan) : redux_float<true>(absolute, nan);
    }
    if (!exec) decoder.unsupported("no such operation for this type");
    Row a = decoder.source(1, Type::b32), members = decoder.source(2, Type::b32), d = decoder.destination(0, Type::b32);
    const MeetShape* shape = keep_shape(decoder, {.dst = 4, .a = 4, .d = 4});
    Op& op = decoder.emit(exec);
    op.dst = d.offset, op.a = a.offset, op.d = members.offset;
    op.flow = Flow::meet;
    op.extra = shape;
}

// --- elect: the lowest member is the leader

void exec_elect(Warp& warp, const Op& op, uint32_t lanes) {
    each_operation(warp, op.d, lanes, [&](uint32_t members) {
        const auto leader = static_cast<uint32_t>(std::countr_zero(members));
        each_lane(warp.row<uint32_t>(op.dst), members, [=](int) { return leader; });
        uint32_t& p = warp.predicate(op.dst2);
        p = (p & ~members) | (1u << leader);
    });
}

void decode_elect(Decoder& decoder) {
    if (!decoder.take("sync")) decoder.unsupported();
    Row members = decoder.source(1, Type::b32), d = decoder.destination(0, Type::b32);
    ptx::Operand second = decoder.operand(0);
    second.kind = ptx::OperandKind::reg;
    second.reg = second.reg2;
    Row p = decoder.destination(second, Type::pred);
    const MeetShape* shape = keep_shape(decoder, {.dst = 4, .dst2 = 0, .d = 4});
    Op& op = decoder.emit(exec_elect);
    op.dst = d.offset, op.dst2 = p.offset, op.d = members.offset;
    op.flow = Flow::meet;
    op.extra = shape;
}

// --- barriers

void exec_nothing(Warp&, const Op&, uint32_t) {}

void exec_warp_barrier(Warp&, const Op&, uint32_t) {}

void decode_warp_barrier(Decoder& decoder) {
    if (!decoder.take("sync")) decoder.unsupported();
    Row members = decoder.source(0, Type::b32);
    const MeetShape* shape = keep_shape(decoder, {.d = 4});
    Op& op = decoder.emit(exec_warp_barrier);
    op.d = members.offset;
    op.flow = Flow::meet;
    op.extra = shape;
}

// a: number, b: threads (0: no row), c: predicate of .red; small[0]: 0 no result, 1 a 32-bit row, 2 a predicate;
// small[1]: BarrierRequest::Kind.  The scheduler writes the result when the barrier is complete.
void exec_barrier(Warp& warp, const Op& op, uint32_t lanes) {
    BarrierRequest& request = static_cast<WarpState&>(warp).request;
    auto uniform = [&](uint32_t row, const char* what) {
        const uint32_t* values = warp.row<uint32_t>(row);
        const uint32_t first = values[std::countr_zero(lanes)];
        uint32_t differs = 0;
        for (int i = 0; i < warp_size; ++i) differs |= values[i] ^ first;
        if (differs == 0) return first;
        each_active(lanes, [&](int i) {
            if (values[i] != first)
                warp.fault(FaultKind::illegal_instruction, op, i,
                           std::string("lanes of one warp name different ") + what);
        });
        return first;
    };
    request.id = uniform(op.a, "barriers");
    request.threads = op.b ? uniform(op.b, "numbers of threads") : 0;
    request.kind = static_cast<BarrierRequest::Kind>(op.small[1]);
    request.votes = op.small[0] ? warp.predicate(op.c) & lanes : 0;
}

void decode_barrier(Decoder& decoder) {
    using Kind = BarrierRequest::Kind;
    if (decoder.take("warp")) return decode_warp_barrier(decoder);
    if (decoder.take("cluster")) {
        const int form = decoder.take_one({"arrive", "wait"});
        if (form < 0) decoder.unsupported();
        decoder.take_one({"release", "relaxed", "acquire"});
        decoder.take("aligned");
        Op& op = decoder.emit(exec_nothing);
        op.flow = Flow::cluster_barrier;
        op.small[0] = static_cast<uint8_t>(form);
        return;
    }
    decoder.take("cta");
    decoder.take("aligned");
    const int form = decoder.take_one({"sync", "arrive", "red"});
    decoder.take("aligned");
    if (form < 0) decoder.unsupported();
    Kind kind = form == 1 ? Kind::arrive : Kind::sync;
    uint8_t result = 0;
    Row d, a, b, c;
    size_t next = 0;
    if (form == 2) {
        const int operation = decoder.take_one({"popc", "and", "or"});
        if (operation < 0) decoder.unsupported();
        decoder.take("aligned");
        if (!decoder.take(operation == 0 ? "u32" : "pred")) decoder.unsupported();
        kind = operation == 0 ? Kind::popc : operation == 1 ? Kind::all : Kind::any;
        result = operation == 0 ? 1 : 2;
        d = decoder.destination(next++, operation == 0 ? Type::u32 : Type::pred);
    }
    a = decoder.source(next++, Type::u32);
    const size_t after = form == 2 ? 1 : 0;  // the predicate
    if (next + after < decoder.count()) b = decoder.source(next++, Type::u32);
    if (form == 2) c = decoder.predicate_source(next++);
    if (next != decoder.count() || (form == 1 && b.offset == 0)) decoder.unsupported("number of operands");
    Op& op = decoder.emit(exec_barrier);
    op.flow = Flow::barrier;
    op.dst = d.offset, op.a = a.offset, op.b = b.offset, op.c = c.offset;
    op.small[0] = result;
    op.small[1] = static_cast<uint8_t>(kind);
}

void decode_nanosleep(Decoder& decoder) {
    if (!decoder.take("u32")) decoder.unsupported();
    decoder.source(0, Type::u32);
    decoder.emit(exec_nothing).flow = Flow::yield;
}

}  // namespace

void register_warp(OperationTable& table) {
    table.add("shfl", decode_shfl, {.effect = Effect::writes_first, .moves = true});
    table.add("vote", decode_vote);
    table.add("activemask", decode_activemask);
    table.add("match", decode_match);
    table.add("redux", decode_redux);
    table.add("elect", decode_elect);
    table.add("bar", decode_barrier, {Effect::none});
    table.add("barrier", decode_barrier, {Effect::none});
    table.add("nanosleep", decode_nanosleep, {Effect::none});
    table.add("griddepcontrol", [](Decoder& decoder) {
        decoder.take_one({"launch_dependents", "wait"});  // kernels of a stream never overlap
    });
}

}  // namespace softcuda::SOFTCUDA_LEVEL
