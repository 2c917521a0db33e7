// cp.async, a few bytes a thread from global to shared memory, and mbarrier objects.
//
// When a copy lands is async.h's business.
#include <algorithm>

#include "machine/bulk_copies.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using ptx::Type;

// The two addresses of a copy, each in the shape that resolve() reads.
struct Copy {
    Op to, from;
    uint32_t bytes = 0;
    bool ignores = false;  // row c is a predicate: lanes where it holds write zeros
};

// c: bytes to read, the rest being zeros (or the predicate); 0: all.
void exec_copy(Warp& warp, const Op& op, uint32_t lanes) {
    const Copy& copy = *static_cast<const Copy*>(op.extra);
    ThreadCopies::Copy issued;
    issued.lanes = lanes;
    issued.bytes = copy.bytes;
    uint32_t readers = 0, whole = 0;
    each_active(lanes, [&](int i) {
        uint32_t& wanted = issued.wanted[static_cast<size_t>(i)];
        if (op.c == 0)
            wanted = copy.bytes;
        else if (copy.ignores)
            wanted = (warp.predicate(op.c) >> i) & 1 ? 0 : copy.bytes;
        else
            wanted = std::min(copy.bytes, warp.row<uint32_t>(op.c)[i]);
        readers |= uint32_t(wanted != 0) << i;
        whole |= uint32_t(wanted == copy.bytes) << i;
    });
    Addresses to, from;
    resolve<Region::shared>(warp, copy.to, lanes, copy.bytes, Access::store, to.at);
    // A shorter read still starts at an address of the full alignment; what it does not read need not exist.
    if (whole) resolve<Region::global>(warp, copy.from, whole, copy.bytes, Access::load, from.at);
    each_active(readers & ~whole, [&](int i) {
        Addresses bytes;
        for (uint32_t k = 0; k < issued.wanted[static_cast<size_t>(i)]; ++k) {
            Op byte = copy.from;
            byte.imm += k;
            resolve<Region::global>(warp, byte, 1u << i, 1, Access::load, bytes.at);
            if (k == 0) from.at[i] = bytes.at[i];
        }
    });
    std::copy_n(to.at, warp_size, issued.to.begin());
    std::copy_n(from.at, warp_size, issued.from.begin());
    copies_of(warp).issue(issued);
}

// imm: groups that may stay under way.
void exec_commit(Warp& warp, const Op&, uint32_t lanes) { copies_of(warp).commit(lanes); }
void exec_wait(Warp& warp, const Op& op, uint32_t lanes) {
    charge(warp, 8 * copies_of(warp).under_way());
    copies_of(warp).wait(lanes, static_cast<uint32_t>(op.imm));
}
void exec_wait_all(Warp& warp, const Op&, uint32_t lanes) { copies_of(warp).wait_all(lanes); }

// cp.async.mbarrier.arrive; small[4]: .noinc, the arrival is one that the barrier expects already.
void exec_copy_arrive(Warp& warp, const Op& op, uint32_t lanes) {
    Addresses addresses;
    resolve_any(warp, op, lanes, 8, Access::atomic, addresses.at);
    each_active(lanes, [&](int i) {
        auto* at = reinterpret_cast<uint64_t*>(addresses.at[i]);
        if (!op.small[4]) {
            auto barrier = std::bit_cast<Mbarrier>(*at);
            barrier.pending = barrier.pending + 1;
            *at = std::bit_cast<uint64_t>(barrier);
        }
        async_queue(*warp.block).arrive(at, copies_of(warp), i);
    });
}

void decode_copy_arrive(Decoder& decoder) {
    if (!decoder.take("arrive")) decoder.unsupported();
    const bool noinc = decoder.take("noinc");
    Region region = take_region(decoder);
    if (region != Region::shared && region != Region::generic) decoder.unsupported("another state space");
    if (!decoder.take("b64")) decoder.unsupported("no type");
    Address address = decoder.address(0, space_name(region));
    Op& op = decoder.emit(exec_copy_arrive);
    set_address(op, address, region);
    op.small[3] = mark_release;
    op.small[4] = noinc;
    op.report = Report::orders;
}

