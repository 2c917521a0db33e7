// atom and red: lanes one after another, in lane order.
#include <cmath>
#include <type_traits>

#include "machine/access.h"
#include "machine/half.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using ptx::Type;

// F: (old, b, c) -> new.  T: the type in memory; S: of the value rows (16-bit types in 16-bit rows, so the same).
template <class T, class F>
void exec_atomic(Warp& warp, const Op& op, uint32_t lanes) {
    Addresses addresses;
    const bool result = op.small[3] & mark_result;
    resolve_any(warp, op, lanes, sizeof(T), result ? Access::atomic : Access::reduction, addresses.at);
    const T* b = warp.row<T>(op.b);
    const T* c = warp.row<T>(op.c);
    T* d = warp.row<T>(op.dst);
    // A block belongs to one worker, so shared memory never needs the host's atomics.
    const bool plain = warp.worker->alone || static_cast<Region>(op.small[2]) == Region::shared;
    if (op.small[3] & mark_spins) ++warp.spins;
    each_active(lanes, [&](int i) {
        T* at = reinterpret_cast<T*>(addresses.at[i]);
        T old;
        if (plain) {
            std::memcpy(&old, at, sizeof old);
            T changed = F{}(old, b[i], c[i]);
            std::memcpy(at, &changed, sizeof changed);
        } else if constexpr (sizeof(T) <= 8) {
            old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
            while (!__atomic_compare_exchange_n(at, &old, static_cast<T>(F{}(old, b[i], c[i])), false, __ATOMIC_SEQ_CST,
                                                __ATOMIC_SEQ_CST)) {
            }
        } else {
            warp.fault(FaultKind::internal, op, i, "128-bit atomics need one worker (SOFTCUDA_THREADS=1)");
        }
        if (result) d[i] = old;
    });
}

template <class T, class F>
constexpr Exec atomic(F) {
    return exec_atomic<T, F>;
}

// A vector is as many atomics, not one: PTX promises no more.  extra: rows of the values, then of the results.
template <class T, class F>
void exec_vector(Warp& warp, const Op& op, uint32_t lanes) {
    const uint64_t count = op.small[0];
    const auto& rows = *static_cast<const std::vector<uint32_t>*>(op.extra);
    const bool result = op.small[3] & mark_result;
    Addresses addresses;
    resolve_any(warp, op, lanes, sizeof(T) * count, result ? Access::atomic : Access::reduction, addresses.at);
    const bool plain = warp.worker->alone || static_cast<Region>(op.small[2]) == Region::shared;
    each_active(lanes, [&](int i) {
        for (uint64_t e = 0; e < count; ++e) {
            T* at = reinterpret_cast<T*>(addresses.at[i]) + e;
            const T value = warp.row<T>(rows[e])[i];
            T old = plain ? *at : __atomic_load_n(at, __ATOMIC_SEQ_CST);
            if (plain)
                *at = F{}(old, value, value);
            else
                while (!__atomic_compare_exchange_n(at, &old, static_cast<T>(F{}(old, value, value)), false,
                                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
                }
            if (result) warp.row<T>(rows[count + e])[i] = old;
        }
    });
}

uint32_t as_bits(float x) { return std::bit_cast<uint32_t>(x); }
float as_float(uint32_t x) { return std::bit_cast<float>(x); }
double as_double(uint64_t x) { return std::bit_cast<double>(x); }

// f32 atomics in global memory flush subnormals on the hardware's fast path for red.global only; PTX says atom.add.f32 on
// global memory flushes subnormal inputs and results to sign-preserving zero, on shared memory it does not.
// NaN is canonical in both.  Doubles in global memory are added in the L2 cache, where a NaN passes as it is, the addend's
// before the cell's; in shared memory it is an addition like any other, in a loop.
double add_in_cache(double old, double b) { return b != b ? b : old != old ? old : old + b; }
float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }

template <class T>
Exec integer_operation(const std::string_view name) {
    using U = std::make_unsigned_t<T>;  // a sum wraps around
    if (name == "add") return atomic<U>([](U old, U b, U) -> U { return static_cast<U>(old + b); });
    if (name == "min") return atomic<T>([](T old, T b, T) -> T { return b < old ? b : old; });
    if (name == "max") return atomic<T>([](T old, T b, T) -> T { return old < b ? b : old; });
    if (name == "inc") return atomic<T>([](T old, T b, T) -> T { return old >= b ? T(0) : T(old + 1); });
    if (name == "dec") return atomic<T>([](T old, T b, T) -> T { return old == 0 || old > b ? b : T(old - 1); });
    return nullptr;
}

