// clusterlaunchcontrol: a block takes over the work of one (of a cluster) that has not started yet.
//
// The 16 bytes of a response are opaque to programs: x, y and z of the first block taken, and whether there was one.
#include <array>

#include "machine/access.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using ptx::Type;

struct Request {
    Op to, barrier;           // addresses, in the shape that resolve() reads
    bool everywhere = false;  // the response goes to all blocks of the cluster
};

void exec_try_cancel(Warp& warp, const Op& op, uint32_t lanes) {
    const Request& request = *static_cast<const Request*>(op.extra);
    Addresses to, barriers;
    resolve_any(warp, request.to, lanes, 16, Access::store, to.at);
    resolve_any(warp, request.barrier, lanes, 8, Access::atomic, barriers.at);
    Block& own = *warp.block;
    each_active(lanes, [&](int i) {
        const Launch::Taken taken = own.launch->take_cluster();
        const std::array<uint32_t, 4> response{taken.block[0], taken.block[1], taken.block[2], taken.any};
        for (const Block* block : own.cluster->ranks) {
            if (!block || (block != &own && !request.everywhere)) continue;
            Transfer transfer;
            transfer.to = block->shared + (reinterpret_cast<std::byte*>(to.at[i]) - own.shared);
            transfer.bytes = sizeof response;
            transfer.data.resize(sizeof response);
            std::memcpy(transfer.data.data(), response.data(), sizeof response);
            std::byte* barrier = block->shared + (reinterpret_cast<std::byte*>(barriers.at[i]) - own.shared);
            async_queue(own).transfer(reinterpret_cast<uint64_t*>(barrier), std::move(transfer));
        }
    });
}

// a: the response.
void exec_is_canceled(Warp& warp, const Op& op, uint32_t lanes) {
    uint32_t any = 0;
    each_active(lanes, [&](int i) { any |= uint32_t(warp.row<std::array<uint32_t, 4>>(op.a)[i][3] != 0) << i; });
    uint32_t& p = warp.predicate(op.dst);
    p = (p & ~lanes) | any;
}

// imm: 0 to 2 for x to z.  For a response that names no block, the result is not defined.
void exec_first_block(Warp& warp, const Op& op, uint32_t lanes) {
    each_active(lanes,
                [&](int i) { warp.row<uint32_t>(op.dst)[i] = warp.row<std::array<uint32_t, 4>>(op.a)[i][op.imm]; });
}

void decode_try_cancel(Decoder& decoder) {
    if (!decoder.take("async") || !decoder.take("mbarrier::complete_tx::bytes")) decoder.unsupported("no completion");
    const Region region = take_region(decoder);
    if (region != Region::shared && region != Region::generic) decoder.unsupported("another state space");
    auto request = std::make_shared<Request>();
    request->everywhere = decoder.take("multicast::cluster::all");
    if (!decoder.take("b128") || decoder.count() != 2) decoder.unsupported();
    Address to = decoder.address(0, space_name(region)), barrier = decoder.address(1, space_name(region));
    Op& op = decoder.emit(exec_try_cancel);
    request->to = request->barrier = op;
    set_address(request->to, to, region);
    set_address(request->barrier, barrier, region);
    op.extra = decoder.keep(request);
}

void decode_query_cancel(Decoder& decoder) {
    Row response = decoder.source(1, Type::b128);
    if (decoder.take("is_canceled")) {
        if (!decoder.take("pred") || !decoder.take("b128")) decoder.unsupported();
        Row d = decoder.destination(0, Type::pred);
        Op& op = decoder.emit(exec_is_canceled);
        op.dst = d.offset, op.a = response.offset;
        return;
    }
    const int one = decoder.take_one({"get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"});
    const bool all = one < 0 && decoder.take("get_first_ctaid") && decoder.take("v4");
    if ((one < 0 && !all) || !decoder.take("b32") || !decoder.take("b128")) decoder.unsupported();
    auto part = [&](Row d, int which) {
        Op& op = decoder.emit(exec_first_block);
        op.dst = d.offset, op.a = response.offset, op.imm = static_cast<uint64_t>(which);
    };
    if (!all) return part(decoder.destination(0, Type::b32), one);
    const ptx::Operand& given = decoder.operand(0);
    if (given.kind != ptx::OperandKind::vector || given.elements.size() != 4) decoder.unsupported("no vector of four");
    for (int i = 0; i < 3; ++i) part(decoder.destination(given.elements[static_cast<size_t>(i)], Type::b32), i);
    decoder.destination(given.elements[3], Type::b32);  // PTX says nothing of the fourth
}

}  // namespace

void register_launch_control(OperationTable& table) {
    table.add("clusterlaunchcontrol", [](Decoder& decoder) {
        if (decoder.take("try_cancel")) return decode_try_cancel(decoder);
        if (decoder.take("query_cancel")) return decode_query_cancel(decoder);
        decoder.unsupported();
    });
}

}  // namespace softcuda::SOFTCUDA_LEVEL
