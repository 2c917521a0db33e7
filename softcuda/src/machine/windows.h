// Loads of 32-bit elements that lie close together: a[i], a[0], two rows of a tile.  Included by lanes_memory.cpp.
//
// A *window* is a vector's worth of memory that begins at the address of the vector's first lane.  Lanes whose addresses
// all lie in it are served by one load and one permutation; no lane's address is ever written to memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "machine/fused_dot.h"
#include "machine/lanes.h"
#include "machine/vectors.h"

namespace softcuda::SOFTCUDA_LEVEL {

// Where the accesses of an instruction are legal: memory + lo up to memory + hi.
struct Legal {
    uint64_t memory, lo, hi;
    // Whether a window of `bytes` at an offset is, and is aligned.
    bool holds(uint64_t at, uint64_t bytes) const { return at >= lo && at <= hi && hi - at >= bytes && (at & 3) == 0; }
    const void* pointer(uint64_t at) const { return reinterpret_cast<const void*>(memory + at); }
};

// What is known of a base row whose lanes are all so kind: for the loads that follow with the same base, until it changes.
struct alignas(64) Plan {
    uint32_t elements[warp_size];  // where in its vector's window each lane's element lies
    uint64_t first[4];             // base address of each window
    uint64_t low, high;            // of those
    uint32_t holds;                // for all lanes, now
};

#if defined(__AVX512BW__)

using Vector = __m512i;
inline Vector load_vector(const void* at) { return _mm512_loadu_si512(at); }
inline void store_vector(void* at, Vector values) { _mm512_storeu_si512(at, values); }
inline Vector permuted(Vector elements, Vector values) { return _mm512_permutexvar_epi32(elements, values); }
inline Vector blend(uint32_t lanes, Vector values, const void* others) {
    return _mm512_mask_blend_epi32(static_cast<__mmask16>(lanes), load_vector(others), values);
}
inline Vector multiplied_added(Vector a, Vector b, Vector c) {
    return _mm512_castps_si512(_mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), _mm512_castsi512_ps(c)));
}
inline Vector canonical_nans(Vector a) {
    const __m512 floats = _mm512_castsi512_ps(a);
    const __mmask16 nan = _mm512_cmp_ps_mask(floats, floats, _CMP_UNORD_Q);
    return _mm512_mask_blend_epi32(nan, a, _mm512_set1_epi32(0x7fffffff));
}
// Whether the addresses of all lanes follow each other, a word apart.
inline bool consecutive_words(const uint64_t* base) {
    const __m512i first = _mm512_set1_epi64(static_cast<long long>(base[0]));
    uint32_t differs = 0;
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
        const __m512i steps = _mm512_set_epi64(28, 24, 20, 16, 12, 8, 4, 0);
        const __m512i due = _mm512_add_epi64(first, _mm512_add_epi64(steps, _mm512_set1_epi64(32 * v)));
        differs |= _mm512_cmpneq_epi64_mask(_mm512_loadu_si512(base + 8 * v), due);
    }
    return differs == 0;
}
// How far the lanes' elements are from `first`, in elements.  False: some lane's is not in the window, or misaligned.
inline bool distances(const uint32_t* base, uint32_t first, uint32_t lanes, Vector& elements) {
    const __m512i bytes = _mm512_sub_epi32(_mm512_loadu_si512(base), _mm512_set1_epi32(static_cast<int>(first)));
    elements = _mm512_srli_epi32(bytes, 2);
    return _mm512_mask_test_epi32_mask(static_cast<__mmask16>(lanes), bytes, _mm512_set1_epi32(~60)) == 0;
}
inline bool distances(const uint64_t* base, uint64_t first, uint32_t lanes, Vector& elements) {
    const __m512i from = _mm512_set1_epi64(static_cast<long long>(first)), outside = _mm512_set1_epi64(~60ll);
    const __m512i low = _mm512_sub_epi64(_mm512_loadu_si512(base), from);
    const __m512i high = _mm512_sub_epi64(_mm512_loadu_si512(base + 8), from);
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    elements = _mm512_srli_epi32(_mm512_permutex2var_epi32(low, even, high), 2);
    return (_mm512_mask_test_epi64_mask(static_cast<__mmask8>(lanes), low, outside) |
            _mm512_mask_test_epi64_mask(static_cast<__mmask8>(lanes >> 8), high, outside)) == 0;
}

