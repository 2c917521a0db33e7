// Loads of 32-bit elements that lie close together: a[i], a[0], two rows of a tile.  Included by lanes_memory.cpp.
//
// A *window* is a vector's worth of memory that begins at the address of the vector's first lane.  Lanes whose addresses
// all lie in it are served by one load and one permutation; no lane's address is ever written to memory.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "machine/lanes.h"

#if defined(__AVX512BW__) || defined(__AVX2__)
// GCC 12 thinks that its own intrinsics read what they leave undefined on purpose.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace softcuda::SOFTCUDA_LEVEL {

// Where the accesses of an instruction are legal: memory + lo up to memory + hi.
struct Legal {
    uint64_t memory, lo, hi;
    // The window of `bytes` at an offset, or null: it is not all legal, or not aligned.
    const void* window(uint64_t at, uint64_t bytes) const {
        const bool fits = at >= lo && at <= hi && hi - at >= bytes && (at & 3) == 0;
        return fits ? reinterpret_cast<const void*>(memory + at) : nullptr;
    }
};

#if defined(__AVX512BW__)

// How far the elements of 16 lanes are from `first`, in elements.  False: some lane's is in no window, or misaligned.
inline bool distances(const uint32_t* base, uint32_t first, uint32_t lanes, __m512i& elements) {
    const __m512i bytes = _mm512_sub_epi32(_mm512_loadu_si512(base), _mm512_set1_epi32(static_cast<int>(first)));
    elements = _mm512_srli_epi32(bytes, 2);
    return _mm512_mask_test_epi32_mask(static_cast<__mmask16>(lanes), bytes, _mm512_set1_epi32(~60)) == 0;
}
inline bool distances(const uint64_t* base, uint64_t first, uint32_t lanes, __m512i& elements) {
    const __m512i from = _mm512_set1_epi64(static_cast<long long>(first)), outside = _mm512_set1_epi64(~60ll);
    const __m512i low = _mm512_sub_epi64(_mm512_loadu_si512(base), from);
    const __m512i high = _mm512_sub_epi64(_mm512_loadu_si512(base + 8), from);
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    elements = _mm512_srli_epi32(_mm512_permutex2var_epi32(low, even, high), 2);
    return (_mm512_mask_test_epi64_mask(static_cast<__mmask8>(lanes), low, outside) |
            _mm512_mask_test_epi64_mask(static_cast<__mmask8>(lanes >> 8), high, outside)) == 0;
}

// row[i] = the element at base[i] + offset, for the lanes of `lanes`, if they are so kind; else false, and nothing has
// happened.
template <class Address>
inline bool load_windows(uint32_t* row, uint32_t lanes, const Address* base, Address offset, const Legal& legal) {
    __m512i values[2];
    // Unrolled, so that each load is an instruction of its own: the CPU's prefetchers learn strides by instruction.
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
        const uint32_t half = lanes >> (16 * h) & 0xffff;
        if (half == 0) {
            values[h] = _mm512_loadu_si512(row + 16 * h);
            continue;
        }
        const Address first = base[16 * h + std::countr_zero(half)];
        const void* window = legal.window(static_cast<Address>(first + offset), 64);
        __m512i elements;
        if (!distances(base + 16 * h, first, half, elements) || !window) return false;
        values[h] = _mm512_permutexvar_epi32(elements, _mm512_loadu_si512(window));
        if (half != 0xffff)
            values[h] =
                _mm512_mask_blend_epi32(static_cast<__mmask16>(half), _mm512_loadu_si512(row + 16 * h), values[h]);
    }
    // Whole vectors: a masked store is not forwarded to the load that soon follows.
    for (int h = 0; h < 2; ++h) _mm512_storeu_si512(row + 16 * h, values[h]);
    return true;
}

#elif defined(__AVX2__)

inline bool distances(const uint32_t* base, uint32_t first, __m256i& elements) {
    const __m256i bytes = _mm256_sub_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(base)),
                                           _mm256_set1_epi32(static_cast<int>(first)));
    elements = _mm256_srli_epi32(bytes, 2);
    return _mm256_testz_si256(bytes, _mm256_set1_epi32(~28));
}
inline bool distances(const uint64_t* base, uint64_t first, __m256i& elements) {
    const __m256i from = _mm256_set1_epi64x(static_cast<long long>(first)), outside = _mm256_set1_epi64x(~28ll);
    const __m256i low = _mm256_sub_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(base)), from);
    const __m256i high = _mm256_sub_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(base + 4)), from);
    const __m256i packed = _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high), _MM_SHUFFLE(2, 0, 2, 0)));
    elements = _mm256_srli_epi32(_mm256_permute4x64_epi64(packed, _MM_SHUFFLE(3, 1, 2, 0)), 2);
    return _mm256_testz_si256(_mm256_or_si256(low, high), outside);
}

template <class Address>
inline bool load_windows(uint32_t* row, uint32_t lanes, const Address* base, Address offset, const Legal& legal) {
    if (lanes != all_lanes) return false;
    __m256i values[4];
#pragma GCC unroll 4
    for (int q = 0; q < 4; ++q) {
        const Address first = base[8 * q];
        const void* window = legal.window(static_cast<Address>(first + offset), 32);
        __m256i elements;
        if (!distances(base + 8 * q, first, elements) || !window) return false;
        values[q] = _mm256_permutevar8x32_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(window)), elements);
    }
    for (int q = 0; q < 4; ++q) _mm256_storeu_si256(reinterpret_cast<__m256i*>(row + 8 * q), values[q]);
    return true;
}

#else

template <class Address>
inline bool load_windows(uint32_t*, uint32_t, const Address*, Address, const Legal&) {
    return false;
}

#endif

}  // namespace softcuda::SOFTCUDA_LEVEL
