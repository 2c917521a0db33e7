// Loads, stores, address conversions, fences and prefetches.
#include <atomic>
#include <utility>

#include "machine/access.h"
#include "machine/affine.h"
#include "machine/windows.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using ptx::Type;
using Rows = std::vector<uint32_t>;

// Whether the lanes' addresses follow each other, as in a[i].
inline bool consecutive(const uint64_t* at, uint64_t bytes) {
    uint64_t differs = 0;
    for (uint64_t i = 0; i < warp_size; ++i) differs |= at[i] ^ (at[0] + i * bytes);
    return differs == 0;
}

// One lane's load.  On the CPUs at hand 32 scalar loads are half the price of the gather instructions that the compiler
// would make of them (AMD Zen: measured), so it must not see that they could be one.
template <class T, class R>
inline R fetched(const T* at) {
    T stored;
    std::memcpy(&stored, at, sizeof stored);  // a parameter of a call may lie anywhere
    R value = static_cast<R>(stored);
    if constexpr (sizeof(R) <= 8) asm("" : "+r"(value));
    return value;
}

// T: type in memory; R: of the register row, of T's signedness.
template <class T, class R>
inline void load_row(R* row, uint32_t lanes, const uint64_t* at, uint64_t offset) {
    if (lanes == all_lanes) {
        for (int i = 0; i < warp_size; ++i) row[i] = fetched<T, R>(reinterpret_cast<const T*>(at[i] + offset));
    } else {
        for (uint32_t rest = lanes; rest; rest &= rest - 1) {
            int i = std::countr_zero(rest);
            row[i] = fetched<T, R>(reinterpret_cast<const T*>(at[i] + offset));
        }
    }
}

// a[i] of global memory, with all lanes at work: one copy of a row.  Null: something else.
// An access has been reported before it runs, but for generic addresses (Report::access).
template <Region region, class T>
inline std::byte* whole_row(Warp& warp, const Op& op, uint32_t lanes, Access access) {
    if (lanes != all_lanes || op.small[1] != 8 || (region == Region::generic && warp.observer)) return nullptr;
    const uint64_t* base = warp.row<uint64_t>(op.a);
    const uint64_t begin = base[0], first = begin + op.imm;
    if constexpr (sizeof(T) == 4) {
        if (!consecutive_words(base)) return nullptr;
    } else {
        uint64_t differs = 0;
        for (uint64_t i = 0; i < warp_size; ++i) differs |= (base[i] - begin) ^ (i * sizeof(T));
        if (differs) return nullptr;
    }
    if (first % sizeof(T) != 0) return nullptr;
    const Span& span = access == Access::load ? warp.worker->load_span(op) : warp.worker->store_span(op);
    if (first < span.lo || first > span.hi || span.hi - first < sizeof(T) * warp_size) return nullptr;
    return reinterpret_cast<std::byte*>(first);
}

// The same of shared memory.
template <class T>
inline std::byte* whole_shared_row(Warp& warp, const Op& op, uint32_t lanes) {
    if (lanes != all_lanes || op.small[1] != 4) return nullptr;
    const uint32_t* base = warp.row<uint32_t>(op.a);
    const uint32_t begin = base[0], first = begin + static_cast<uint32_t>(op.imm);
    uint32_t differs = 0;
    for (uint32_t i = 0; i < warp_size; ++i) differs |= (base[i] - begin) ^ (i * uint32_t(sizeof(T)));
    const uint32_t limit = warp.block->shared_bytes;
    if (differs || first % sizeof(T) != 0 || first > limit || limit - first < sizeof(T) * warp_size) return nullptr;
    return warp.block->shared + first;
}