void decode_copy(Decoder& decoder) {
    const auto& modifiers = decoder.in.modifiers;
    for (const std::string& modifier : modifiers)
        if (modifier == "bulk" || modifier == "reduce") return decode_bulk_copy(decoder);
    if (!decoder.take("async")) decoder.unsupported();
    if (decoder.take("mbarrier")) return decode_copy_arrive(decoder);
    switch (decoder.take_one({"commit_group", "wait_all", "wait_group"})) {
        case 0: decoder.emit(exec_commit).report = Report::orders; return;
        case 1: decoder.emit(exec_wait_all).report = Report::orders; return;
        case 2: {
            const uint64_t groups = constant_operand(decoder, 0);
            Op& op = decoder.emit(exec_wait);
            op.imm = groups;
            op.report = Report::orders;
            return;
        }
        default: break;
    }
    if (decoder.take_one({"ca", "cg"}) < 0) decoder.unsupported();
    if (decoder.take_one({"shared", "shared::cta"}) < 0 || !decoder.take("global")) decoder.unsupported();
    const bool policy = take_hints(decoder);
    Address to = decoder.address(0, "shared"), from = decoder.address(1, "global");
    const ptx::Operand& size = decoder.operand(2);
    if (size.kind != ptx::OperandKind::integer || (size.bits != 4 && size.bits != 8 && size.bits != 16))
        decoder.unsupported("a size that is not 4, 8 or 16");
    auto copy = std::make_shared<Copy>();
    copy->bytes = static_cast<uint32_t>(size.bits);
    Row c;
    const size_t extra = decoder.count() - (policy ? 4 : 3);
    if (extra > 1) decoder.unsupported("number of operands");
    if (extra == 1) {
        // Either the number of bytes to read or a predicate to read none.
        const ptx::Operand& operand = decoder.operand(3);
        copy->ignores = decoder.is_predicate(operand);
        c = copy->ignores ? decoder.predicate_source(3) : decoder.source(3, Type::u32);
    }
    Op& op = decoder.emit(exec_copy);
    op.c = c.offset;
    copy->to = copy->from = op;
    set_address(copy->to, to, Region::shared);
    set_address(copy->from, from, Region::global);
    op.extra = decoder.keep(copy);
}

// --- mbarrier

enum class Arrival : uint8_t { init, inval, arrive, arrive_drop, expect_tx, complete_tx };

// b: count or bytes (0: no row, 1); small[4]: Arrival; small[5]: 1 if bytes are expected too, then c: bytes.
void exec_mbarrier(Warp& warp, const Op& op, uint32_t lanes) {
    Addresses addresses;
    const bool fresh = static_cast<Arrival>(op.small[4]) == Arrival::init;
    resolve_any(warp, op, lanes, 8, fresh ? Access::store : Access::atomic, addresses.at);
    each_active(lanes, [&](int i) {
        auto* at = reinterpret_cast<uint64_t*>(addresses.at[i]);
        const uint32_t count = op.b ? warp.row<uint32_t>(op.b)[i] : 1;
        const auto arrival = static_cast<Arrival>(op.small[4]);
        const bool arrives = arrival == Arrival::arrive || arrival == Arrival::arrive_drop;
        // Copies that end the phase may have done so already, though nobody has asked.
        if (arrives && count > std::bit_cast<Mbarrier>(*at).pending && warp.block->cluster->async)
            warp.block->cluster->async->settle(at);
        auto barrier = std::bit_cast<Mbarrier>(*at);
        const uint64_t before = *at;
        switch (arrival) {
            case Arrival::init: barrier = {count & 0xfffff, count & 0xfffff, 0, 0}; break;
            case Arrival::inval: barrier = {}; break;
            case Arrival::expect_tx: barrier.transactions = barrier.transactions + count; break;
            case Arrival::complete_tx:
                barrier.transactions = barrier.transactions - count;
                barrier.settle();
                break;
            case Arrival::arrive_drop: barrier.expected = barrier.expected - count; [[fallthrough]];
            case Arrival::arrive:
                if (op.small[5]) barrier.transactions = barrier.transactions + warp.row<uint32_t>(op.c)[i];
                if (count > barrier.pending)
                    warp.fault(FaultKind::illegal_instruction, op, i,
                               "more arrivals at an mbarrier than the " + std::to_string(barrier.pending) +
                                   " it still expects");
                barrier.pending = barrier.pending - count;
                barrier.settle();
                break;
        }
        *at = std::bit_cast<uint64_t>(barrier);
        if (op.small[0]) warp.row<uint64_t>(op.dst)[i] = before;
    });
}

