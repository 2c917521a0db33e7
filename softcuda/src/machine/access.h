// From address operands to host addresses, with every check an access needs.  Included by the lane files that touch memory.
#pragma once

#include <cstdio>

#include "machine/block.h"
#include "machine/decode.h"
#include "machine/lanes.h"

namespace softcuda::SOFTCUDA_LEVEL {

// How an Op of this family keeps its address: a = base row, small[1] = its element bytes (0: none), imm = offset;
// a parameter slot: imm = offset in the frame, b = bytes a lane.  small[0] = elements of a vector, small[2] = Region,
// small[3] = marks (below).
enum class Region : uint8_t { global, shared, local, constant, kernel_param, slot, generic, cluster };
inline constexpr uint8_t mark_spins = 1;   // a waiting loop would contain it
inline constexpr uint8_t mark_result = 2;  // atom: somebody reads the result
// For observers: mark_strong, mark_release (observer.h) and
inline uint8_t mark_value(int row_bytes) {
    return static_cast<uint8_t>(std::countr_zero(static_cast<unsigned>(row_bytes)) << 4);
}

inline Space space_of(Region region) {
    switch (region) {
        case Region::global: return Space::global;
        case Region::shared:
        case Region::cluster: return Space::shared;
        case Region::local: return Space::local;
        case Region::constant: return Space::constant;
        case Region::kernel_param:
        case Region::slot: return Space::param;
        case Region::generic: return Space::generic;
    }
    return Space::generic;
}

// An operation has taken as long as so many more: turns of warps, and time limits, are kept all the same.
inline void charge(Warp& warp, uint64_t work) { static_cast<WarpState&>(warp).spent += static_cast<int64_t>(work); }

struct Addresses {
    alignas(64) uint64_t at[warp_size];  // host addresses; idle lanes repeat an active one
};

inline const char* verb(Access access) {
    return access == Access::load ? "read" : access == Access::store ? "write" : "atomic operation";
}

[[noreturn, gnu::cold, gnu::noinline]] inline void fault_at(Warp& warp, const Op& op, int lane, FaultKind kind,
                                                            Access access, uint64_t address, uint64_t bytes,
                                                            const std::string& why) {
    char text[96];
    std::snprintf(text, sizeof text, "%s of %llu byte%s at 0x%llx, ", verb(access),
                  static_cast<unsigned long long>(bytes), bytes == 1 ? "" : "s",
                  static_cast<unsigned long long>(address));
    warp.fault_address = address;
    warp.fault(kind, op, lane, text + why);
}

[[noreturn, gnu::cold, gnu::noinline]] inline void fault_misaligned(Warp& warp, const Op& op, int lane, Access access,
                                                                    uint64_t address, uint64_t bytes) {
    fault_at(warp, op, lane, FaultKind::misaligned_address, access, address, bytes,
             "which is no multiple of " + std::to_string(bytes));
}

// Global memory, lane by lane: finds the allocations, or faults.  Remembers the last one for the fast path.
[[gnu::noinline]] inline void check_global(Warp& warp, const Op& op, uint32_t lanes, uint64_t bytes, Access access,
                                           const uint64_t* at) {
    const Memory::View& view = *warp.worker->view;
    const bool writes = access != Access::load;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int lane = std::countr_zero(rest);
        const Allocation* allocation = Memory::find(view, at[lane]);
        if (!allocation || bytes > allocation->end() - at[lane])
            fault_at(warp, op, lane, FaultKind::illegal_address, access, at[lane], bytes,
                     warp.block->launch->memory->describe(view, at[lane], bytes));
        if (writes && allocation->read_only)
            fault_at(warp, op, lane, FaultKind::illegal_address, access, at[lane], bytes,
                     warp.block->launch->memory->describe(view, at[lane], bytes) + ", which kernels may only read");
        if (at[lane] % bytes != 0) fault_misaligned(warp, op, lane, access, at[lane], bytes);
        Span& span = writes ? warp.worker->store_span(op) : warp.worker->load_span(op);
        span = {allocation->base, allocation->end()};
    }
}

