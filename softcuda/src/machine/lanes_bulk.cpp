// Bulk copies and reductions between global memory and the shared memory of a cluster, st.async, red.async, st.bulk.
//
// When they land is async.h's business.
#include <type_traits>
#include <utility>

#include "machine/bulk_copies.h"
#include "machine/half.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using ptx::Type;

// --- reductions: an array into an array

template <class T, class F>
void reduce_with(std::byte* to, const std::byte* from, uint32_t bytes) {
    for (uint32_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
        T old, value;
        std::memcpy(&old, to + at, sizeof old);
        std::memcpy(&value, from + at, sizeof value);
        T changed = F{}(old, value);
        std::memcpy(to + at, &changed, sizeof changed);
    }
}
template <class T, class F>
constexpr Reduction reduction(F) {
    return reduce_with<T, F>;
}

template <class T>
Reduction integer_reduction(std::string_view name) {
    using U = std::make_unsigned_t<T>;  // a sum wraps around
    if (name == "add") return reduction<U>([](U a, U b) -> U { return static_cast<U>(a + b); });
    if (name == "min") return reduction<T>([](T a, T b) -> T { return b < a ? b : a; });
    if (name == "max") return reduction<T>([](T a, T b) -> T { return a < b ? b : a; });
    if (name == "inc") return reduction<T>([](T a, T b) -> T { return a >= b ? T(0) : T(a + 1); });
    if (name == "dec") return reduction<T>([](T a, T b) -> T { return a == 0 || a > b ? b : T(a - 1); });
    return nullptr;
}
template <class T>
Reduction bit_reduction(std::string_view name) {
    if (name == "and") return reduction<T>([](T a, T b) -> T { return a & b; });
    if (name == "or") return reduction<T>([](T a, T b) -> T { return a | b; });
    if (name == "xor") return reduction<T>([](T a, T b) -> T { return a ^ b; });
    return nullptr;
}

template <float (*widen)(uint16_t), uint16_t (*narrow_to)(float)>
Reduction half_reduction(std::string_view name) {
    if (name == "add")
        return reduction<uint16_t>([](uint16_t a, uint16_t b) { return narrow_to(widen(a) + widen(b)); });
    if (name == "min")
        return reduction<uint16_t>(
            [](uint16_t a, uint16_t b) { return narrow_to(pick_extreme<float, false>(widen(a), widen(b))); });
    if (name == "max")
        return reduction<uint16_t>(
            [](uint16_t a, uint16_t b) { return narrow_to(pick_extreme<float, true>(widen(a), widen(b))); });
    return nullptr;
}

}  // namespace

// Floats in global memory are added as red.add does: subnormals are zeros.
Reduction choose_reduction(std::string_view name, Type type, bool global) {
    const bool counts = name == "inc" || name == "dec";
    switch (type) {
        case Type::u32: return integer_reduction<uint32_t>(name);
        case Type::s32: return counts ? nullptr : integer_reduction<int32_t>(name);
        case Type::u64: return counts ? nullptr : integer_reduction<uint64_t>(name);
        case Type::s64: return counts || name == "add" ? nullptr : integer_reduction<int64_t>(name);
        case Type::b32: return bit_reduction<uint32_t>(name);
        case Type::b64: return bit_reduction<uint64_t>(name);
        default: break;
    }
    if (!global) return nullptr;
    switch (type) {
        case Type::f16: return half_reduction<from_f16, to_f16>(name);
        case Type::bf16: return half_reduction<from_bf16, to_bf16>(name);
        case Type::f32:
            if (name != "add") return nullptr;
            return reduction<float>([](float a, float b) { return canonical(flush(flush(a) + flush(b))); });
        case Type::f64:
            if (name != "add") return nullptr;
            // A NaN passes as it is, a signalling one too (measured: atom.add makes it quiet).
            return reduction<double>([](double a, double b) { return b != b ? b : a != a ? a : a + b; });
        default: return nullptr;
    }
}

