// Tensor copies: boxes of a tensor in global memory, which a tensor map describes, to and from shared memory; and what
// kernels do to tensor maps.
//
// What a box is made of is tensor_map.h's business, when a copy lands is async.h's.
#include "machine/tensor_map.h"

#include "machine/bulk_copies.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using ptx::Type;

constexpr uint64_t most_box = uint64_t(1) << 20;  // bytes, more than any shared memory

struct TensorCopy {
    Op shared, barrier, map;                   // addresses, in the shape that resolve() reads
    std::vector<uint32_t> coordinates, moved;  // rows
    uint32_t blocks = 0;                       // row: multicast's mask; 0: none
    bool im2col = false, stores = false, reduces = false, prefetches = false;
    std::array<Reduction, tensor_types> reductions{};  // by the type of the map
};

// The tensor map at the lane's address.
TensorMap read_map(Warp& warp, const Op& op, const Op& shape, int lane) {
    const Unobserved unobserved(warp);
    Addresses half;
    effective(warp, shape, 1u << lane, half.at);
    const auto region = static_cast<Region>(shape.small[2]);
    if (region == Region::generic && half.at[lane] >= shared_window)
        warp.fault(FaultKind::illegal_instruction, op, lane, "a tensor map in shared or local memory");
    alignas(64) std::byte bytes[tensor_map_bytes];
    Op at = shape;
    for (uint32_t k = 0; k < tensor_map_bytes; k += 64, at.imm += 64) {
        resolve_any(warp, at, 1u << lane, 64, Access::load, half.at);
        std::memcpy(bytes + k, reinterpret_cast<const void*>(half.at[lane]), 64);
    }
    TensorMap map;
    std::string why;
    if (!decode(bytes, map, why)) warp.fault(FaultKind::illegal_instruction, op, lane, why);
    return map;
}

void check_global_rows(Warp& warp, const Op& op, int lane, const TensorBox& box, Access access) {
    const Memory::View& view = *warp.worker->view;
    const Allocation* held = nullptr;
    for (const TensorBox::Row& row : box.rows) {
        if (!row.global) continue;
        const uint64_t at = reinterpret_cast<uint64_t>(row.global) + row.begin, bytes = row.end - row.begin;
        if (!held || at < held->base || at >= held->end()) held = Memory::find(view, at);
        if (!held || bytes > held->end() - at)
            fault_at(warp, op, lane, FaultKind::illegal_address, access, at, bytes,
                     "by a tensor copy, " + warp.block->launch->memory->describe(view, at, bytes));
        if (access != Access::load && held->read_only)
            fault_at(warp, op, lane, FaultKind::illegal_address, access, at, bytes,
                     warp.block->launch->memory->describe(view, at, bytes) + ", which kernels may only read");
    }
}

// What an H200 answers with an illegal instruction.
void check_copy(Warp& warp, const Op& op, int lane, const TensorCopy& copy, const TensorMap& map,
                const std::array<int32_t, 5>& at) {
    auto refuse = [&](const std::string& why) { warp.fault(FaultKind::illegal_instruction, op, lane, why); };
    if (map.rank != copy.coordinates.size())
        refuse("a copy of " + std::to_string(copy.coordinates.size()) + " dimensions with a tensor map of " +
               std::to_string(map.rank));
    if (map.im2col != copy.im2col)
        refuse(copy.im2col ? "an im2col copy with a tensor map of tiles"
                           : "a copy of a tile with an im2col tensor map");
    if (!map.interleave && int64_t(at[0]) * map.element_bytes() % 16 != 0)
        refuse("a box that begins at element " + std::to_string(at[0]) + " of a row, " +
               std::to_string(int64_t(at[0]) * map.element_bytes()) + " bytes from its start: no multiple of 16");
    for (uint32_t d = 0; map.interleave && d < map.rank; ++d)
        if (map.steps[d] != 1) refuse("element strides of interleaved channels, which softcuda does not know");
    if (!copy.stores) return;
    for (uint32_t d = 0; d < map.rank; ++d)
        if (at[d] < 0) refuse("a store of a box that begins before the tensor, at coordinate " + std::to_string(at[d]));
    if (map.im2col && map.interleave) refuse("a store of interleaved pixels, which softcuda does not know");
    for (uint32_t i = 0; map.im2col && i + 2 < map.rank; ++i)
        if (map.lower[i] < 0 || map.upper[i] > 0) refuse("a store with pixels outside of the tensor");
    if (copy.reduces && !copy.reductions[static_cast<size_t>(map.type)])
        refuse("a reduction that elements of this type do not have");
}

