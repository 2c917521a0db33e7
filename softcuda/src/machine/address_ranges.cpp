#include "machine/address_ranges.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace softcuda {
namespace {

constexpr uint64_t piece = uint64_t(8) << 30;  // reserved at a time; addresses cost next to nothing until they are used

// So far addresses move on before they come round again: a stale one is known for stale as long as can be, but the
// system's page tables grow with every address that was ever used.
constexpr uint64_t round_trip = piece;

constexpr uint64_t huge_page = 2u << 20;
constexpr int unused = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

uint64_t rounded(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

AddressRanges& AddressRanges::get() {
    static AddressRanges* ranges = new AddressRanges;
    return *ranges;
}

bool AddressRanges::holds(uint64_t address) const {
    std::lock_guard lock(mutex_);
    auto next = reserved_.upper_bound(address);
    return next != reserved_.begin() && address < std::prev(next)->second;
}

std::shared_ptr<void> AddressRanges::map(uint64_t bytes) {
    static const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
    if (bytes > UINT64_MAX / 2) throw std::bad_alloc();
    const uint64_t size = rounded(bytes, page);
    const uint64_t at = take(size, size < huge_page ? page : huge_page);
    // Untouched pages cost nothing, so a large allocation is as cheap as on a device.
    void* pages = mmap(pointer(at), size, PROT_READ | PROT_WRITE, unused | (at ? MAP_FIXED : 0), -1, 0);
    if (pages == MAP_FAILED) {
        if (at) give(at, size);
        throw std::bad_alloc();
    }
    if (!at) return {pages, [size](void* used) { munmap(used, size); }};
    return {pages, [this, size](void* used) {
                // Where that fails (too many mappings) the pages at least go.
                if (mmap(used, size, PROT_NONE, unused | MAP_FIXED, -1, 0) == MAP_FAILED)
                    madvise(used, size, MADV_DONTNEED);
                give(reinterpret_cast<uint64_t>(used), size);
            }};
}

// 0: the system gives no range that large (a limit on addresses, ulimit -v), so memory lies wherever there is room.
uint64_t AddressRanges::take(uint64_t bytes, uint64_t align) {
    std::lock_guard lock(mutex_);
    if (const uint64_t at = take_free(bytes, align)) return at;
    const uint64_t size = std::max(piece, bytes + align);
    void* begin = mmap(nullptr, size, PROT_NONE, unused, -1, 0);
    if (begin == MAP_FAILED) return 0;
    const auto from = reinterpret_cast<uint64_t>(begin);
    reserved_[from] = free_[from] = from + size;
    next_ = from;
    return take_free(bytes, align);
}

uint64_t AddressRanges::take_free(uint64_t bytes, uint64_t align) {
    if (travelled_ > round_trip) next_ = travelled_ = 0;
    auto from = free_.upper_bound(next_);  // the one before it may hold next_
    if (from != free_.begin()) --from;
    for (size_t tried = 0; tried <= free_.size(); ++tried, ++from) {
        if (from == free_.end()) from = free_.begin();
        if (from == free_.end()) break;
        const auto [begin, end] = *from;
        const uint64_t at = rounded(tried ? begin : std::max(begin, next_), align);
        if (at > end || end - at < bytes) continue;
        free_.erase(from);
        if (begin < at) free_[begin] = at;
        if (at + bytes < end) free_[at + bytes] = end;
        next_ = at + bytes;
        travelled_ += bytes;
        return at;
    }
    return 0;
}

void AddressRanges::give(uint64_t at, uint64_t bytes) {
    std::lock_guard lock(mutex_);
    uint64_t end = at + bytes;
    auto next = free_.lower_bound(at);
    if (next != free_.end() && next->first == end) {
        end = next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin() && std::prev(next)->second == at)
        std::prev(next)->second = end;
    else
        free_[at] = end;
}

}  // namespace softcuda