[[gnu::noinline]] inline void check_window(Warp& warp, const Op& op, uint32_t lanes, uint64_t bytes, Access access,
                                           const uint64_t* offsets, uint64_t limit, const char* where) {
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int lane = std::countr_zero(rest);
        if (offsets[lane] >= limit || bytes > limit - offsets[lane])
            fault_at(
                warp, op, lane, FaultKind::illegal_address, access, offsets[lane], bytes,
                "but " + std::string(where) + " ends at 0x" + [&] {
                    char text[24];
                    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(limit));
                    return std::string(text);
                }());
        if (offsets[lane] % bytes != 0) fault_misaligned(warp, op, lane, access, offsets[lane], bytes);
    }
}

struct Extent {
    uint64_t low, high, bits;
};
inline Extent extent(const uint64_t* at) {
    uint64_t low = at[0], high = at[0], bits = 0;
    for (int i = 0; i < warp_size; ++i) {
        low = at[i] < low ? at[i] : low;
        high = at[i] > high ? at[i] : high;
        bits |= at[i];
    }
    return {low, high, bits};
}

// The effective addresses of the instruction, before any check.
inline void effective(Warp& warp, const Op& op, uint32_t lanes, uint64_t* at) {
    if (op.small[1] == 8) {
        const uint64_t* base = warp.row<uint64_t>(op.a);
        for (int i = 0; i < warp_size; ++i) at[i] = base[i] + op.imm;
    } else if (op.small[1] == 4) {
        const uint32_t* base = warp.row<uint32_t>(op.a);
        for (int i = 0; i < warp_size; ++i) at[i] = static_cast<uint32_t>(base[i] + static_cast<uint32_t>(op.imm));
    } else {
        for (int i = 0; i < warp_size; ++i) at[i] = op.imm;
    }
    if (lanes != all_lanes) {
        uint64_t some = at[std::countr_zero(lanes)];
        for (int i = 0; i < warp_size; ++i) at[i] = (lanes >> i) & 1 ? at[i] : some;
    }
}

[[gnu::cold, gnu::noinline]] inline void observe(Warp& warp, const Op& op, uint32_t lanes, uint32_t bytes,
                                                 Region region, Access access, const uint64_t* at) {
    auto& state = static_cast<WarpState&>(warp);
    MemoryEvent event{.space = space_of(region),
                      .access = access,
                      .lanes = lanes,
                      .bytes = bytes,
                      .addresses = at,
                      .strong = (op.small[3] & mark_strong) != 0,
                      .release = (op.small[3] & mark_release) != 0,
                      .remote = region == Region::cluster,
                      .value_bytes = value_bytes_of(op),
                      .frame = warp.frame,
                      .shared = warp.block->shared,
                      .running = state.running};
    if (region != Region::generic) {
        warp.observer->memory(state.place(), op, event);
        return;
    }
    // Generic accesses are reported as what they point into, one event a space.
    uint64_t offsets[warp_size];
    uint32_t masks[3] = {0, 0, 0};
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int lane = std::countr_zero(rest);
        bool shared = at[lane] >= shared_window && at[lane] < shared_window_end;
        bool local = at[lane] >= local_window && at[lane] < local_window_end;
        offsets[lane] = shared ? at[lane] & 0xffffff : local ? at[lane] - local_window : at[lane];
        masks[shared ? 1 : local ? 2 : 0] |= 1u << lane;
        if (shared && (at[lane] - shared_window) >> 24) event.remote = true;
    }
    constexpr Space spaces[3] = {Space::global, Space::shared, Space::local};
    for (int k = 0; k < 3; ++k)
        if (masks[k]) {
            event.space = spaces[k];
            event.lanes = masks[k];
            event.addresses = offsets;
            warp.observer->memory(state.place(), op, event);
        }
}

inline bool fits_global(Warp& warp, const Op& op, uint64_t bytes, Access access, const Extent& e) {
    const Span& span = access == Access::load ? warp.worker->load_span(op) : warp.worker->store_span(op);
    return e.low >= span.lo && e.high < span.hi && e.high + bytes <= span.hi && (e.bits & (bytes - 1)) == 0;
}