// Shared memory with 32-bit offsets.  False: something is wrong, take the long way.
template <class T, class R>
inline bool load_shared(Warp& warp, const Op& op, uint32_t lanes, const uint32_t* rows, uint64_t count) {
    alignas(64) uint32_t at[warp_size];
    uint64_t beyond = 0;
    if (op.small[1] == 4) {
        const uint32_t* base = warp.row<uint32_t>(op.a);
        const auto offset = static_cast<uint32_t>(op.imm);
        for (int i = 0; i < warp_size; ++i) at[i] = base[i] + offset;
    } else {
        const uint64_t* base = warp.row<uint64_t>(op.a);
        for (int i = 0; i < warp_size; ++i)
            at[i] = static_cast<uint32_t>(base[i] + op.imm), beyond |= (base[i] + op.imm) >> 32;
    }
    if (lanes != all_lanes) {
        if (beyond) return false;
        const uint32_t some = at[std::countr_zero(lanes)];
        for (int i = 0; i < warp_size; ++i) at[i] = (lanes >> i) & 1 ? at[i] : some;
    }
    uint32_t high = 0, bits = 0, moves = 0, jumps = 0;
    for (uint32_t i = 0; i < warp_size; ++i) {
        high = at[i] > high ? at[i] : high;
        bits |= at[i];
        moves |= at[i] ^ at[0];
        jumps |= at[i] ^ (at[0] + i * static_cast<uint32_t>(sizeof(T)));
    }
    const uint32_t bytes = static_cast<uint32_t>(sizeof(T) * count);
    const uint32_t limit = warp.block->shared_bytes;
    if (beyond || (bits & (bytes - 1)) || high >= limit || limit - high < bytes) return false;
    const std::byte* memory = warp.block->shared;
    for (uint32_t e = 0; e < count; ++e) {
        R* row = warp.row<R>(rows[e]);
        if (moves == 0) {
            const R value = fetched<T, R>(reinterpret_cast<const T*>(memory + at[0]) + e);
            each_lane(row, lanes, [=](int) { return value; });
            continue;
        }
        if (sizeof(T) == sizeof(R) && jumps == 0 && count == 1 && lanes == all_lanes) {
            std::memcpy(row, memory + at[0], sizeof(T) * warp_size);
            continue;
        }
        auto fetch = [&](int i) { row[i] = fetched<T, R>(reinterpret_cast<const T*>(memory + at[i]) + e); };
        if (lanes == all_lanes)
            for (int i = 0; i < warp_size; ++i) fetch(i);
        else
            each_active(lanes, fetch);
    }
    return true;
}

// In place of a space: the instruction says at run time which it is.
inline constexpr auto any_region = static_cast<Region>(0xff);

template <Region region>
inline void resolve_in(Warp& warp, const Op& op, uint32_t lanes, uint64_t bytes, Access access, uint64_t* at) {
    if constexpr (region == any_region)
        resolve_any(warp, op, lanes, bytes, access, at);
    else
        resolve<region>(warp, op, lanes, bytes, access, at);
}

template <Region region, class T, class R, bool vector>
void exec_load(Warp& warp, const Op& op, uint32_t lanes) {
    Addresses addresses;
    uint64_t* at = addresses.at;
    if (op.small[3] & mark_spins) ++warp.spins;
    if constexpr (!vector && (region == Region::global || region == Region::generic)) {
        if (const std::byte* row = whole_row<region, T>(warp, op, lanes, Access::load)) {
            T values[warp_size];
            std::memcpy(values, row, sizeof values);
            R* wide = warp.row<R>(op.dst);
            for (int i = 0; i < warp_size; ++i) wide[i] = static_cast<R>(values[i]);
            return;
        }
    }
    if constexpr (region == Region::shared && (sizeof(T) == 4 || sizeof(T) == 8)) {
        if (load_shared<T, R>(warp, op, lanes, vector ? static_cast<const Rows*>(op.extra)->data() : &op.dst,
                              vector ? op.small[0] : 1))
            return;
    }
    if constexpr (region == Region::kernel_param && !vector) {
        const Launch& launch = *warp.block->launch;
        if (op.small[1] == 0 && op.imm % sizeof(T) == 0 && op.imm + sizeof(T) <= launch.param_bytes) {
            T value;
            std::memcpy(&value, launch.params + op.imm, sizeof value);
            each_lane(warp.row<R>(op.dst), lanes, [=](int) { return static_cast<R>(value); });
            return;
        }
    }
    if constexpr (vector) {
        const uint64_t count = op.small[0];
        resolve_in<region>(warp, op, lanes, sizeof(T) * count, Access::load, at);
        const Rows& rows = *static_cast<const Rows*>(op.extra);
        for (uint64_t e = 0; e < count; ++e) load_row<T, R>(warp.row<R>(rows[e]), lanes, at, e * sizeof(T));
    } else {
        resolve_in<region>(warp, op, lanes, sizeof(T), Access::load, at);
        R* row = warp.row<R>(op.dst);
        if constexpr (sizeof(T) == sizeof(R)) {
            if (lanes == all_lanes && consecutive(at, sizeof(T))) {
                std::memcpy(row, reinterpret_cast<const void*>(at[0]), sizeof(T) * warp_size);
                return;
            }
        }
        load_row<T, R>(row, lanes, at, 0);
    }
}

// 32 bits from addresses that lie close together, and otherwise the long way.  Small on purpose: most loads are such.
// Loads with the same base, one after another, share a plan: the first makes it (row c), the others follow it.
enum class Planning : uint8_t { none, makes, follows };

