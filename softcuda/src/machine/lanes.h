// Loops over the 32 lanes of a row, written so that the compiler turns them into SIMD instructions.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "machine/program.h"
#include "machine/warp.h"

#ifndef SOFTCUDA_LEVEL
#error "lanes_*.cpp are compiled once per SIMD level with -DSOFTCUDA_LEVEL=..."
#endif

namespace softcuda::SOFTCUDA_LEVEL {

// d[i] = f(i) for the lanes of `lanes`.  f must be pure and total (no trap for any input): it may be evaluated for
// idle lanes too, whose results are dropped.  d may be one of the rows that f reads (same lane).
template <class T, class F>
inline void each_lane(T* d, uint32_t lanes, F f) {
    if (lanes == all_lanes) {
#pragma GCC ivdep
        for (int i = 0; i < warp_size; ++i) d[i] = f(i);
    } else {
#pragma GCC ivdep
        for (int i = 0; i < warp_size; ++i) {
            T value = f(i);
            d[i] = (lanes >> i) & 1 ? value : d[i];
        }
    }
}

// f(frame) for the warp, and for those in lockstep with it.
template <class F>
inline void each_frame(Warp& warp, F f) {
    std::byte* frame = warp.frame;
    const size_t stride = warp.frame_stride;
    uint32_t left = warp.lockstep_count;
    warp.lockstep_count = 1;
    do {
        f(frame);
        frame += stride;
    } while (--left);
}
// The same for what needs the warps themselves: f(warp).
template <class F>
inline void each_warp(Warp& warp, F f) {
    Warp* const* const warps = warp.lockstep_warps;
    const uint32_t count = warp.lockstep_count;
    warp.lockstep_count = 1;
    f(warp);
    for (uint32_t i = 1; i < count; ++i) f(*warps[i]);
}
template <class T>
inline T* row_in(std::byte* frame, uint32_t offset) {
    return std::launder(reinterpret_cast<T*>(frame + offset));
}
template <class T>
inline const T* row_in(const std::byte* frame, uint32_t offset) {
    return std::launder(reinterpret_cast<const T*>(frame + offset));
}

// For what is slow, may trap or touches memory: calls f(lane) for active lanes only, in lane order.
template <class F>
inline void each_active(uint32_t lanes, F f) {
    for (; lanes; lanes &= lanes - 1) f(std::countr_zero(lanes));
}

// A predicate result: bits of f(i) for the active lanes, the others kept.
template <class F>
inline void each_predicate(uint32_t* d, uint32_t lanes, F f) {
    uint32_t bits = 0;
    for (int i = 0; i < warp_size; ++i) bits |= uint32_t(bool(f(i))) << i;
    *d = (*d & ~lanes) | (bits & lanes);
}

}  // namespace softcuda::SOFTCUDA_LEVEL