// Lanes that point into different windows of the generic space, or into shared or local memory.
[[gnu::noinline]] inline void resolve_windows(Warp& warp, const Op& op, uint32_t lanes, uint64_t bytes, Access access,
                                              uint64_t* at) {
    const Block& block = *warp.block;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        int lane = std::countr_zero(rest);
        uint64_t address = at[lane];
        if (address >= shared_window && address < shared_window_end) {
            uint64_t offset = (address - shared_window) & 0xffffff;
            uint64_t rank = (address - shared_window) >> 24;  // 0: the own block, else a rank of the cluster + 1
            const Block* owner = &block;
            if (rank) {
                const auto& ranks = block.cluster->ranks;
                if (rank > ranks.size())
                    fault_at(warp, op, lane, FaultKind::illegal_address, access, address, bytes,
                             "in shared memory of no block of the cluster");
                owner = ranks[rank - 1];
                if (!owner)
                    fault_at(
                        warp, op, lane, FaultKind::illegal_address, access, address, bytes,
                        "in shared memory of block " + std::to_string(rank - 1) + " of the cluster, which has ended");
            }
            uint64_t offsets[warp_size];
            offsets[lane] = offset;
            check_window(warp, op, 1u << lane, bytes, access, offsets, owner->shared_bytes,
                         "the block's shared memory");
            at[lane] = reinterpret_cast<uint64_t>(owner->shared) + offset;
        } else if (address >= local_window && address < local_window_end) {
            uint64_t offsets[warp_size];
            offsets[lane] = address - local_window;
            check_window(warp, op, 1u << lane, bytes, access, offsets, block.local_stride, "the thread's local memory");
            at[lane] = reinterpret_cast<uint64_t>(block.local) +
                       uint64_t(block.local_stride) * (warp.index * warp_size + static_cast<uint32_t>(lane)) +
                       offsets[lane];
        } else {
            check_global(warp, op, 1u << lane, bytes, access, at);
        }
    }
    uint64_t some = at[std::countr_zero(lanes)];
    for (int i = 0; i < warp_size; ++i) at[i] = (lanes >> i) & 1 ? at[i] : some;
}

// Host addresses of all lanes, checked for an access of `bytes` (a power of two) each.
template <Region region>
inline void resolve(Warp& warp, const Op& op, uint32_t lanes, uint64_t bytes, Access access, uint64_t* at) {
    if constexpr (region == Region::slot) {
        uint64_t base = reinterpret_cast<uint64_t>(warp.frame) + op.imm;
        for (int i = 0; i < warp_size; ++i) at[i] = base + static_cast<uint64_t>(i) * op.b;
        return;
    }
    effective(warp, op, lanes, at);
    if (warp.observer) observe(warp, op, lanes, static_cast<uint32_t>(bytes), region, access, at);
    const Extent e = extent(at);
    const Block& block = *warp.block;
    if constexpr (region == Region::global || region == Region::constant) {
        if (!fits_global(warp, op, bytes, access, e)) check_global(warp, op, lanes, bytes, access, at);
    } else if constexpr (region == Region::generic) {
        if (e.high < shared_window) {
            if (!fits_global(warp, op, bytes, access, e)) check_global(warp, op, lanes, bytes, access, at);
        } else {
            resolve_windows(warp, op, lanes, bytes, access, at);
        }
    } else if constexpr (region == Region::cluster) {
        for (int i = 0; i < warp_size; ++i) at[i] += shared_window;
        resolve_windows(warp, op, lanes, bytes, access, at);
    } else if constexpr (region == Region::shared) {
        if (e.high >= block.shared_bytes || e.high + bytes > block.shared_bytes || (e.bits & (bytes - 1)))
            check_window(warp, op, lanes, bytes, access, at, block.shared_bytes, "the block's shared memory");
        uint64_t base = reinterpret_cast<uint64_t>(block.shared);
        for (int i = 0; i < warp_size; ++i) at[i] += base;
    } else if constexpr (region == Region::local) {
        if (e.high >= block.local_stride || e.high + bytes > block.local_stride || (e.bits & (bytes - 1)))
            check_window(warp, op, lanes, bytes, access, at, block.local_stride, "the thread's local memory");
        uint64_t base = reinterpret_cast<uint64_t>(block.local) + uint64_t(block.local_stride) * warp.index * warp_size;
        for (int i = 0; i < warp_size; ++i) at[i] += base + uint64_t(block.local_stride) * static_cast<uint64_t>(i);
        if (lanes != all_lanes) {
            uint64_t some = at[std::countr_zero(lanes)];
            for (int i = 0; i < warp_size; ++i) at[i] = (lanes >> i) & 1 ? at[i] : some;
        }
    } else if constexpr (region == Region::kernel_param) {
        const Launch& launch = *block.launch;
        if (e.high >= launch.param_bytes || e.high + bytes > launch.param_bytes || (e.bits & (bytes - 1)))
            check_window(warp, op, lanes, bytes, access, at, launch.param_bytes, "the kernel's parameter space");
        uint64_t base = reinterpret_cast<uint64_t>(launch.params);
        for (int i = 0; i < warp_size; ++i) at[i] += base;
    }
}