void exec_tensor_copy(Warp& warp, const Op& op, uint32_t lanes) {
    const TensorCopy& copy = *static_cast<const TensorCopy*>(op.extra);
    each_active(lanes, [&](int i) {
        const TensorMap map = read_map(warp, op, copy.map, i);
        std::array<int32_t, 5> at{};
        std::array<uint16_t, 3> moved{};
        for (size_t d = 0; d < copy.coordinates.size(); ++d) at[d] = warp.row<int32_t>(copy.coordinates[d])[i];
        for (size_t d = 0; d < copy.moved.size(); ++d) moved[d] = warp.row<uint16_t>(copy.moved[d])[i];
        check_copy(warp, op, i, copy, map, at);
        if (copy.prefetches) return;

        if (const uint64_t bytes = box_rows(map) * map.inner_bytes(); bytes > most_box)
            warp.fault(FaultKind::illegal_address, op, i,
                       "a box of " + std::to_string(bytes) + " bytes, more than shared memory has");
        auto box = std::make_shared<TensorBox>(box_at(map, at, moved, copy.stores));
        charge(warp, box->bytes() / 64 + box->rows.size());
        const Access access = copy.reduces ? Access::reduction : copy.stores ? Access::store : Access::load;
        check_global_rows(warp, op, i, *box, access);
        Addresses places, barriers;
        const Access in_shared = copy.stores ? Access::load : Access::store;
        {
            const Unobserved unobserved(warp);
            resolve_any(warp, copy.shared, 1u << i, 16, in_shared, places.at);
        }
        auto* const place = reinterpret_cast<std::byte*>(places.at[i]);
        const Block& owner = owner_of(warp, place);
        box->shared = owner.shared;
        box->start = static_cast<uint32_t>(place - owner.shared);
        box->limit = owner.shared_bytes;
        box->reduce = copy.reduces ? copy.reductions[static_cast<size_t>(map.type)] : nullptr;
        if (box->start % 128 != 0)
            fault_at(warp, op, i, FaultKind::misaligned_address, in_shared, box->start, box->bytes(),
                     "in shared memory, which is no multiple of 128");
        // A load may write to the end of the last 128 bytes, where nobody looks.
        const uint32_t room = copy.stores ? owner.shared_bytes : (owner.shared_bytes + 127) / 128 * 128;
        if (const uint32_t end = box->end(); end > room)
            fault_at(warp, op, i, FaultKind::illegal_address, in_shared, box->start, end - box->start,
                     "but the block's shared memory has " + std::to_string(owner.shared_bytes) + " bytes");

        Transfer transfer;
        transfer.bytes = box->bytes();
        transfer.loads = !copy.stores;
        transfer.box = box;
        BulkEvent event{static_cast<uint32_t>(i), i == std::countr_zero(lanes), access, {}, 0, 0, {}, {}};
        if (warp.observer) {
            event.rows = static_cast<uint32_t>(box->rows.size()), event.row_bytes = box->row_bytes;
            for (const TensorBox::Row& row : box->rows)
                if (row.global)
                    event.global.push_back({reinterpret_cast<uint64_t>(row.global) + row.begin, row.end - row.begin});
        }
        auto state_of = [&](Transfer& to) {
            if (warp.observer) to.state = std::make_shared<TransferState>();
        };
        if (copy.stores) {
            state_of(transfer);
            if (warp.observer) {
                event.read.push_back(shared_part(owner, box->start, box->end(), nullptr, transfer));
                report(warp, event);
            }
            return copies_of(warp).issue_bulk(i, std::move(transfer));
        }
        resolve_any(warp, copy.barrier, 1u << i, 8, Access::atomic, barriers.at);
        auto* const barrier = reinterpret_cast<uint64_t*>(barriers.at[i]);
        AsyncQueue& queue = async_queue(*warp.block);
        auto load = [&](uint64_t* at, const std::byte* shared, Transfer to_block) {
            state_of(to_block);
            if (warp.observer)
                event.written.push_back(shared_part(owner_of(warp, shared), box->start, box->end(), at, to_block));
            queue.transfer(at, std::move(to_block));
        };
        if (!copy.blocks) load(barrier, place, std::move(transfer));
        if (copy.blocks)
            each_active(warp.row<uint16_t>(copy.blocks)[i], [&](int rank) {
                auto part = std::make_shared<TensorBox>(*box);
                std::byte* const there = in_block(warp, op, i, place, static_cast<uint32_t>(rank));
                part->shared = there - box->start;
                Transfer to_block = transfer;
                to_block.box = part;
                load(in_block(warp, op, i, barrier, static_cast<uint32_t>(rank)), there, std::move(to_block));
            });
        if (warp.observer) report(warp, event);
    });
}

