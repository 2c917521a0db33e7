#include "machine/memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>

#include "machine/address_ranges.h"

namespace softcuda {
namespace {

constexpr uint64_t guard_bytes = 256;
constexpr uint64_t mebibyte = 1u << 20;
constexpr int poison = 0xCD;
constexpr size_t freed_remembered = 256;

bool counts_against_capacity(MemoryKind kind) {
    return kind != MemoryKind::pinned && kind != MemoryKind::registered && kind != MemoryKind::parameter;
}

std::string plural(uint64_t count, const char* unit) {
    return std::to_string(count) + " " + unit + (count == 1 ? "" : "s");
}

std::string named(const Allocation& allocation) {
    std::string text = "allocation " + std::to_string(allocation.serial) + " (" + plural(allocation.bytes, "byte");
    if (!allocation.label.empty()) text += ", " + allocation.label;
    return text + ")";
}

void make_look_wrong(uint64_t base, uint64_t bytes) {
    auto fill = [](uint64_t address, uint64_t count) { std::memset(reinterpret_cast<void*>(address), poison, count); };
    if (bytes <= 64 * mebibyte) {
        fill(base, bytes);
    } else {
        fill(base, mebibyte);
        fill(base + bytes - mebibyte, mebibyte);
    }
}

}  // namespace

bool never_the_hosts(uint64_t address) {
    return address < 4096 || address >= shared_window || AddressRanges::get().holds(address);
}

namespace {

// Whether the process itself could read there.
bool is_of_the_host(uint64_t address) {
    if (never_the_hosts(address)) return false;
    char byte = 0;
    const iovec to{&byte, 1}, from{reinterpret_cast<void*>(address), 1};
    return ::process_vm_readv(::getpid(), &to, 1, &from, 1, 0) == 1;
}

}  // namespace

struct Memory::State {
    uint64_t capacity = 0;
    mutable std::mutex mutex;
    uint64_t used = 0;
    uint64_t next_serial = 1;
    std::shared_ptr<const View> view = std::make_shared<View>();
    std::atomic<const View*> newest{view.get()};
    std::deque<Allocation> freed;  // the latest, without their pages: for messages

    template <class Change>
    void change(Change change) {
        auto next = std::make_shared<View>(*view);
        change(*next);
        view = std::move(next);
        newest.store(view.get(), std::memory_order_release);
    }
    void insert(const Allocation& allocation) {
        change([&](View& next) { next.insert(allocation); });
    }
};

Memory::Memory(uint64_t capacity_bytes) : state_(std::make_unique<State>()) { state_->capacity = capacity_bytes; }

Memory::~Memory() = default;

uint64_t Memory::allocate(uint64_t bytes, MemoryKind kind, const std::string& label, uint64_t align, uint64_t context) {
    align = std::max<uint64_t>(align, 256);
    std::lock_guard lock(state_->mutex);
    bool counted = counts_against_capacity(kind);
    if (counted && (bytes > state_->capacity || state_->used > state_->capacity - bytes)) throw std::bad_alloc();
    uint64_t mapped = bytes + 2 * guard_bytes + align;
    if (mapped < bytes) throw std::bad_alloc();
    Allocation allocation;
    allocation.pages = AddressRanges::get().map(mapped);
    auto begin = reinterpret_cast<uint64_t>(allocation.pages.get());
    uint64_t base = (begin + guard_bytes + align - 1) / align * align;
    make_look_wrong(base, bytes);
    allocation.base = base;
    allocation.bytes = bytes;
    allocation.kind = kind;
    allocation.read_only = kind == MemoryKind::constant || kind == MemoryKind::parameter;
    allocation.context = context;
    allocation.serial = state_->next_serial++;
    allocation.label = label;
    state_->insert(allocation);
    if (counted) state_->used += bytes;
    return base;
}

void Memory::adopt(void* host, uint64_t bytes, MemoryKind kind, const std::string& label) {
    std::lock_guard lock(state_->mutex);
    Allocation allocation;
    allocation.base = reinterpret_cast<uint64_t>(host);
    allocation.bytes = bytes;
    allocation.kind = kind;
    allocation.serial = state_->next_serial++;
    allocation.label = label;
    state_->insert(allocation);
}

bool Memory::release(uint64_t base) { return take(base).has_value(); }

std::optional<Allocation> Memory::take(uint64_t base) {
    std::lock_guard lock(state_->mutex);
    const Allocation* found = state_->view->at(base);
    if (!found) return std::nullopt;
    Allocation taken = *found;
    if (counts_against_capacity(taken.kind)) state_->used -= taken.bytes;
    state_->freed.push_back(taken);
    state_->freed.back().pages.reset();
    if (state_->freed.size() > freed_remembered) state_->freed.pop_front();
    state_->change([&](View& next) { next.erase(base); });
    return taken;
}

uint64_t Memory::put(Allocation allocation, const std::string& label) {
    std::lock_guard lock(state_->mutex);
    bool counted = counts_against_capacity(allocation.kind);
    if (counted && (allocation.bytes > state_->capacity || state_->used > state_->capacity - allocation.bytes))
        throw std::bad_alloc();
    make_look_wrong(allocation.base, allocation.bytes);
    allocation.serial = state_->next_serial++;
    allocation.label = label;
    state_->insert(allocation);
    if (counted) state_->used += allocation.bytes;
    return allocation.base;
}

void Memory::open_to(uint64_t base, uint32_t readers) {
    std::lock_guard lock(state_->mutex);
    const Allocation* found = state_->view->at(base);
    if (!found) return;
    Allocation opened = *found;
    opened.readers = readers;
    state_->change([&](View& next) { next.replace(opened); });
}

uint64_t Memory::capacity() const { return state_->capacity; }

uint64_t Memory::used() const {
    std::lock_guard lock(state_->mutex);
    return state_->used;
}

std::shared_ptr<const Memory::View> Memory::view() const {
    std::lock_guard lock(state_->mutex);
    return state_->view;
}

bool Memory::is_current(const View* seen) const { return state_->newest.load(std::memory_order_acquire) == seen; }

std::string Memory::describe(const View& view, uint64_t address, uint64_t bytes) const {
    if (address < 4096) return "a null pointer";
    constexpr uint64_t near = 1u << 20;  // farther away, the neighbour says nothing
    const Allocation *below = view.last_from(address), *above = view.first_above(address);
    if (below && address < below->end()) {
        if (address + bytes <= below->end())
            return (below->read_only ? "inside the read-only " : "inside ") + named(*below);
        return plural(address + bytes - below->end(), "byte") + " beyond the end of " + named(*below);
    }
    {
        std::lock_guard lock(state_->mutex);
        for (auto freed = state_->freed.rbegin(); freed != state_->freed.rend(); ++freed)
            if (address >= freed->base && address < freed->end())
                return "inside " + named(*freed) + ", which has been freed";
    }
    uint64_t past = below ? address - below->end() : ~0ull;
    uint64_t before = above ? above->base - address : ~0ull;
    if (std::min(past, before) > near)
        return is_of_the_host(address)
                   ? "in no allocation but in host memory, which kernels cannot reach: copy it to the"
                     " device and pass that address"
                   : "in no allocation";
    if (past <= before) return (past == 0 ? "just" : plural(past, "byte")) + " past the end of " + named(*below);
    return plural(before, "byte") + " before the start of " + named(*above);
}

bool Memory::contains(uint64_t address, uint64_t bytes) const {
    auto snapshot = view();
    const Allocation* allocation = find(*snapshot, address);
    return allocation && bytes <= allocation->end() - address;
}

}  // namespace softcuda
