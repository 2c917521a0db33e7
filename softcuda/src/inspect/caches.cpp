#include "inspect/caches.h"

#include <bit>
#include <cstddef>

namespace softcuda::inspect {

void L1Cache::resize(uint32_t bytes) {
    ways_ = bytes / (sets * 128);
    if (ways_ == 0) ways_ = 1;
    lines_.assign(std::size_t(sets) * ways_, {});
    epoch_ = 1;
    now_ = 0;
}

uint32_t L1Cache::load(const uint64_t* sectors, uint32_t count) {
    uint32_t hits = 0;
    for (uint32_t i = 0; i < count;) {
        const uint64_t tag = sectors[i] / 4;
        uint8_t wanted = 0;
        for (; i < count && sectors[i] / 4 == tag; ++i) wanted |= uint8_t(1u << (sectors[i] % 4));
        Line* set = &lines_[((tag ^ (tag >> 8) ^ (tag >> 16)) % sets) * ways_];
        Line* line = set;
        for (uint32_t way = 0; way < ways_; ++way) {
            Line& candidate = set[way];
            if (candidate.epoch == epoch_ && candidate.tag == tag) {
                line = &candidate;
                break;
            }
            const bool empty = candidate.epoch != epoch_;
            if (line->epoch == epoch_ && (empty || candidate.used < line->used)) line = &candidate;
        }
        if (line->epoch != epoch_ || line->tag != tag) *line = {tag, epoch_, 0, 0};
        hits += uint32_t(std::popcount(uint8_t(line->sectors & wanted)));
        line->sectors |= wanted;
        line->used = ++now_;
    }
    return hits;
}

void GranuleSet::add(uint64_t address) {
    const uint64_t granule = address / granule_bytes, number = granule / page_granules;
    if (number != last_number_) {
        last_ = &pages_[number];
        last_number_ = number;
    }
    const uint64_t bit = granule % page_granules;
    (*last_)[bit / 64] |= 1ull << (bit % 64);
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