template <Region region>
inline Legal legal_loads(Warp& warp, const Op& op) {
    if constexpr (region == Region::shared)
        return {reinterpret_cast<uint64_t>(warp.block->shared), 0, warp.block->shared_bytes};
    const Span& span = warp.worker->load_span(op);
    return {0, span.lo, span.hi};
}

template <Region region, class Address, bool planned>
[[gnu::noinline]] void load_close(Warp& warp, const Op& op, uint32_t lanes) {
    Plan* plan = planned ? warp.row<Plan>(op.c) : nullptr;
    if (planned) plan->holds = false;
    if constexpr (region == Region::generic)
        if (warp.observer) [[unlikely]] {
            Addresses addresses;
            effective(warp, op, lanes, addresses.at);
            observe(warp, op, lanes, 4, region, Access::load, addresses.at);
            Observer* const observer = std::exchange(warp.observer, nullptr);  // reported once; a fault ends the launch
            load_close<region, Address, false>(warp, op, lanes);
            warp.observer = observer;
            return;
        }
    if (!load_windows(warp.row<uint32_t>(op.dst), lanes, warp.row<Address>(op.a), static_cast<Address>(op.imm),
                      legal_loads<region>(warp, op), plan)) [[unlikely]]
        exec_load<region, uint32_t, uint32_t, false>(warp, op, lanes);
}

template <Region region, class Address, Planning planning>
void exec_load_close(Warp& warp, const Op& op, uint32_t lanes) {
    each_warp(warp, [&op, lanes](Warp& own) {
        std::byte* const frame = own.frame;
        if constexpr (planning == Planning::follows)
            if (lanes == all_lanes && load_as_planned(row_in<uint32_t>(frame, op.dst), *row_in<Plan>(frame, op.c),
                                                      static_cast<Address>(op.imm), legal_loads<region>(own, op)))
                return;
        if constexpr (region != Region::shared)
            if (const std::byte* from = whole_row<region, uint32_t>(own, op, lanes, Access::load)) {
                std::memcpy(row_in<uint32_t>(frame, op.dst), from, sizeof(uint32_t) * warp_size);
                if constexpr (planning == Planning::makes) row_in<Plan>(frame, op.c)->holds = false;
                return;
            }
        load_close<region, Address, planning == Planning::makes>(own, op, lanes);
    });
}

void exec_fused_dot(Warp& warp, const Op& op, uint32_t lanes) {
    const FusedDot& dot = *static_cast<const FusedDot*>(op.extra);
    const Legal legal{reinterpret_cast<uint64_t>(warp.block->shared), 0, warp.block->shared_bytes};
    each_warp(warp, [&](Warp& own) {
        std::byte* const frame = own.frame;
        if (lanes != all_lanes || !run_fused_dot(frame, op, dot, legal)) {
            for (size_t i = 0; i < 3 * dot.steps.size(); ++i) dot.parts[i].exec(own, dot.parts[i], lanes);
            return;
        }
        // What was known of a and b when others last looked may be so no longer.
        for (int of : {0, 1})
            if (dot.parts[of].c) row_in<Plan>(frame, dot.parts[of].c)->holds = false;
    });
}

template <class T, class R>
inline void store_row(const R* row, uint32_t lanes, const uint64_t* at, uint64_t offset) {
    each_active(lanes, [&](int i) {
        const T value = static_cast<T>(row[i]);
        std::memcpy(reinterpret_cast<void*>(at[i] + offset), &value, sizeof value);
    });
}

template <Region region, class T, class R, bool vector>
[[gnu::noinline]] void store_lanes(Warp& warp, const Op& op, uint32_t lanes) {
    Addresses addresses;
    uint64_t* at = addresses.at;
    if constexpr (vector) {
        const uint64_t count = op.small[0];
        resolve_in<region>(warp, op, lanes, sizeof(T) * count, Access::store, at);
        const Rows& rows = *static_cast<const Rows*>(op.extra);
        // Lane after lane: where lanes overlap, the last one's whole vector stays.
        each_active(lanes, [&](int i) {
            for (uint64_t e = 0; e < count; ++e) {
                const T value = static_cast<T>(warp.row<R>(rows[e])[i]);
                std::memcpy(reinterpret_cast<T*>(at[i]) + e, &value, sizeof value);
            }
        });
    } else {
        resolve_in<region>(warp, op, lanes, sizeof(T), Access::store, at);
        const R* row = warp.row<R>(op.dst);
        if constexpr (sizeof(T) == sizeof(R)) {
            if (lanes == all_lanes && consecutive(at, sizeof(T))) {
                std::memcpy(reinterpret_cast<void*>(at[0]), row, sizeof(T) * warp_size);
                return;
            }
        }
        store_row<T, R>(row, lanes, at, 0);
    }
}

