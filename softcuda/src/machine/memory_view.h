// The allocations of a device at one moment, in order of their addresses.  A copy shares what has not changed since, so
// that memory may come and go while launches keep the view they started with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace softcuda {

enum class MemoryKind : uint8_t { device, managed, pinned, registered, constant, module, parameter };

struct Allocation {
    uint64_t base = 0, bytes = 0;
    MemoryKind kind = MemoryKind::device;
    bool read_only = false;  // kernels may not write (constant banks, kernel parameters)
    uint64_t context = 0;    // owner's opaque tag
    uint32_t readers = 0;    // other devices that may use it, a bit each
    uint64_t serial = 0;     // 1, 2, 3 … for messages
    std::string label;       // "cuMemAlloc", "__constant__ table", …
    // The memory itself, where it is ours: a launch that knows the allocation keeps it, whoever frees it meanwhile.
    std::shared_ptr<void> pages = nullptr;
    uint64_t end() const { return base + bytes; }
};

class MemoryView {
  public:
    const Allocation* last_from(uint64_t address) const;    // the last that begins there or below; null: none
    const Allocation* first_above(uint64_t address) const;  // the first that begins above it; null: none
    const Allocation* find(uint64_t address) const {        // the one that holds it; null: none
        const Allocation* below = last_from(address);
        return below && address < below->end() ? below : nullptr;
    }
    const Allocation* at(uint64_t base) const {  // the one that begins there; null: none
        const Allocation* below = last_from(base);
        return below && below->base == base ? below : nullptr;
    }
    void insert(const Allocation& allocation);   // where none begins yet
    void replace(const Allocation& allocation);  // the one that begins there
    void erase(uint64_t base);                   // the one that begins there

    class Iterator;
    Iterator begin() const;
    Iterator end() const;

  private:
    using Chunk = std::vector<Allocation>;  // never empty, and never changed once it is in a view
    struct Part {
        uint64_t first;  // where its first allocation begins
        std::shared_ptr<const Chunk> chunk;
    };
    static constexpr size_t chunk_limit = 64;
    size_t part_of(uint64_t address) const;  // the last that begins there or below; else the first
    static Part part(Chunk chunk);
    std::vector<Part> parts_;
};

class MemoryView::Iterator {
  public:
    const Allocation& operator*() const { return (*(*parts_)[part_].chunk)[index_]; }
    Iterator& operator++() {
        if (++index_ == (*parts_)[part_].chunk->size()) ++part_, index_ = 0;
        return *this;
    }
    bool operator==(const Iterator& other) const { return part_ == other.part_ && index_ == other.index_; }

  private:
    friend class MemoryView;
    Iterator(const std::vector<Part>& parts, size_t part) : parts_(&parts), part_(part) {}
    const std::vector<Part>* parts_;
    size_t part_, index_ = 0;
};

inline MemoryView::Iterator MemoryView::begin() const { return {parts_, 0}; }
inline MemoryView::Iterator MemoryView::end() const { return {parts_, parts_.size()}; }

}  // namespace softcuda