namespace {

// The operation and its type: ".add.noftz.bf16".
Reduction take_reduction(Decoder& decoder, bool global, Type& type) {
    constexpr std::string_view names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
    const int which = decoder.take_one({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
    if (which < 0) decoder.unsupported("no operation");
    const bool noftz = decoder.take("noftz");
    type = decoder.take_type();
    if (noftz != (names[which] == "add" && (type == Type::f16 || type == Type::bf16)))
        decoder.unsupported(".noftz is for .add of .f16 and .bf16");
    Reduction reduce = choose_reduction(names[which], type, global);
    if (!reduce) decoder.unsupported("no such operation for this type");
    return reduce;
}

// --- bulk copies

struct Bulk {
    Op to, from, barrier;                       // addresses, in the shape that resolve() reads
    uint32_t size = 0, blocks = 0, chosen = 0;  // rows: bytes; multicast's mask; the mask of bytes.  0: none
    Reduction reduce = nullptr;
    bool grouped = false;  // a bulk group reports the end, else the mbarrier
};

// The host address of `bytes` (a multiple of 16) in the lane's memory, every one of them there.
std::byte* resolve_run(Warp& warp, const Op& shape, int lane, uint32_t bytes, Access access) {
    Addresses first, last;
    resolve_any(warp, shape, 1u << lane, 16, access, first.at);
    Op end = shape;
    end.imm += bytes - 16;
    resolve_any(warp, end, 1u << lane, 16, access, last.at);
    const uint64_t at = first.at[lane];
    if (static_cast<Region>(shape.small[2]) == Region::global) {
        const Memory::View& view = *warp.worker->view;
        const Allocation* allocation = Memory::find(view, at);
        if (allocation && bytes > allocation->end() - at)
            fault_at(warp, shape, lane, FaultKind::illegal_address, access, at, bytes,
                     warp.block->launch->memory->describe(view, at, bytes));
    }
    return reinterpret_cast<std::byte*>(at);
}

void exec_bulk(Warp& warp, const Op& op, uint32_t lanes) {
    const Bulk& bulk = *static_cast<const Bulk*>(op.extra);
    each_active(lanes, [&](int i) {
        const uint32_t bytes = warp.row<uint32_t>(bulk.size)[i];
        if (bytes % 16 != 0)
            warp.fault(FaultKind::misaligned_address, op, i,
                       "a bulk copy of " + std::to_string(bytes) + " bytes, which is no multiple of 16");
        if (bytes == 0) return;
        charge(warp, bytes / 64);
        Transfer transfer;
        transfer.bytes = bytes;
        transfer.reduce = bulk.reduce;
        if (bulk.chosen) transfer.chosen = warp.row<uint16_t>(bulk.chosen)[i];
        {
            const Unobserved unobserved(warp);
            transfer.to = resolve_run(warp, bulk.to, i, bytes, Access::store);
            transfer.from = resolve_run(warp, bulk.from, i, bytes, Access::load);
        }
        BulkEvent event{static_cast<uint32_t>(i), i == std::countr_zero(lanes), Access::load, {}, 0, 0, {}, {}};
        const bool from_global = static_cast<Region>(bulk.from.small[2]) == Region::global;
        auto begin = [&](Transfer& copy, const void* barrier) {  // tells observers
            if (!warp.observer) return;
            copy.state = std::make_shared<TransferState>();
            auto part = [&](const std::byte* place) {
                const Block& owner = owner_of(warp, place);
                const auto at = static_cast<uint32_t>(place - owner.shared);
                return shared_part(owner, at, at + bytes, barrier, copy);
            };
            if (!bulk.grouped) event.written.push_back(part(copy.to));
            if (!from_global && event.read.empty()) event.read.push_back(part(copy.from));
        };
        auto end = [&](const Transfer& copy) {
            if (!warp.observer) return;
            if (bulk.grouped) event.access = bulk.reduce ? Access::reduction : Access::store;
            if (bulk.grouped || from_global) {
                const auto* at = bulk.grouped ? copy.to : copy.from;
                event.global.push_back({reinterpret_cast<uint64_t>(at), bytes});
                event.rows = 1, event.row_bytes = bytes;
            }
            report(warp, event);
        };
        if (bulk.grouped) {
            begin(transfer, nullptr);
            end(transfer);
            return copies_of(warp).issue_bulk(i, std::move(transfer));
        }
        Addresses barriers;
        resolve_any(warp, bulk.barrier, 1u << i, 8, Access::atomic, barriers.at);
        auto* barrier = reinterpret_cast<uint64_t*>(barriers.at[i]);
        AsyncQueue& queue = async_queue(*warp.block);
        if (!bulk.blocks) {
            begin(transfer, barrier);
            end(transfer);
            return queue.transfer(barrier, std::move(transfer));
        }
        each_active(warp.row<uint16_t>(bulk.blocks)[i], [&](int rank) {
            Transfer copy = transfer;
            copy.to = in_block(warp, op, i, transfer.to, static_cast<uint32_t>(rank));
            uint64_t* const there = in_block(warp, op, i, barrier, static_cast<uint32_t>(rank));
            begin(copy, there);
            queue.transfer(there, std::move(copy));
        });
        end(transfer);
    });
}

// imm: groups that may stay under way; small[0]: only their sources must have been read.
void exec_commit_bulk(Warp& warp, const Op&, uint32_t lanes) { copies_of(warp).commit_bulk(lanes); }
void exec_wait_bulk(Warp& warp, const Op& op, uint32_t lanes) {
    copies_of(warp).wait_bulk(lanes, static_cast<uint32_t>(op.imm), op.small[0]);
    report_wait(warp, lanes, nullptr);
}

void check_prefetch(Decoder& decoder) {  // nothing is cached
    if (!decoder.take("L2") || !decoder.take("global")) decoder.unsupported();
    const bool policy = decoder.take("L2::cache_hint");
    if (decoder.count() != (policy ? 3u : 2u)) decoder.unsupported("number of operands");
    decoder.address(0, "global");
    decoder.source(1, Type::u32);
}

// --- single values with an mbarrier: st.async, red.async

struct Values {
    Op to, barrier;
    std::vector<uint32_t> rows;
    uint32_t bytes = 0;  // of one
    Reduction reduce = nullptr;
};
void exec_values(Warp& warp, const Op& op, uint32_t lanes) {
    const Values& values = *static_cast<const Values*>(op.extra);
    const auto count = static_cast<uint32_t>(values.rows.size());
    Addresses to, barriers;
    resolve_any(warp, values.to, lanes, uint64_t(values.bytes) * count, Access::store, to.at);
    resolve_any(warp, values.barrier, lanes, 8, Access::atomic, barriers.at);
    each_active(lanes, [&](int i) {
        Transfer transfer;
        transfer.to = reinterpret_cast<std::byte*>(to.at[i]);
        transfer.bytes = values.bytes * count;
        transfer.reduce = values.reduce;
        transfer.data.resize(transfer.bytes);
        for (uint32_t k = 0; k < count; ++k)
            std::memcpy(transfer.data.data() + k * values.bytes,
                        warp.row<std::byte>(values.rows[k]) + static_cast<uint32_t>(i) * values.bytes, values.bytes);
        async_queue(*warp.block).transfer(reinterpret_cast<uint64_t*>(barriers.at[i]), std::move(transfer));
    });
}
void decode_values(Decoder& decoder, bool reduces) {
    decoder.take("async");
    if (reduces ? !decoder.take("relaxed") || !decoder.take("cluster") : false) decoder.unsupported();
    if (!reduces) decoder.take("weak");
    if (!decoder.take("mbarrier::complete_tx::bytes")) decoder.unsupported("one that no mbarrier waits for");
    decoder.take("shared::cluster");  // which is the only place there is
    auto values = std::make_shared<Values>();
    const int vector = reduces ? -1 : decoder.take_one({"v2", "v4"});
    Type type;
    if (reduces)
        values->reduce = take_reduction(decoder, false, type);
    else
        type = decoder.take_type();
    values->bytes = static_cast<uint32_t>(ptx::bytes_of(type));
    if ((values->bytes != 4 && values->bytes != 8) || decoder.count() != 3) decoder.unsupported();
    const ptx::Operand& given = decoder.operand(1);
    if (vector < 0) {
        values->rows.push_back(decoder.source(1, type).offset);
    } else {
        if (given.kind != ptx::OperandKind::vector || given.elements.size() != size_t(2) << vector)
            decoder.unsupported("a vector of another length");
        for (const ptx::Operand& element : given.elements) values->rows.push_back(decoder.source(element, type).offset);
    }
    Address to = decoder.address(0, "shared"), barrier = decoder.address(2, "shared");
    Op& op = decoder.emit(exec_values);
    values->to = values->barrier = op;
    set_address(values->to, to, Region::cluster);
    set_address(values->barrier, barrier, Region::cluster);
    op.extra = decoder.keep(values);
}

// st.bulk: zeros.  b: bytes, a multiple of eight.
void exec_zeros(Warp& warp, const Op& op, uint32_t lanes) {
    each_active(lanes, [&](int i) {
        const uint64_t bytes = warp.row<uint64_t>(op.b)[i];
        if (bytes % 8 != 0)
            warp.fault(FaultKind::misaligned_address, op, i,
                       "st.bulk of " + std::to_string(bytes) + " bytes, which is no multiple of 8");
        charge(warp, bytes);
        Op word = op;
        for (uint64_t at = 0; at < bytes; at += 8) {
            Addresses addresses;
            resolve_any(warp, word, 1u << i, 8, Access::store, addresses.at);
            std::memset(reinterpret_cast<void*>(addresses.at[i]), 0, 8);
            word.imm += 8;
        }
    });
}

}  // namespace

ThreadCopies& copies_of(Warp& warp) {
    auto& state = static_cast<WarpState&>(warp);
    async_queue(*warp.block);  // so that the end of the block looks here, too
    if (!state.copies) state.copies = std::make_unique<ThreadCopies>();
    return *state.copies;
}

uint64_t constant_operand(Decoder& decoder, size_t i) {
    const ptx::Operand& operand = decoder.operand(i);
    if (operand.kind != ptx::OperandKind::integer) decoder.unsupported("a number that is not constant");
    return operand.bits;
}

void decode_bulk_copy(Decoder& decoder) {
    const bool reduces = decoder.take("reduce");
    if (!decoder.take("async") || !decoder.take("bulk")) decoder.unsupported();
    for (const std::string& modifier : decoder.in.modifiers)
        if (modifier == "tensor") return decode_tensor_copy(decoder, reduces);
    if (decoder.take("commit_group")) {
        decoder.emit(exec_commit_bulk);
        return;
    }
    if (decoder.take("wait_group")) {
        const bool read = decoder.take("read");
        decoder.take("sync_restrict::proxy::async");  // waits for less; waiting for all is allowed
        const uint64_t left = constant_operand(decoder, 0);
        Op& op = decoder.emit(exec_wait_bulk);
        op.imm = left, op.small[0] = read;
        return;
    }
    if (decoder.take("prefetch")) return check_prefetch(decoder);

    auto bulk = std::make_shared<Bulk>();
    bulk->grouped = decoder.take("bulk_group");
    if (!bulk->grouped && !decoder.take("mbarrier::complete_tx::bytes")) decoder.unsupported("no completion");
    Region to = Region::global, from = Region::shared;
    if (bulk->grouped) {
        if (!decoder.take("global") || !decoder.take("shared::cta")) decoder.unsupported("this direction");
    } else if (decoder.take("shared::cluster")) {
        to = Region::cluster;
        from = decoder.take("global") ? Region::global : Region::shared;
        if (from == Region::shared && !decoder.take("shared::cta")) decoder.unsupported("this direction");
    } else {
        to = Region::shared, from = Region::global;
        if (!decoder.take("shared::cta") || !decoder.take("global")) decoder.unsupported("this direction");
    }
    const bool multicast = !bulk->grouped && from == Region::global && decoder.take("multicast::cluster");
    const bool policy = decoder.take("L2::cache_hint"), chosen = bulk->grouped && !reduces && decoder.take("cp_mask");
    if (reduces) {
        if (from == Region::global) decoder.unsupported("this direction");
        Type type;
        bulk->reduce = take_reduction(decoder, bulk->grouped, type);
    }
    size_t next = 0;
    Address to_address = decoder.address(next++, space_name(to)),
            from_address = decoder.address(next++, space_name(from));
    bulk->size = decoder.source(next++, Type::u32).offset;
    Address barrier;
    if (!bulk->grouped) barrier = decoder.address(next++, space_name(to));
    if (multicast) bulk->blocks = decoder.source(next++, Type::u16).offset;
    if (policy) decoder.source(next++, Type::b64);
    if (chosen) bulk->chosen = decoder.source(next++, Type::u16).offset;
    if (decoder.count() != next) decoder.unsupported("number of operands");
    Op& op = decoder.emit(exec_bulk);
    bulk->to = bulk->from = bulk->barrier = op;
    set_address(bulk->to, to_address, to);
    set_address(bulk->from, from_address, from);
    if (!bulk->grouped) set_address(bulk->barrier, barrier, to);
    op.extra = decoder.keep(bulk);
}

void decode_async_store(Decoder& decoder) { decode_values(decoder, false); }
void decode_async_reduction(Decoder& decoder) { decode_values(decoder, true); }

void decode_bulk_store(Decoder& decoder) {
    decoder.take("bulk");
    decoder.take("weak");
    const Region region = decoder.take("shared::cta") ? Region::shared : Region::generic;
    if (decoder.count() != 3 || constant_operand(decoder, 2) != 0) decoder.unsupported("a value other than 0");
    Address address = decoder.address(0, space_name(region));
    Row bytes = decoder.source(1, Type::u64);
    Op& op = decoder.emit(exec_zeros);
    set_address(op, address, region);
    op.b = bytes.offset;
}

}  // namespace softcuda::SOFTCUDA_LEVEL