template <Region region, class T, class R, bool vector>
void exec_store(Warp& warp, const Op& op, uint32_t lanes) {
    each_warp(warp, [&op, lanes](Warp& own) {
        std::byte* row = nullptr;
        if constexpr (!vector && sizeof(T) == sizeof(R) && (region == Region::global || region == Region::generic))
            row = whole_row<region, T>(own, op, lanes, Access::store);
        if constexpr (!vector && sizeof(T) == sizeof(R) && region == Region::shared)
            row = whole_shared_row<T>(own, op, lanes);
        if (row)
            std::memcpy(row, own.row<R>(op.dst), sizeof(T) * warp_size);
        else
            store_lanes<region, T, R, vector>(own, op, lanes);
    });
}

// With the first lane's address from the block's bases (affine.h), where each next lane's is one element further, or the
// same.  Whatever else there is to it, the instruction as written knows.
[[gnu::noinline]] void access_by_rows(Warp& warp, const AffineAccess& access, uint32_t lanes, const Op& op) {
    Op expand;
    expand.dst = op.a, expand.a = op.c, expand.imm = static_cast<uint64_t>(access.stride);
    access.expand(warp, expand, lanes);
    access.plain->exec(warp, *access.plain, lanes);
}

// Global memory: the block that comes next goes on where this one ends.
template <Region region, Access kind>
inline void ask_for(const std::byte* at, uint64_t bytes) {
    if constexpr (region != Region::shared)
        for (uint64_t line = 0; line < bytes; line += 64) __builtin_prefetch(at + line, kind == Access::store);
}

template <Region region, Access kind, class T, bool same>
void exec_affine(Warp& warp, const Op& op, uint32_t lanes) {
    using Base = std::conditional_t<region == Region::shared, uint32_t, uint64_t>;
    constexpr uint64_t bytes = same ? sizeof(T) : sizeof(T) * warp_size;
    const Base* bases = row_in<Base>(warp.block->bases->rows(), op.c);
    const AffineAccess& access = *static_cast<const AffineAccess*>(op.extra);
    each_warp(warp, [&op, lanes, bases, &access](Warp& own) {
        const uint64_t first = static_cast<Base>(bases[own.index] + static_cast<Base>(op.imm));
        Legal legal{reinterpret_cast<uint64_t>(own.block->shared), 0, own.block->shared_bytes};
        if constexpr (region != Region::shared) {
            const Span& span =
                kind == Access::load ? own.worker->load_span(*access.plain) : own.worker->store_span(*access.plain);
            legal = {0, span.lo, span.hi};
        }
        if (lanes != all_lanes || first % sizeof(T) != 0 || first < legal.lo || first > legal.hi ||
            legal.hi - first < bytes) [[unlikely]]
            return access_by_rows(own, access, lanes, op);
        const auto at = reinterpret_cast<std::byte*>(legal.memory + first);
        T* row = own.row<T>(op.dst);
        if constexpr (kind == Access::store) {
            std::memcpy(at, row, bytes);
            ask_for<region, kind>(at + bytes, bytes);
        } else if constexpr (same) {
            const T value = fetched<T, T>(reinterpret_cast<const T*>(at));
            each_lane(row, all_lanes, [=](int) { return value; });
        } else {
            std::memcpy(row, at, bytes);
            ask_for<region, kind>(at + bytes, bytes);
        }
        if constexpr (kind == Access::load && sizeof(T) == 4)
            if (access.plain->c) own.row<Plan>(access.plain->c)->holds = false;
    });
}

// --- choosing among them

// What is rare shares a function: vectors, and the spaces that few programs load from or store to.
template <class T, class R>
Exec pick_load(Region region, bool vector) {
    if (vector) {
        if constexpr (sizeof(T) == 4 || sizeof(T) == 8)
            if (region == Region::shared) return exec_load<Region::shared, T, R, true>;
        return exec_load<any_region, T, R, true>;
    }
    switch (region) {
        case Region::global: return exec_load<Region::global, T, R, false>;
        case Region::generic: return exec_load<Region::generic, T, R, false>;
        case Region::shared: return exec_load<Region::shared, T, R, false>;
        case Region::local: return exec_load<Region::local, T, R, false>;
        case Region::kernel_param: return exec_load<Region::kernel_param, T, R, false>;
        default: return exec_load<any_region, T, R, false>;
    }
}

template <class T, class R>
Exec pick_store(Region region, bool vector) {
    if (vector) return exec_store<any_region, T, R, true>;
    switch (region) {
        case Region::global: return exec_store<Region::global, T, R, false>;
        case Region::generic: return exec_store<Region::generic, T, R, false>;
        case Region::shared: return exec_store<Region::shared, T, R, false>;
        case Region::local: return exec_store<Region::local, T, R, false>;
        default: return exec_store<any_region, T, R, false>;
    }
}