template <class T>
Exec bit_operation(const std::string_view name) {
    if (name == "and") return atomic<T>([](T old, T b, T) -> T { return old & b; });
    if (name == "or") return atomic<T>([](T old, T b, T) -> T { return old | b; });
    if (name == "xor") return atomic<T>([](T old, T b, T) -> T { return old ^ b; });
    if (name == "exch") return atomic<T>([](T, T b, T) -> T { return b; });
    if (name == "cas") return atomic<T>([](T old, T b, T c) -> T { return old == b ? c : old; });
    return nullptr;
}

uint16_t add_f16(uint16_t a, uint16_t b) { return to_f16(from_f16(a) + from_f16(b)); }
uint16_t add_bf16(uint16_t a, uint16_t b) { return to_bf16(from_bf16(a) + from_bf16(b)); }
template <uint16_t (*add)(uint16_t, uint16_t)>
uint32_t add_pair(uint32_t a, uint32_t b) {
    return uint32_t(add(uint16_t(a), uint16_t(b))) | uint32_t(add(uint16_t(a >> 16), uint16_t(b >> 16))) << 16;
}

Exec choose_operation(std::string_view name, Type type, bool shared) {
    switch (type) {
        case Type::u32: return integer_operation<uint32_t>(name);
        case Type::s32: return name == "inc" || name == "dec" ? nullptr : integer_operation<int32_t>(name);
        case Type::u64: return name == "inc" || name == "dec" ? nullptr : integer_operation<uint64_t>(name);
        case Type::s64: return name == "inc" || name == "dec" ? nullptr : integer_operation<int64_t>(name);
        case Type::b16: return name == "cas" ? bit_operation<uint16_t>(name) : nullptr;
        case Type::b32: return bit_operation<uint32_t>(name);
        case Type::b64: return bit_operation<uint64_t>(name);
        case Type::b128: return name == "cas" || name == "exch" ? bit_operation<unsigned __int128>(name) : nullptr;
        default: break;
    }
    if (name != "add") return nullptr;
    switch (type) {
        case Type::f32:
            if (shared)
                return atomic<uint32_t>(
                    [](uint32_t a, uint32_t b, uint32_t) { return as_bits(canonical(as_float(a) + as_float(b))); });
            return atomic<uint32_t>([](uint32_t a, uint32_t b, uint32_t) {
                return as_bits(canonical(flushed(flushed(as_float(a)) + flushed(as_float(b)))));
            });
        case Type::f64:
            if (shared)
                return atomic<uint64_t>([](uint64_t a, uint64_t b, uint64_t) {
                    return std::bit_cast<uint64_t>(AddF::f64(as_double(b), as_double(a), 0));
                });
            return atomic<uint64_t>([](uint64_t a, uint64_t b, uint64_t) {
                return std::bit_cast<uint64_t>(add_in_cache(as_double(a), as_double(b)));
            });
        case Type::f16: return atomic<uint16_t>([](uint16_t a, uint16_t b, uint16_t) { return add_f16(a, b); });
        case Type::bf16: return atomic<uint16_t>([](uint16_t a, uint16_t b, uint16_t) { return add_bf16(a, b); });
        case Type::f16x2:
            return atomic<uint32_t>([](uint32_t a, uint32_t b, uint32_t) { return add_pair<add_f16>(a, b); });
        case Type::bf16x2:
            return atomic<uint32_t>([](uint32_t a, uint32_t b, uint32_t) { return add_pair<add_bf16>(a, b); });
        default: return nullptr;
    }
}

template <class T, class F>
constexpr Exec vector(F) {
    return exec_vector<T, F>;
}

template <float (*widen)(uint16_t), uint16_t (*narrow_to)(float), bool maximum>
uint16_t extreme_half(uint16_t a, uint16_t b) {
    return narrow_to(pick_extreme<float, maximum>(widen(a), widen(b)));
}
template <float (*widen)(uint16_t), uint16_t (*narrow_to)(float), bool maximum>
Exec half_extreme(bool packed) {
    constexpr auto one = extreme_half<widen, narrow_to, maximum>;
    return packed ? vector<uint32_t>([](uint32_t a, uint32_t b, uint32_t) { return add_pair<one>(a, b); })
                  : vector<uint16_t>([](uint16_t a, uint16_t b, uint16_t) { return one(a, b); });
}