std::vector<uint32_t> take_rows(Decoder& decoder, const ptx::Operand& operand, size_t count, Type type,
                                const char* what) {
    std::vector<uint32_t> rows;
    if (operand.kind != ptx::OperandKind::vector || operand.elements.size() != count) decoder.unsupported(what);
    for (const ptx::Operand& element : operand.elements) rows.push_back(decoder.source(element, type).offset);
    return rows;
}

// The type that reductions of elements of a tensor map's type have; none: there is no such reduction.
Type reduced_type(TensorType type, std::string_view name) {
    const bool bits = name == "and" || name == "or" || name == "xor";
    switch (type) {
        case TensorType::u32: return bits ? Type::b32 : Type::u32;
        case TensorType::s32: return bits ? Type::b32 : Type::s32;
        case TensorType::u64: return bits ? Type::b64 : Type::u64;
        case TensorType::s64: return bits ? Type::none : Type::s64;
        case TensorType::f16: return Type::f16;
        case TensorType::bf16: return Type::bf16;
        case TensorType::f64: return Type::f64;
        case TensorType::f32:
        case TensorType::f32_ftz:
        case TensorType::tf32:
        case TensorType::tf32_ftz: return Type::f32;
        default: return Type::none;
    }
}

}  // namespace

void decode_tensor_copy(Decoder& decoder, bool reduces) {
    auto copy = std::make_shared<TensorCopy>();
    copy->reduces = reduces;
    copy->prefetches = decoder.take("prefetch");
    decoder.take("tensor");
    const int rank = 1 + decoder.take_one({"1d", "2d", "3d", "4d", "5d"});
    if (rank == 0) decoder.unsupported("no number of dimensions");
    Region region = Region::shared;  // where the box is
    bool multicast = false;
    if (copy->prefetches) {
        if (!decoder.take("L2") || !decoder.take("global")) decoder.unsupported();
    } else if (decoder.take("bulk_group")) {
        copy->stores = true;
        if (!decoder.take("global") || !decoder.take("shared::cta")) decoder.unsupported("this direction");
    } else {
        if (!decoder.take("mbarrier::complete_tx::bytes")) decoder.unsupported("no completion");
        if (decoder.take("shared::cluster"))
            region = Region::cluster;
        else if (!decoder.take("shared::cta"))
            decoder.unsupported("this direction");
        if (!decoder.take("global")) decoder.unsupported("this direction");
        multicast = region == Region::cluster && decoder.take("multicast::cluster");
    }
    if (reduces) {
        if (!copy->stores) decoder.unsupported("this direction");
        constexpr std::string_view names[] = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};
        const int which = decoder.take_one({"add", "min", "max", "inc", "dec", "and", "or", "xor"});
        if (which < 0) decoder.unsupported("no operation");
        for (uint32_t t = 0; t < tensor_types; ++t)
            copy->reductions[t] =
                choose_reduction(names[which], reduced_type(static_cast<TensorType>(t), names[which]), true);
    }
    copy->im2col = decoder.take(copy->stores ? "im2col_no_offs" : "im2col");
    if (!copy->im2col) decoder.take("tile");
    if (copy->im2col && rank < 3) decoder.unsupported("im2col of fewer than three dimensions");
    const bool policy = decoder.take("L2::cache_hint");

    size_t next = 0;
    Address to, from, barrier;
    auto take_map = [&] {
        const ptx::Operand& operand = decoder.operand(next);
        if (operand.kind != ptx::OperandKind::address || operand.elements.size() != 1)
            decoder.unsupported("no tensor map with coordinates");
        copy->coordinates = take_rows(decoder, operand.elements[0], static_cast<size_t>(rank), Type::b32,
                                      "another number of coordinates");
        return decoder.address(next++, "");
    };
    Address map, box;
    if (copy->prefetches) {
        map = take_map();
    } else if (copy->stores) {
        map = take_map();
        box = decoder.address(next++, space_name(region));
    } else {
        box = decoder.address(next++, space_name(region));
        map = take_map();
        barrier = decoder.address(next++, space_name(region));
    }
    if (copy->im2col && !copy->stores) {
        copy->moved = take_rows(decoder, decoder.operand(next), static_cast<size_t>(rank) - 2, Type::b16,
                                "another number of offsets");
        ++next;
    }
    if (multicast) copy->blocks = decoder.source(next++, Type::u16).offset;
    if (policy) decoder.source(next++, Type::b64);
    if (decoder.count() != next) decoder.unsupported("number of operands");
    Op& op = decoder.emit(exec_tensor_copy);
    copy->map = copy->shared = copy->barrier = op;
    set_address(copy->map, map, Region::generic);
    if (!copy->prefetches) set_address(copy->shared, box, region);
    if (!copy->prefetches && !copy->stores) set_address(copy->barrier, barrier, region);
    op.extra = decoder.keep(copy);
}

// --- tensor maps