template <class T, class R>
Exec pick_access(Region region, bool load, bool vector) {
    return load ? pick_load<T, R>(region, vector) : pick_store<T, R>(region, vector);
}

// By the width of the register, which is no less than that of the type in memory.
template <class T>
Exec pick_row(Region region, int row_bytes, bool load, bool vector) {
    if constexpr (sizeof(T) <= 2)
        if (row_bytes == 2) return pick_access<T, uint16_t>(region, load, vector);
    if constexpr (sizeof(T) <= 4)
        if (row_bytes == 4) return pick_access<T, uint32_t>(region, load, vector);
    return row_bytes == 8 ? pick_access<T, uint64_t>(region, load, vector) : nullptr;
}

Exec pick(Region region, Type type, int row_bytes, bool load, bool vector) {
    const int bytes = ptx::bytes_of(type);
    const bool is_signed = type == Type::s8 || type == Type::s16 || type == Type::s32;
    if (load && is_signed && bytes < row_bytes) {  // the sign is extended
        if (bytes == 1 && row_bytes == 2) return pick_load<int8_t, int16_t>(region, vector);
        if (bytes == 1 && row_bytes == 4) return pick_load<int8_t, int32_t>(region, vector);
        if (bytes == 1 && row_bytes == 8) return pick_load<int8_t, int64_t>(region, vector);
        if (bytes == 2 && row_bytes == 4) return pick_load<int16_t, int32_t>(region, vector);
        if (bytes == 2 && row_bytes == 8) return pick_load<int16_t, int64_t>(region, vector);
        if (bytes == 4 && row_bytes == 8) return pick_load<int32_t, int64_t>(region, vector);
    }
    switch (bytes) {
        case 1: return pick_row<uint8_t>(region, row_bytes, load, vector);
        case 2: return pick_row<uint16_t>(region, row_bytes, load, vector);
        case 4: return pick_row<uint32_t>(region, row_bytes, load, vector);
        case 8: return pick_row<uint64_t>(region, row_bytes, load, vector);
        case 16:
            if (row_bytes == 16) return pick_access<unsigned __int128, unsigned __int128>(region, load, vector);
    }
    return nullptr;
}

template <Planning planning>
Exec pick_close(const Op& op) {
    const bool wide = op.small[1] == 8;
    switch (static_cast<Region>(op.small[2])) {
        case Region::shared:
            return wide ? exec_load_close<Region::shared, uint64_t, planning>
                        : exec_load_close<Region::shared, uint32_t, planning>;
        case Region::global: return wide ? exec_load_close<Region::global, uint64_t, planning> : nullptr;
        case Region::generic: return wide ? exec_load_close<Region::generic, uint64_t, planning> : nullptr;
        default: return nullptr;
    }
}

// A load of 32 bits that nothing waits for.
void choose_close(Decoder& decoder, Op& op, Row base) {
    Exec close = pick_close<Planning::none>(op);
    if (!close) return;
    op.exec = close;
    // Only a register's row stays as it is until somebody is seen to write it.
    if (op.predicate != Op::no_row || decoder.operand(1).reg < 0) return;
    Op* earlier = decoder.earlier(base);
    if (!earlier || earlier->small[1] != op.small[1] || earlier->small[2] != op.small[2])
        return decoder.remember(base, op);
    if (earlier->exec == close) {
        earlier->exec = pick_close<Planning::makes>(op);
        earlier->c = decoder.run_row(sizeof(Plan)).offset;
    }
    op.exec = pick_close<Planning::follows>(op);
    op.c = earlier->c;
}

template <Region region, class T>
Exec pick_affine(bool load, int64_t stride) {
    if (stride == sizeof(T))
        return load ? exec_affine<region, Access::load, T, false> : exec_affine<region, Access::store, T, false>;
    return stride == 0 && load ? exec_affine<region, Access::load, T, true> : nullptr;
}

// A load or store of one register without a waiting loop around it.
void choose_affine(Decoder& decoder, const Op& op, size_t address_at, int row_bytes, bool load) {
    const std::optional<int64_t> stride = decoder.stride(address_at);
    if (!stride || op.small[3] & mark_spins) return;
    const auto region = static_cast<Region>(op.small[2]);
    const bool shared = region == Region::shared && op.small[1] == 4;
    if (!shared && ((region != Region::global && region != Region::generic) || op.small[1] != 8)) return;
    Exec exec = nullptr;
    if (row_bytes == 4)
        exec = (shared ? pick_affine<Region::shared, uint32_t> : pick_affine<Region::global, uint32_t>)(load, *stride);
    if (row_bytes == 8)
        exec = (shared ? pick_affine<Region::shared, uint64_t> : pick_affine<Region::global, uint64_t>)(load, *stride);
    if (exec) decoder.set_affine_exec(exec);
}

