#include "inspect/pattern.h"

namespace softcuda::inspect {

alignas(64) const uint32_t BaseRow::zeros[warp_size] = {};

namespace {

template <class T>
inline T differences(const T* row, const int32_t* delta) {
    T differs = 0;
    const T first = row[0];
    for (int i = 0; i < warp_size; ++i) differs |= (row[i] - first) ^ static_cast<T>(delta[i]);
    return differs;
}

template <class T>
inline T differences(const T* row, const int32_t* delta, uint32_t lanes) {
    T differs = 0;
    const T first = row[std::countr_zero(lanes)];
    for (int i = 0; i < warp_size; ++i)
        differs |= ((row[i] - first) ^ static_cast<T>(delta[i])) & (T(0) - T(lanes >> i & 1));
    return differs;
}

SOFTCUDA_WIDE bool same_narrow(const uint32_t* row, const int32_t* delta) { return differences(row, delta) == 0; }
SOFTCUDA_WIDE bool same_wide(const uint64_t* row, const int32_t* delta) { return differences(row, delta) == 0; }
SOFTCUDA_WIDE bool some_narrow(const uint32_t* row, const int32_t* delta, uint32_t lanes) {
    return differences(row, delta, lanes) == 0;
}
SOFTCUDA_WIDE bool some_wide(const uint64_t* row, const int32_t* delta, uint32_t lanes) {
    return differences(row, delta, lanes) == 0;
}

}  // namespace

bool Pattern::keep(const uint64_t* addresses, uint32_t of_lanes) {
    const uint64_t first = addresses[std::countr_zero(of_lanes)];
    lanes = of_lanes;
    for (int i = 0; i < warp_size; ++i) {
        const uint64_t from = of_lanes >> i & 1 ? addresses[i] - first : 0;
        delta[i] = static_cast<int32_t>(from);
        if (static_cast<uint64_t>(static_cast<int64_t>(delta[i])) != from) lanes = 0;
    }
    return lanes != 0;
}

bool Pattern::narrow(const BaseRow& base) const {
    const auto* row = static_cast<const uint32_t*>(base.row);
    return lanes == all_lanes ? same_narrow(row, delta) : some_narrow(row, delta, lanes);
}

bool Pattern::wide(const BaseRow& base) const {
    const auto* row = static_cast<const uint64_t*>(base.row);
    return lanes == all_lanes ? same_wide(row, delta) : some_wide(row, delta, lanes);
}

}  // namespace softcuda::inspect
