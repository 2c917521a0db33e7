// Asynchronous copies to shared memory.  They are carried out when issued: PTX lets a copy be done at any time up to the
// wait, and this is the earliest.
#include <algorithm>

#include "machine/access.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

using ptx::Type;

// The two addresses of a copy, each in the shape that resolve() reads.
struct Copy {
    Op to, from;
    uint32_t bytes = 0;
    bool ignores = false;      // row c is a predicate: lanes where it holds write zeros
};

// c: bytes to read, the rest being zeros (or the predicate); 0: all.
void exec_copy(Warp& warp, const Op& op, uint32_t lanes) {
    const Copy& copy = *static_cast<const Copy*>(op.extra);
    uint32_t wanted[warp_size];
    uint32_t readers = 0;
    each_active(lanes, [&](int i) {
        if (op.c == 0) wanted[i] = copy.bytes;
        else if (copy.ignores) wanted[i] = (warp.predicate(op.c) >> i) & 1 ? 0 : copy.bytes;
        else wanted[i] = std::min(copy.bytes, warp.row<uint32_t>(op.c)[i]);
        if (wanted[i]) readers |= 1u << i;
    });
    Addresses to, from;
    resolve<Region::shared>(warp, copy.to, lanes, copy.bytes, Access::store, to.at);
    // A shorter read still starts at an address of the full alignment; what it does not read need not exist.
    uint32_t whole = 0;
    each_active(readers, [&](int i) { whole |= uint32_t(wanted[i] == copy.bytes) << i; });
    if (whole) resolve<Region::global>(warp, copy.from, whole, copy.bytes, Access::load, from.at);
    each_active(readers & ~whole, [&](int i) {
        Addresses bytes;
        for (uint32_t k = 0; k < wanted[i]; ++k) {
            Op byte = copy.from;
            byte.imm += k;
            resolve<Region::global>(warp, byte, 1u << i, 1, Access::load, bytes.at);
            if (k == 0) from.at[i] = bytes.at[i];
        }
    });
    each_active(lanes, [&](int i) {
        auto* target = reinterpret_cast<std::byte*>(to.at[i]);
        std::memset(target, 0, copy.bytes);
        if (wanted[i]) std::memcpy(target, reinterpret_cast<const void*>(from.at[i]), wanted[i]);
    });
}

void decode_copy(Decoder& decoder) {
    decoder.take("async");
    if (decoder.take_one({"commit_group", "wait_all"}) >= 0) return;      // nothing is ever under way
    if (decoder.take("wait_group")) {
        decoder.source(0, Type::u32);
        return;
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

}  // namespace

void register_async(OperationTable& table) { table.add("cp", decode_copy); }

}  // namespace softcuda::SOFTCUDA_LEVEL