void decode_access(Decoder& decoder, bool load) {
    const size_t address_at = load ? 1 : 0, value_at = load ? 0 : 1;
    const int order = load ? decoder.take_one({"weak", "volatile", "relaxed", "acquire", "mmio"})
                           : decoder.take_one({"weak", "volatile", "relaxed", "release", "mmio"});
    bool strong = order >= 1;
    if (decoder.take("mmio")) strong = true;
    bool spins = load && strong;
    decoder.take_one({"cta", "cluster", "gpu", "sys"});
    Region region = take_region(decoder);
    if (load) {
        int cache = decoder.take_one({"ca", "cg", "cs", "lu", "cv"});
        spins = spins || cache == 4;
        decoder.take("nc");
    } else {
        decoder.take_one({"wb", "cg", "cs", "wt"});
        if (region == Region::constant) decoder.unsupported("constants cannot be written");
    }
    decoder.take("unified");
    const bool policy = take_hints(decoder);
    const int vector_kind = decoder.take_one({"v2", "v4", "v8"});
    const size_t elements = vector_kind < 0 ? 1 : size_t(2) << vector_kind;
    Type type = decoder.take_type();
    if (type == Type::none || type == Type::pred) decoder.unsupported("no type");
    if (decoder.count() != size_t(policy ? 3 : 2)) decoder.unsupported("number of operands");

    Address address = decoder.address(address_at, space_name(region));
    const uint64_t bytes = static_cast<uint64_t>(ptx::bytes_of(type)) * elements;
    if (address.kind == Address::Kind::slot &&
        (bytes > address.slot.bytes || address.offset > address.slot.bytes - bytes))
        decoder.unsupported("outside the parameter's " + std::to_string(address.slot.bytes) + " bytes");
    const ptx::Operand& value = decoder.operand(value_at);
    auto row_of = [&](const ptx::Operand& operand) {
        // Where an immediate is stored, it is one of the type; a register may be wider.
        return load ? decoder.destination(operand, type, true) : decoder.source(operand, type, true);
    };
    Rows rows;
    int row_bytes = 0;
    if (vector_kind >= 0) {
        if (value.kind != ptx::OperandKind::vector || value.elements.size() != elements)
            decoder.unsupported("a vector of another length");
        for (const ptx::Operand& element : value.elements) {
            Row row = row_of(element);
            // `_` takes a scratch row of the type's own width: the others decide.
            if (row_bytes && row.element_bytes != row_bytes) decoder.unsupported("registers of several widths");
            row_bytes = row.element_bytes;
            rows.push_back(row.offset);
        }
    } else {
        Row row =
            row_of(value.kind == ptx::OperandKind::vector && value.elements.size() == 1 ? value.elements[0] : value);
        row_bytes = row.element_bytes;
        rows.push_back(row.offset);
    }
    Op& op = decoder.emit(nullptr);
    set_address(op, address, region);
    op.exec = pick(static_cast<Region>(op.small[2]), type, row_bytes, load, vector_kind >= 0);
    if (!op.exec) decoder.unsupported("this combination of type and register width");
    op.small[0] = static_cast<uint8_t>(elements);
    op.small[3] = spins && region != Region::local ? mark_spins : 0;
    if (strong) op.small[3] |= mark_strong;
    if (!load && order == 3) op.small[3] |= mark_release;
    if (!load) op.small[3] |= mark_value(row_bytes);
    set_report(op, load ? Access::load : Access::store, bytes);
    op.dst = rows[0];
    if (load && vector_kind < 0 && ptx::bytes_of(type) == 4 && row_bytes == 4 && !op.small[3])
        choose_close(decoder, op, address.base);
    if (vector_kind < 0 && ptx::bytes_of(type) == row_bytes) choose_affine(decoder, op, address_at, row_bytes, load);
    if (vector_kind >= 0) op.extra = decoder.keep(std::make_shared<Rows>(rows));
}

// --- addresses

void exec_add_constant(Warp& warp, const Op& op, uint32_t lanes) {
    each_frame(warp, [&op, lanes, imm = op.imm](std::byte* frame) {
        const uint64_t* a = row_in<uint64_t>(frame, op.a);
        each_lane(row_in<uint64_t>(frame, op.dst), lanes, [=](int i) { return a[i] + imm; });
    });
}

