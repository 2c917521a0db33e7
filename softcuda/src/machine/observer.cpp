#include "machine/observer.h"

#include <bit>

namespace softcuda {

MemoryEvent event_of(const Op& op, const RowAccess& access, uint64_t* addresses) {
    if (op.small[1] == 8) {
        const auto* base = reinterpret_cast<const uint64_t*>(access.frame + op.a);
        for (int i = 0; i < warp_size; ++i) addresses[i] = base[i] + op.imm;
    } else if (op.small[1] == 4) {
        const auto* base = reinterpret_cast<const uint32_t*>(access.frame + op.a);
        for (int i = 0; i < warp_size; ++i) addresses[i] = base[i] + static_cast<uint32_t>(op.imm);
    } else {
        for (int i = 0; i < warp_size; ++i) addresses[i] = op.imm;
    }
    return {.space = op.space,
            .access = op.access,
            .lanes = access.lanes,
            .bytes = op.access_bytes,
            .addresses = addresses,
            .strong = (op.small[3] & mark_strong) != 0,
            .release = (op.small[3] & mark_release) != 0,
            .value_bytes = value_bytes_of(op),
            .frame = access.frame,
            .shared = access.shared,
            .running = &op};
}

}  // namespace softcuda