#elif defined(__AVX2__)

using Vector = __m256i;
inline Vector load_vector(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }
inline void store_vector(void* at, Vector values) { _mm256_storeu_si256(static_cast<__m256i*>(at), values); }
inline Vector permuted(Vector elements, Vector values) { return _mm256_permutevar8x32_epi32(values, elements); }
inline Vector blend(uint32_t lanes, Vector values, const void* others) {
    const __m256i bit = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
    const __m256i here = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(static_cast<int>(lanes)), bit), bit);
    return _mm256_blendv_epi8(load_vector(others), values, here);
}
inline Vector multiplied_added(Vector a, Vector b, Vector c) {
    return _mm256_castps_si256(_mm256_fmadd_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), _mm256_castsi256_ps(c)));
}
inline Vector canonical_nans(Vector a) {
    const __m256 floats = _mm256_castsi256_ps(a), nan = _mm256_cmp_ps(floats, floats, _CMP_UNORD_Q);
    return _mm256_blendv_epi8(a, _mm256_set1_epi32(0x7fffffff), _mm256_castps_si256(nan));
}
inline bool distances(const uint32_t* base, uint32_t first, uint32_t lanes, Vector& elements) {
    const __m256i bytes = _mm256_sub_epi32(load_vector(base), _mm256_set1_epi32(static_cast<int>(first)));
    elements = _mm256_srli_epi32(bytes, 2);
    return lanes == 0xff && _mm256_testz_si256(bytes, _mm256_set1_epi32(~28));
}
inline bool distances(const uint64_t* base, uint64_t first, uint32_t lanes, Vector& elements) {
    const __m256i from = _mm256_set1_epi64x(static_cast<long long>(first)), outside = _mm256_set1_epi64x(~28ll);
    const __m256i low = _mm256_sub_epi64(load_vector(base), from);
    const __m256i high = _mm256_sub_epi64(load_vector(base + 4), from);
    const __m256i packed = _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), _MM_SHUFFLE(2, 0, 2, 0)));
    elements = _mm256_srli_epi32(_mm256_permute4x64_epi64(packed, _MM_SHUFFLE(3, 1, 2, 0)), 2);
    return lanes == 0xff && _mm256_testz_si256(_mm256_or_si256(low, high), outside);
}

#endif

#if !defined(__AVX512BW__)
inline bool consecutive_words(const uint64_t* base) {
    uint64_t differs = 0;
    for (uint64_t i = 0; i < warp_size; ++i) differs |= (base[i] - base[0]) ^ (4 * i);
    return differs == 0;
}
#endif

#if defined(__AVX512BW__) || defined(__AVX2__)

inline constexpr int vector_lanes = sizeof(Vector) / 4, vectors = warp_size / vector_lanes;
inline constexpr uint32_t vector_mask = (uint32_t(1) << vector_lanes) - 1;

// row[i] = the element at base[i] + offset, for the lanes of `lanes`, if they are so kind; else false, and nothing has
// happened.  Notes what it found out in the plan, if there is one.
template <class Address>
inline bool load_windows(uint32_t* row, uint32_t lanes, const Address* base, Address offset, const Legal& legal,
                         Plan* plan) {
    Vector values[vectors], elements[vectors] = {};
    Address first[vectors] = {};
    if (plan) plan->holds = false;
    // Unrolled, so that each load is an instruction of its own: the CPU's prefetchers learn strides by instruction.
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
        const uint32_t here = lanes >> (vector_lanes * v) & vector_mask;
        if (here == 0) {
            values[v] = load_vector(row + vector_lanes * v);
            continue;
        }
        first[v] = base[vector_lanes * v + std::countr_zero(here)];
        const uint64_t window = static_cast<Address>(first[v] + offset);
        if (!distances(base + vector_lanes * v, first[v], here, elements[v]) || !legal.holds(window, sizeof(Vector)))
            return false;
        values[v] = permuted(elements[v], load_vector(legal.pointer(window)));
        if (here != vector_mask) values[v] = blend(here, values[v], row + vector_lanes * v);
    }
    // Whole vectors: a masked store is not forwarded to the load that soon follows.
    for (int v = 0; v < vectors; ++v) store_vector(row + vector_lanes * v, values[v]);
    if (plan && lanes == all_lanes) {
        Address low = first[0], high = first[0];
        for (int v = 0; v < vectors; ++v) {
            store_vector(plan->elements + vector_lanes * v, elements[v]);
            plan->first[v] = first[v];
            low = std::min(low, first[v]), high = std::max(high, first[v]);
        }
        plan->low = low, plan->high = high;
        plan->holds = true;
    }
    return true;
}