void exec_shared_offset(Warp& warp, const Op& op, uint32_t lanes) {
    const uint64_t* a = warp.row<uint64_t>(op.a);
    each_lane(warp.row<uint64_t>(op.dst), lanes, [=](int i) { return (a[i] - shared_window) & 0xffffffffull; });
}

void exec_add_params(Warp& warp, const Op& op, uint32_t lanes) {
    const uint64_t* a = warp.row<uint64_t>(op.a);
    const uint64_t base = reinterpret_cast<uint64_t>(warp.block->launch->params) * op.imm;  // imm: 1 or -1
    each_lane(warp.row<uint64_t>(op.dst), lanes, [=](int i) { return a[i] + base; });
}

void decode_cvta(Decoder& decoder) {
    const bool to = decoder.take("to");
    Region region = take_region(decoder);
    if (region == Region::generic) decoder.unsupported("no state space");
    if (decoder.take_type() != Type::u64) decoder.unsupported("addresses of 32 bits");
    Row a = decoder.source(1, Type::u64);
    Row d = decoder.destination(0, Type::u64);
    Op& op = decoder.emit(exec_add_constant);
    op.dst = d.offset;
    op.a = a.offset;
    op.imm = 0;
    if (region == Region::cluster) region = Region::shared;
    if (region == Region::shared) op.imm = shared_window;
    if (region == Region::local) op.imm = local_window;
    if (region == Region::shared && to)
        op.exec = exec_shared_offset;
    else if (to)
        op.imm = ~op.imm + 1;
    if (region == Region::kernel_param) {
        op.exec = exec_add_params;
        op.imm = to ? ~0ull : 1;
    }
}

// mapa: the same variable in the block `b` of the cluster; of a generic address or of one in shared memory.
template <class T>
void exec_map(Warp& warp, const Op& op, uint32_t lanes) {
    const T* a = warp.row<T>(op.a);
    const uint32_t* rank = warp.row<uint32_t>(op.b);
    each_lane(warp.row<T>(op.dst), lanes,
              [=](int i) -> T { return (a[i] & ~T(0xff000000u)) | (T(rank[i] + 1) << 24); });
}

template <class T>
void exec_rank_of(Warp& warp, const Op& op, uint32_t lanes) {
    const T* a = warp.row<T>(op.a);
    const uint32_t own = warp.block->cluster_rank;
    each_lane(warp.row<uint32_t>(op.dst), lanes, [=](int i) {
        uint32_t rank = static_cast<uint32_t>(a[i] >> 24) & 0xff;
        return rank ? rank - 1 : own;
    });
}

void decode_mapa(Decoder& decoder) {
    decoder.take("shared::cluster");
    const int wide = decoder.take_one({"u32", "u64"});
    if (wide < 0) decoder.unsupported();
    Type type = wide ? Type::u64 : Type::u32;
    Row a = decoder.source(1, type), b = decoder.source(2, Type::u32), d = decoder.destination(0, type);
    Op& op = decoder.emit(wide ? exec_map<uint64_t> : exec_map<uint32_t>);
    op.dst = d.offset, op.a = a.offset, op.b = b.offset;
}

void decode_getctarank(Decoder& decoder) {
    decoder.take("shared::cluster");
    const int wide = decoder.take_one({"u32", "u64"});
    if (wide < 0) decoder.unsupported();
    Row a = decoder.source(1, wide ? Type::u64 : Type::u32), d = decoder.destination(0, Type::u32);
    Op& op = decoder.emit(wide ? exec_rank_of<uint64_t> : exec_rank_of<uint32_t>);
    op.dst = d.offset, op.a = a.offset;
}

template <Region region>
void exec_is_space(Warp& warp, const Op& op, uint32_t lanes) {
    const uint64_t* a = warp.row<uint64_t>(op.a);
    const uint64_t params = reinterpret_cast<uint64_t>(warp.block->launch->params);
    const uint64_t param_bytes = warp.block->launch->param_bytes;
    const Memory::View& view = *warp.worker->view;
    each_predicate(&warp.predicate(op.dst), lanes, [&](int i) {
        uint64_t address = a[i];
        bool shared = address >= shared_window && address < shared_window_end;
        bool local = address >= local_window && address < local_window_end;
        bool param = address >= params && address < params + param_bytes;
        if constexpr (region == Region::shared) {
            uint64_t rank = (address - shared_window) >> 24;
            return shared && (rank == 0 || rank == warp.block->cluster_rank + 1u);
        }
        if constexpr (region == Region::cluster) return shared;
        if constexpr (region == Region::local) return local;
        if constexpr (region == Region::kernel_param) return param;
        bool constant = false;
        if (const Allocation* allocation = Memory::find(view, address))
            constant = allocation->kind == MemoryKind::constant;
        if constexpr (region == Region::constant) return constant;
        return !shared && !local && !param && !constant;
    });
}

