#include "inspect/caches.h"

#include <bit>
#include <cstddef>

namespace softcuda::inspect {

void L1Cache::resize(uint32_t bytes) {
    ways_ = bytes / (sets * 128);
    if (ways_ == 0) ways_ = 1;
    const std::size_t lines = std::size_t(sets) * ways_;
    held_.assign(lines, 0);
    used_.assign(lines, 0);
    sectors_.assign(lines, 0);
    epoch_ = 1;
    now_ = 0;
}

void L1Cache::clear() {
    if (++epoch_ >> (64 - line_bits) == 0) return;
    held_.assign(held_.size(), 0);
    epoch_ = 1;
}

uint32_t L1Cache::load(uint64_t line, uint32_t wanted) {
    const std::size_t set = (line ^ (line >> 8) ^ (line >> 16)) % sets * ways_;
    const uint64_t* held = &held_[set];
    uint32_t* used = &used_[set];
    uint8_t* sectors = &sectors_[set];
    const uint64_t own = (line & ((uint64_t(1) << line_bits) - 1)) | uint64_t(epoch_) << line_bits;
    uint32_t way = 0;
    while (way < ways_ && held[way] != own) ++way;
    if (way == ways_) {
        way = 0;  // the first that is empty, or the one used longest ago
        for (uint32_t other = 0; other < ways_; ++other) {
            if (held[other] >> line_bits != epoch_) {
                way = other;
                break;
            }
            if (used[other] < used[way]) way = other;
        }
        held_[set + way] = own;
        sectors[way] = 0;
    }
    used[way] = ++now_;
    constexpr uint64_t bits_in = 0x4332'3221'3221'2110;  // of four, by nibbles
    const auto hits = static_cast<uint32_t>(bits_in >> (sectors[way] & wanted) * 4 & 15);
    sectors[way] |= static_cast<uint8_t>(wanted);
    return hits;
}

void GranuleSet::add(uint64_t line, uint32_t sectors) {
    constexpr uint64_t a_line = 128 / granule_bytes;
    const uint64_t granule = line * a_line, number = granule / page_granules;
    if (number != last_number_) {
        last_ = &pages_[number];
        last_number_ = number;
    }
    const uint64_t bit = granule % page_granules;
    (*last_)[bit / 64] |= uint64_t((sectors & 3) != 0) << bit % 64 | uint64_t((sectors & 12) != 0) << (bit + 1) % 64;
}

void GranuleSet::merge(const GranuleSet& other) {
    for (const auto& [number, page] : other.pages_) {
        Page& own = pages_[number];
        for (std::size_t i = 0; i < page.size(); ++i) own[i] |= page[i];
    }
    last_number_ = ~0ull;
}

uint64_t GranuleSet::count() const {
    uint64_t total = 0;
    for (const auto& [number, page] : pages_)
        for (uint64_t word : page) total += uint64_t(std::popcount(word));
    return total;
}

void GranuleSet::clear() {
    pages_.clear();
    last_number_ = ~0ull;
    last_ = nullptr;
}

}  // namespace softcuda::inspect
