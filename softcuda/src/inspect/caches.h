// A model of the caches: what it says is an estimate, and is named so (softcuda__…).
//
// L1: one block's, empty when the block starts, of the profile's size less the shared memory the block uses; lines of 128
// bytes in four sectors, least recently used goes first, stores pass through.  What blocks on one SM find of each other's
// data is left out, so that the figures do not depend on which block runs where.
// L2: empty when the launch starts and never full, so that what is read comes from memory once, in pieces of 64 bytes.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace softcuda::inspect {

class L1Cache {
  public:
    void resize(uint32_t bytes);
    void clear();
    // Load these sectors (a bit each) of a line, named by its address / 128; how many were there.
    uint32_t load(uint64_t line, uint32_t wanted);

  private:
    static constexpr uint32_t sets = 256;
    static constexpr uint32_t line_bits = 40;  // of 47-bit addresses
    uint32_t ways_ = 0;
    uint32_t epoch_ = 1, now_ = 0;
    // By set and way: the line, with the epoch it was loaded in above it; when it was used last; its sectors.
    std::vector<uint64_t> held_;
    std::vector<uint32_t> used_;
    std::vector<uint8_t> sectors_;
};

// Which pieces of memory were touched at all.
class GranuleSet {
  public:
    static constexpr uint64_t granule_bytes = 64;
    void add(uint64_t line, uint32_t sectors);  // as L1Cache::load has them
    void merge(const GranuleSet& other);
    uint64_t count() const;
    void clear();

  private:
    static constexpr uint64_t page_granules = 4096;
    using Page = std::array<uint64_t, page_granules / 64>;
    std::unordered_map<uint64_t, Page> pages_;
    uint64_t last_number_ = ~0ull;
    Page* last_ = nullptr;
};

}  // namespace softcuda::inspect