void decode_isspacep(Decoder& decoder) {
    Region region = take_region(decoder);
    Exec exec = nullptr;
    switch (region) {
        case Region::global: exec = exec_is_space<Region::global>; break;
        case Region::shared: exec = exec_is_space<Region::shared>; break;
        case Region::cluster: exec = exec_is_space<Region::cluster>; break;
        case Region::local: exec = exec_is_space<Region::local>; break;
        case Region::constant: exec = exec_is_space<Region::constant>; break;
        case Region::kernel_param: exec = exec_is_space<Region::kernel_param>; break;
        default: decoder.unsupported("this state space");
    }
    Row a = decoder.source(1, Type::u64);
    Row d = decoder.destination(0, Type::pred);
    Op& op = decoder.emit(exec);
    op.dst = d.offset;
    op.a = a.offset;
}

// --- what has no result

void exec_fence(Warp& warp, const Op&, uint32_t) {
    if (!warp.worker->alone) std::atomic_thread_fence(std::memory_order_seq_cst);
}

void decode_fence(Decoder& decoder) {
    decoder.take_one({"sc", "acq_rel", "acquire", "release"});
    decoder.take_one({"cta", "cluster", "gpu", "sys"});
    decoder.take("mbarrier_init");
    decoder.take_one({"sync_restrict::shared::cta", "sync_restrict::shared::cluster",
                      "sync_restrict::shared::cluster::read", "sync_restrict::read"});
    if (decoder.take("proxy")) {
        if (decoder.take_one({"alias", "async", "async::generic", "tensormap::generic"}) < 0) decoder.unsupported();
        decoder.take_one({"global", "shared::cta", "shared::cluster"});
    } else {
        decoder.take("alias");
    }
    decoder.emit(exec_fence).report = Report::orders;
}

void decode_membar(Decoder& decoder) {
    if (decoder.take_one({"cta", "gl", "gpu", "sys"}) < 0) {
        decoder.take("proxy");
        decoder.take_one({"alias", "proxy::alias"});
    }
    decoder.emit(exec_fence).report = Report::orders;
}

// Nothing is cached, so a prefetch does nothing; discard says that the bytes are not needed, and keeping them is allowed.
void decode_nothing(Decoder& decoder) {
    take_region(decoder);
    decoder.take_one({"L1", "L2", "L2::evict_last", "L2::evict_normal", "L1::32B"});
    decoder.take("valid_addr");
    decoder.take_one({"tensormap"});
    decoder.take("L2::evict_normal");
}

void decode_createpolicy(Decoder& decoder) {
    decoder.take_one({"fractional", "range", "cvt"});
    decoder.take("L2");
    take_region(decoder);
    decoder.take_one({"L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"});
    decoder.take_one({"L2::evict_first", "L2::evict_unchanged"});
    decoder.take_type();
    Row d = decoder.destination(0, Type::b64);
    Row zero = decoder.constant(0, 8);
    Op& op = decoder.emit(exec_add_constant);
    op.dst = d.offset;
    op.a = zero.offset;
}

void decode_store(Decoder& decoder) {
    if (begins_with(decoder, "async")) return decode_async_store(decoder);
    if (begins_with(decoder, "bulk")) return decode_bulk_store(decoder);
    decode_access(decoder, false);
}

}  // namespace

void register_memory(OperationTable& table) {
    register_async(table);
    register_fragment(table);
    register_launch_control(table);
    register_affine(table);
    table.fused_dot = exec_fused_dot;
    table.add("ld", [](Decoder& decoder) { decode_access(decoder, true); }, {Effect::writes_first});
    table.add("ldu", [](Decoder& decoder) { decode_access(decoder, true); }, {Effect::writes_first});
    table.add("st", decode_store, {Effect::none});
    table.add("cvta", decode_cvta, {Effect::pure});
    table.add("mapa", decode_mapa);
    table.add("getctarank", decode_getctarank);
    table.add("isspacep", decode_isspacep);
    table.add("fence", decode_fence);
    table.add("membar", decode_membar);
    table.add("prefetch", decode_nothing);
    table.add("prefetchu", decode_nothing);
    table.add("discard", [](Decoder& decoder) {
        decoder.take("L2");
        take_region(decoder);
    });
    table.add("applypriority", decode_nothing);
    table.add("createpolicy", decode_createpolicy);
}

}  // namespace softcuda::SOFTCUDA_LEVEL
