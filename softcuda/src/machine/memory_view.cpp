#include "machine/memory_view.h"

#include <algorithm>

namespace softcuda {
namespace {

auto above(const std::vector<Allocation>& chunk, uint64_t address) {
    return std::upper_bound(chunk.begin(), chunk.end(), address,
                            [](uint64_t value, const Allocation& allocation) { return value < allocation.base; });
}

}  // namespace

size_t MemoryView::part_of(uint64_t address) const {
    auto next = std::upper_bound(parts_.begin(), parts_.end(), address,
                                 [](uint64_t value, const Part& part) { return value < part.first; });
    return next == parts_.begin() ? 0 : size_t(next - parts_.begin()) - 1;
}

MemoryView::Part MemoryView::part(Chunk chunk) {
    const uint64_t first = chunk.front().base;
    return {first, std::make_shared<const Chunk>(std::move(chunk))};
}

const Allocation* MemoryView::last_from(uint64_t address) const {
    if (parts_.empty()) return nullptr;
    const Chunk& chunk = *parts_[part_of(address)].chunk;
    auto next = above(chunk, address);
    return next == chunk.begin() ? nullptr : &*std::prev(next);
}

const Allocation* MemoryView::first_above(uint64_t address) const {
    if (parts_.empty()) return nullptr;
    const size_t own = part_of(address);
    auto next = above(*parts_[own].chunk, address);
    if (next != parts_[own].chunk->end()) return &*next;
    return own + 1 < parts_.size() ? &parts_[own + 1].chunk->front() : nullptr;
}

void MemoryView::insert(const Allocation& allocation) {
    if (parts_.empty()) {
        parts_.push_back(part({allocation}));
        return;
    }
    const size_t own = part_of(allocation.base);
    Chunk chunk = *parts_[own].chunk;
    chunk.insert(above(chunk, allocation.base), allocation);
    if (chunk.size() > chunk_limit) {
        // At the upper end, where new memory mostly lies, chunks stay full.
        const auto middle = chunk.begin() + long(own + 1 == parts_.size() ? chunk_limit : chunk_limit / 2);
        parts_.insert(parts_.begin() + long(own) + 1, part({middle, chunk.end()}));
        chunk.erase(middle, chunk.end());
    }
    parts_[own] = part(std::move(chunk));
}

void MemoryView::replace(const Allocation& allocation) {
    Part& own = parts_[part_of(allocation.base)];
    Chunk chunk = *own.chunk;
    *(chunk.begin() + (above(chunk, allocation.base) - chunk.begin() - 1)) = allocation;
    own = part(std::move(chunk));
}

void MemoryView::erase(uint64_t base) {
    const size_t own = part_of(base);
    Chunk chunk = *parts_[own].chunk;
    chunk.erase(std::prev(above(chunk, base)));
    if (chunk.empty())
        parts_.erase(parts_.begin() + long(own));
    else
        parts_[own] = part(std::move(chunk));
}

}  // namespace softcuda