template <class Address>
inline bool load_as_planned(uint32_t* row, const Plan& plan, Address offset, const Legal& legal) {
    // All windows lie between two, unless addresses wrap around; and all are aligned if one is.
    const uint64_t low = static_cast<Address>(static_cast<Address>(plan.low) + offset);
    const uint64_t high = static_cast<Address>(static_cast<Address>(plan.high) + offset);
    if (!plan.holds || high - low != plan.high - plan.low || low < legal.lo || high > legal.hi ||
        legal.hi - high < sizeof(Vector) || (low & 3) != 0)
        return false;
    Vector values[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
        const uint64_t window = static_cast<Address>(static_cast<Address>(plan.first[v]) + offset);
        values[v] = permuted(load_vector(plan.elements + vector_lanes * v), load_vector(legal.pointer(window)));
    }
    for (int v = 0; v < vectors; ++v) store_vector(row + vector_lanes * v, values[v]);
    return true;
}

// dst = c + products of what lies at a and b, one after the other (fused_dot.h).  Only the last sum's NaN has to be made
// the canonical one: NaN stays NaN.
inline bool run_fused_dot(std::byte* frame, const Op& op, const FusedDot& dot, const Legal& legal) {
    Vector elements[2][vectors], sums[vectors];
    const std::byte* window[2][vectors];
    for (int of : {0, 1}) {
        const auto* base = row_in<uint32_t>(frame, of ? op.b : op.a);
        for (int v = 0; v < vectors; ++v) {
            const uint32_t first = base[vector_lanes * v];
            const auto at = static_cast<int64_t>(first);
            if (!distances(base + vector_lanes * v, first, vector_mask, elements[of][v]) || at + dot.low[of] < 0 ||
                static_cast<uint64_t>(at + dot.high[of]) + sizeof(Vector) > legal.hi || ((at + dot.low[of]) & 3) != 0)
                return false;
            window[of][v] = reinterpret_cast<const std::byte*>(legal.memory) + at;
        }
    }
    for (int v = 0; v < vectors; ++v) sums[v] = load_vector(row_in<uint32_t>(frame, op.c) + vector_lanes * v);
    for (const FusedDot::Step& step : dot.steps) {
        const auto a = static_cast<int32_t>(step.a), b = static_cast<int32_t>(step.b);
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v)
            sums[v] = multiplied_added(permuted(elements[0][v], load_vector(window[0][v] + a)),
                                       permuted(elements[1][v], load_vector(window[1][v] + b)), sums[v]);
    }
    for (int v = 0; v < vectors; ++v)
        store_vector(row_in<uint32_t>(frame, op.dst) + vector_lanes * v, canonical_nans(sums[v]));
    return true;
}

#else

inline bool run_fused_dot(std::byte*, const Op&, const FusedDot&, const Legal&) { return false; }
template <class Address>
inline bool load_windows(uint32_t*, uint32_t, const Address*, Address, const Legal&, Plan*) {
    return false;
}
template <class Address>
inline bool load_as_planned(uint32_t*, const Plan&, Address, const Legal&) {
    return false;
}

#endif

}  // namespace softcuda::SOFTCUDA_LEVEL
