// What one warp instruction asks of the memory system, from its 32 addresses alone.
//
// Held against an NVIDIA H200: tests/softcuda/counters.
#pragma once

#include <cstdint>

namespace softcuda::inspect {

inline constexpr uint32_t sector_bytes = 32;
inline constexpr uint32_t line_sectors = 4;
inline constexpr uint32_t line_bytes = sector_bytes * line_sectors;
inline constexpr uint32_t banks = 32;
inline constexpr uint32_t bank_bytes = 4;

// The distinct 32-byte sectors of global memory that the lanes touch, by lines of four, as numbers in rising order.  An
// access of up to 32 bytes is aligned, so it lies in one.
struct Sectors {
    uint32_t count = 0;  // of sectors
    uint32_t lines = 0;
    uint64_t line[32];
    uint8_t in_line[32];  // which of its sectors, a bit each
};
Sectors sectors(const uint64_t* addresses, uint32_t lanes);

// Sectors that an atomic operation or reduction is charged with: one after the other where lanes name one address, so each
// sector counts as often as its most wanted address is named.
uint32_t atomic_sectors(const uint64_t* addresses, uint32_t lanes);

// Passes through the banks of shared memory: in each, a bank serves one 4-byte word, to however many lanes want it.
//
// Lanes with 8 bytes come in two halves of a warp, with 16 bytes in four quarters.  Two neighbouring parts become one
// where every lane i wants what lane i ^ 1 wants, or every lane what lane i ^ 2 does (lanes that do not take part agree
// with all); the halves of 16-byte accesses stay apart.
struct SharedPasses {
    uint32_t wavefronts = 0;
    uint32_t ideal = 0;  // of them without bank conflicts; the others are the conflicts
};
SharedPasses shared_passes(const uint64_t* offsets, uint32_t lanes, uint32_t bytes);

}  // namespace softcuda::inspect