// True once the phase of the token b (or of parity b: small[4]) is complete.
void exec_mbarrier_test(Warp& warp, const Op& op, uint32_t lanes) {
    Addresses addresses;
    resolve_any(warp, op, lanes, 8, Access::load, addresses.at);
    uint32_t done = 0;
    each_active(lanes, [&](int i) {
        auto* at = reinterpret_cast<uint64_t*>(addresses.at[i]);
        const uint64_t phase = op.small[4] ? warp.row<uint32_t>(op.b)[i] & 1 : warp.row<uint64_t>(op.b)[i] >> 63;
        if (std::bit_cast<Mbarrier>(*at).phase == phase && warp.block->cluster->async)
            warp.block->cluster->async->settle(at);
        const bool ended = std::bit_cast<Mbarrier>(*at).phase != phase;
        done |= uint32_t(ended) << i;
        if (ended) report_wait(warp, 1u << i, at);
    });
    uint32_t& p = warp.predicate(op.dst);
    p = (p & ~lanes) | done;
    auto& state = static_cast<WarpState&>(warp);
    state.awaited = nullptr;
    if (done == lanes) return;
    ++warp.spins;
    state.awaited = reinterpret_cast<const uint64_t*>(addresses.at[std::countr_zero(lanes & ~done)]);
    state.awaited_at = &op;
}

void exec_pending_count(Warp& warp, const Op& op, uint32_t lanes) {
    each_active(lanes, [&](int i) {
        warp.row<uint32_t>(op.dst)[i] =
            static_cast<uint32_t>(std::bit_cast<Mbarrier>(warp.row<uint64_t>(op.a)[i]).pending);
    });
}

void decode_mbarrier(Decoder& decoder) {
    const int form = decoder.take_one({"init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx",
                                       "test_wait", "try_wait", "pending_count"});
    if (form < 0) decoder.unsupported();
    if (form == 8) {
        if (!decoder.take("b64")) decoder.unsupported();
        Row a = decoder.source(1, Type::b64), d = decoder.destination(0, Type::u32);
        Op& op = decoder.emit(exec_pending_count);
        op.dst = d.offset, op.a = a.offset;
        return;
    }
    const bool waits = form == 6 || form == 7;
    const bool arrives = form == 2 || form == 3;
    const bool parity = waits && decoder.take("parity");
    const bool expects = arrives && decoder.take("expect_tx");
    if (arrives) decoder.take("noComplete");
    const bool relaxed = decoder.take_one({"release", "acquire", "relaxed"}) == 2;
    decoder.take_one({"cta", "cluster"});
    Region region = take_region(decoder);
    if (region != Region::shared && region != Region::cluster && region != Region::generic) decoder.unsupported();
    const bool has_type = decoder.take("b64");
    if (!has_type && form != 4 && form != 5) decoder.unsupported("no type");
    size_t at = waits || arrives ? 1 : 0;
    // `mbarrier.arrive [a]` may stand without a place for its token.
    if (arrives && decoder.operand(0).kind == ptx::OperandKind::address) at = 0;
    Address address = decoder.address(at, space_name(region));
    Row b, c, d;
    if (waits) {
        b = decoder.source(at + 1, parity ? Type::u32 : Type::b64);
        if (decoder.count() > at + 2) decoder.source(at + 2, Type::u32);  // how long to try
        d = decoder.destination(0, Type::pred);
    } else {
        if (expects)
            c = decoder.source(at + 1, Type::u32);
        else if (decoder.count() > at + 1)
            b = decoder.source(at + 1, Type::u32);
        if (at == 1 && decoder.operand(0).kind != ptx::OperandKind::sink) d = decoder.destination(0, Type::b64);
    }
    Op& op = decoder.emit(waits ? exec_mbarrier_test : exec_mbarrier);
    set_address(op, address, region);
    op.dst = d.offset, op.b = b.offset, op.c = c.offset;
    op.small[0] = d.offset != 0;
    op.small[3] = waits ? mark_strong : relaxed || form < 2 ? 0 : mark_release;
    op.small[4] = static_cast<uint8_t>(waits ? parity : form);
    op.small[5] = expects;
}

}  // namespace

void register_async(OperationTable& table) {
    table.add("cp", decode_copy);
    table.add("mbarrier", decode_mbarrier);
    table.add("tensormap", decode_tensor_map);
}

}  // namespace softcuda::SOFTCUDA_LEVEL