inline void resolve_any(Warp& warp, const Op& op, uint32_t lanes, uint64_t bytes, Access access, uint64_t* at) {
    switch (static_cast<Region>(op.small[2])) {
        case Region::global: return resolve<Region::global>(warp, op, lanes, bytes, access, at);
        case Region::shared: return resolve<Region::shared>(warp, op, lanes, bytes, access, at);
        case Region::local: return resolve<Region::local>(warp, op, lanes, bytes, access, at);
        case Region::constant: return resolve<Region::constant>(warp, op, lanes, bytes, access, at);
        case Region::kernel_param: return resolve<Region::kernel_param>(warp, op, lanes, bytes, access, at);
        case Region::slot: return resolve<Region::slot>(warp, op, lanes, bytes, access, at);
        case Region::generic: return resolve<Region::generic>(warp, op, lanes, bytes, access, at);
        case Region::cluster: return resolve<Region::cluster>(warp, op, lanes, bytes, access, at);
    }
}

void register_async(OperationTable& table);           // lanes_async.cpp,
void register_fragment(OperationTable& table);        // lanes_fragment.cpp and
void register_affine(OperationTable& table);          // lanes_affine.cpp,
void register_launch_control(OperationTable& table);  // lanes_launch_control.cpp, parts of the memory family
// lanes_bulk.cpp: what cp.async.bulk, st.async, red.async and st.bulk are
void decode_bulk_copy(Decoder& decoder);
void decode_async_store(Decoder& decoder);
void decode_async_reduction(Decoder& decoder);
void decode_bulk_store(Decoder& decoder);
ThreadCopies& copies_of(Warp& warp);
uint64_t constant_operand(Decoder& decoder, size_t i);
inline bool begins_with(const Decoder& decoder, std::string_view modifier) {
    return !decoder.in.modifiers.empty() && decoder.in.modifiers[0] == modifier;
}

// --- decoding

// The state space among the modifiers, and the address operand `i` in it, written into an Op later by set_address.
inline Region take_region(Decoder& decoder) {
    switch (decoder.take_one({"global", "shared", "shared::cta", "local", "const", "param", "param::entry",
                              "param::func", "shared::cluster"})) {
        case 0: return Region::global;
        case 1:
        case 2: return Region::shared;
        case 3: return Region::local;
        case 4: return Region::constant;
        case 5:
        case 6:
        case 7: return Region::kernel_param;
        case 8: return Region::cluster;
        default: return Region::generic;
    }
}

inline std::string_view space_name(Region region) {
    constexpr std::string_view names[] = {"global", "shared", "local", "const", "param", "param", "", "shared"};
    return names[static_cast<size_t>(region)];
}

inline void set_address(Op& op, const Address& address, Region region) {
    op.imm = address.offset;
    op.a = address.base.offset;
    op.small[1] = address.base.element_bytes;
    if (address.kind == Address::Kind::slot) {
        region = Region::slot;
        op.imm += address.slot.offset;
        op.b = address.slot.bytes;
    } else if (address.kind == Address::Kind::kernel_param) {
        region = Region::kernel_param;
    }
    op.small[2] = static_cast<uint8_t>(region);
}

// For an Op whose whole effect on memory is one access at its address, of `bytes` a lane.
inline void set_report(Op& op, Access access, uint64_t bytes) {
    const auto region = static_cast<Region>(op.small[2]);
    op.space = space_of(region);
    op.access = access;
    op.access_bytes = static_cast<uint8_t>(bytes);
    if (op.space == Space::constant || op.space == Space::param)
        op.report = Report::never;
    else if (region != Region::generic && region != Region::cluster)
        op.report = Report::access;
}

// Cache and prefetch hints say nothing about results.  True if a cache-policy operand follows the others.
inline bool take_hints(Decoder& decoder) {
    decoder.take_one(
        {"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"});
    decoder.take_one({"L2::evict_normal", "L2::evict_first", "L2::evict_last"});
    bool policy = decoder.take("L2::cache_hint");
    decoder.take_one({"L2::64B", "L2::128B", "L2::256B"});
    return policy;
}

}  // namespace softcuda::SOFTCUDA_LEVEL