Exec choose_vector(std::string_view name, Type type) {
    const bool packed = type == Type::f16x2 || type == Type::bf16x2;
    if (name == "min" || name == "max") {
        const bool maximum = name == "max";
        if (type == Type::f16 || type == Type::f16x2)
            return maximum ? half_extreme<from_f16, to_f16, true>(packed)
                           : half_extreme<from_f16, to_f16, false>(packed);
        if (type == Type::bf16 || type == Type::bf16x2)
            return maximum ? half_extreme<from_bf16, to_bf16, true>(packed)
                           : half_extreme<from_bf16, to_bf16, false>(packed);
    }
    if (name != "add") return nullptr;
    switch (type) {
        case Type::f32:
            return vector<uint32_t>([](uint32_t a, uint32_t b, uint32_t) {
                return as_bits(canonical(flushed(flushed(as_float(a)) + flushed(as_float(b)))));
            });
        case Type::f16: return vector<uint16_t>([](uint16_t a, uint16_t b, uint16_t) { return add_f16(a, b); });
        case Type::bf16: return vector<uint16_t>([](uint16_t a, uint16_t b, uint16_t) { return add_bf16(a, b); });
        case Type::f16x2:
            return vector<uint32_t>([](uint32_t a, uint32_t b, uint32_t) { return add_pair<add_f16>(a, b); });
        case Type::bf16x2:
            return vector<uint32_t>([](uint32_t a, uint32_t b, uint32_t) { return add_pair<add_bf16>(a, b); });
        default: return nullptr;
    }
}

void decode_atomic(Decoder& decoder, bool with_result) {
    const uint8_t order = decoder.take_one({"relaxed", "acquire", "release", "acq_rel"}) >= 2 ? mark_release : 0;
    decoder.take_one({"cta", "cluster", "gpu", "sys"});
    Region region = take_region(decoder);
    if (region != Region::global && region != Region::shared && region != Region::generic && region != Region::cluster)
        decoder.unsupported("atomics in this state space");
    constexpr std::string_view names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"};
    int which = decoder.take_one({"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"});
    if (which < 0) decoder.unsupported("no operation");
    const bool cas = names[which] == "cas";
    decoder.take("noftz");
    const bool policy = decoder.take("L2::cache_hint");
    const int vector_kind = decoder.take_one({"v2", "v4", "v8"});
    Type type = decoder.take_type();
    Exec exec = vector_kind < 0 ? choose_operation(names[which], type, region == Region::shared)
                                : choose_vector(names[which], type);
    if (!exec) decoder.unsupported("no such operation for this type");
    const size_t first = with_result ? 1 : 0;  // operand of the address
    if (decoder.count() != first + (cas ? 3 : 2) + (policy ? 1 : 0)) decoder.unsupported("number of operands");

    Address address = decoder.address(first, space_name(region));
    // Halves are handed over in .b16 and .b32 registers.
    Type value = type == Type::f16 || type == Type::bf16       ? Type::b16
                 : type == Type::f16x2 || type == Type::bf16x2 ? Type::b32
                                                               : type;
    if (vector_kind >= 0) {
        const size_t count = size_t(2) << vector_kind;
        auto rows = std::make_shared<std::vector<uint32_t>>();
        const ptx::Operand& values = decoder.operand(first + 1);
        if (values.elements.size() != count) decoder.unsupported("a vector of another length");
        for (const ptx::Operand& element : values.elements) rows->push_back(decoder.source(element, value).offset);
        const bool used = with_result && decoder.operand(0).kind == ptx::OperandKind::vector;
        if (used)
            for (const ptx::Operand& element : decoder.operand(0).elements)
                rows->push_back(decoder.destination(element, value).offset);
        if (used && rows->size() != 2 * count) decoder.unsupported("a vector of another length");
        Op& op = decoder.emit(exec);
        set_address(op, address, region);
        op.small[0] = static_cast<uint8_t>(count);
        op.small[3] = static_cast<uint8_t>((used ? mark_result | mark_spins : 0) | order);
        set_report(op, used ? Access::atomic : Access::reduction, ptx::bytes_of(value) * count);
        op.extra = decoder.keep(rows);
        return;
    }
    Row b = decoder.source(first + 1, value);
    Row c = cas ? decoder.source(first + 2, value) : b;
    bool used = with_result && decoder.operand(0).kind != ptx::OperandKind::sink;
    Row d = used ? decoder.destination(0, value) : decoder.scratch(b.element_bytes);
    Op& op = decoder.emit(exec);
    set_address(op, address, region);
    op.b = b.offset;
    op.c = c.offset;
    op.dst = d.offset;
    op.small[3] = static_cast<uint8_t>((used ? mark_result | mark_spins : 0) | order);
    set_report(op, used ? Access::atomic : Access::reduction, ptx::bytes_of(value));
}

void decode_reduction(Decoder& decoder) {
    if (begins_with(decoder, "async")) return decode_async_reduction(decoder);
    decode_atomic(decoder, false);
}

}  // namespace

void register_atomic(OperationTable& table) {
    table.add("atom", [](Decoder& decoder) { decode_atomic(decoder, true); });
    table.add("red", decode_reduction, {Effect::none});
}

}  // namespace softcuda::SOFTCUDA_LEVEL