namespace {

// b: the value; small[4]: field; small[5]: its dimension.
void exec_replace(Warp& warp, const Op& op, uint32_t lanes) {
    each_active(lanes, [&](int i) {
        Addresses half;
        Op at = op;
        at.small[0] = 0;
        resolve_any(warp, at, 1u << i, 64, Access::store, half.at);
        auto* const map = reinterpret_cast<std::byte*>(half.at[i]);
        at.imm += 64;
        resolve_any(warp, at, 1u << i, 64, Access::store, half.at);
        const uint64_t value = op.small[0] == 8 ? warp.row<uint64_t>(op.b)[i] : warp.row<uint32_t>(op.b)[i];
        replace(map, static_cast<TensorMapField>(op.small[4]), op.small[5], value);
    });
}

struct MapCopy {
    Op to, from;
};
// All lanes name the same 128 bytes.
void exec_copy_map(Warp& warp, const Op& op, uint32_t lanes) {
    const MapCopy& copy = *static_cast<const MapCopy*>(op.extra);
    const int lane = std::countr_zero(lanes);
    Addresses to, from;
    Op target = copy.to, source = copy.from;
    for (uint32_t k = 0; k < tensor_map_bytes; k += 64, target.imm += 64, source.imm += 64) {
        resolve_any(warp, source, 1u << lane, 64, Access::load, from.at);
        resolve_any(warp, target, 1u << lane, 64, Access::store, to.at);
        std::memcpy(reinterpret_cast<void*>(to.at[lane]), reinterpret_cast<const void*>(from.at[lane]), 64);
    }
}

void decode_replace(Decoder& decoder) {
    if (!decoder.take("tile")) decoder.unsupported("no mode");
    const int field =
        decoder.take_one({"global_address", "rank", "box_dim", "global_dim", "global_stride", "element_stride",
                          "elemtype", "interleave_layout", "swizzle_mode", "fill_mode"});
    if (field < 0) decoder.unsupported("this field");
    const auto name = static_cast<TensorMapField>(field);
    const Region region = take_region(decoder);
    if (region != Region::global && region != Region::shared && region != Region::generic)
        decoder.unsupported("another state space");
    const bool wide = name == TensorMapField::global_address || name == TensorMapField::global_stride;
    if (!decoder.take("b1024") || !decoder.take(wide ? "b64" : "b32")) decoder.unsupported("no type");
    const bool dimension =
        field >= static_cast<int>(TensorMapField::box_dim) && field <= static_cast<int>(TensorMapField::element_stride);
    if (decoder.count() != (dimension ? 3u : 2u)) decoder.unsupported("number of operands");
    const uint64_t which = dimension ? constant_operand(decoder, 1) : 0;
    const uint64_t most = name == TensorMapField::global_stride ? 4 : 5;
    if (dimension && which >= most) decoder.unsupported("a dimension that tensor maps do not have");
    const size_t last = dimension ? 2 : 1;
    if (field >= static_cast<int>(TensorMapField::elemtype)) {
        constexpr uint64_t counts[] = {13, 3, 4, 2};
        if (constant_operand(decoder, last) >= counts[field - static_cast<int>(TensorMapField::elemtype)])
            decoder.unsupported("a value that is not known");
    }
    Address address = decoder.address(0, space_name(region));
    Row value = decoder.source(last, wide ? Type::b64 : Type::b32);
    Op& op = decoder.emit(exec_replace);
    set_address(op, address, region);
    op.b = value.offset;
    op.small[0] = wide ? 8 : 4, op.small[4] = static_cast<uint8_t>(field), op.small[5] = static_cast<uint8_t>(which);
}

void decode_copy_map(Decoder& decoder) {
    if (!decoder.take("global") || !decoder.take("shared::cta") || !decoder.take("tensormap::generic") ||
        !decoder.take("release") || decoder.take_one({"cta", "cluster", "gpu", "sys"}) < 0 || !decoder.take("sync") ||
        !decoder.take("aligned"))
        decoder.unsupported();
    if (decoder.count() != 3 || constant_operand(decoder, 2) != tensor_map_bytes)
        decoder.unsupported("a size that is not 128");
    auto copy = std::make_shared<MapCopy>();
    Address to = decoder.address(0, "global"), from = decoder.address(1, "shared");
    Op& op = decoder.emit(exec_copy_map);
    copy->to = copy->from = op;
    set_address(copy->to, to, Region::global);
    set_address(copy->from, from, Region::shared);
    op.extra = decoder.keep(copy);
}

}  // namespace

void decode_tensor_map(Decoder& decoder) {
    if (decoder.take("replace")) return decode_replace(decoder);
    if (decoder.take("cp_fenceproxy")) return decode_copy_map(decoder);
    decoder.unsupported();
}

}  // namespace softcuda::SOFTCUDA_LEVEL
