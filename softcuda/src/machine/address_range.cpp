#include "machine/address_range.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <new>

namespace softcuda {
namespace {

// Addresses cost nothing until they are used.  ThreadSanitizer has room for less.
#ifdef __SANITIZE_THREAD__
constexpr uint64_t reserved = uint64_t(512) << 30;
#else
constexpr uint64_t reserved = uint64_t(16) << 40;
#endif

// So far addresses move on before they come round again: a stale one is known for stale as long as can be, but the
// system's page tables grow with every address that was ever used.
constexpr uint64_t round_trip = uint64_t(8) << 30;

constexpr uint64_t huge_page = 2u << 20;
constexpr int unused = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

uint64_t rounded(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

}  // namespace

AddressRange& AddressRange::get() {
    static AddressRange* range = new AddressRange;
    return *range;
}

AddressRange::AddressRange() {
    void* begin = mmap(nullptr, reserved, PROT_NONE, unused, -1, 0);
    if (begin == MAP_FAILED) return;  // a limit on addresses (ulimit -v): memory lies wherever there is room
    begin_ = next_ = reinterpret_cast<uint64_t>(begin);
    bytes_ = reserved;
    free_[begin_] = begin_ + bytes_;
}

std::shared_ptr<void> AddressRange::map(uint64_t bytes) {
    static const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
    if (bytes > reserved) throw std::bad_alloc();
    const uint64_t size = rounded(bytes, page);
    uint64_t at = 0;
    if (bytes_) at = take(size, size < huge_page ? page : huge_page);
    // Untouched pages cost nothing, so a large allocation is as cheap as on a device.
    void* pages = mmap(pointer(at), size, PROT_READ | PROT_WRITE, unused | (at ? MAP_FIXED : 0), -1, 0);
    if (pages == MAP_FAILED) {
        if (at) give(at, size);
        throw std::bad_alloc();
    }
    return {pages, [this, size](void* used) {
                if (!bytes_) {
                    munmap(used, size);
                    return;
                }
                // Where that fails (too many mappings) the pages at least go.
                if (mmap(used, size, PROT_NONE, unused | MAP_FIXED, -1, 0) == MAP_FAILED)
                    madvise(used, size, MADV_DONTNEED);
                give(reinterpret_cast<uint64_t>(used), size);
            }};
}

uint64_t AddressRange::take(uint64_t bytes, uint64_t align) {
    std::lock_guard lock(mutex_);
    if (next_ - begin_ > round_trip) next_ = begin_;
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
        return at;
    }
    throw std::bad_alloc();
}

void AddressRange::give(uint64_t at, uint64_t bytes) {
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
