// The device's address space.
//
// Device addresses of global memory are the host's own (identity mapping), so a checked access is a plain load.
// The shared and local windows of the generic space lie where no host allocation can be; an address in them means the
// accessing block's shared memory, or the accessing thread's local memory.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "machine/memory_view.h"

namespace softcuda {

// Generic windows: above the 47-bit user space of x86-64 and arm64 Linux, so never a host address.
inline constexpr uint64_t shared_window =
    0x0100'0000'0000'0000ull;  // + offset in the own block's; + ((cluster rank + 1) << 24) for another's
inline constexpr uint64_t shared_window_end = shared_window + (1ull << 32);
inline constexpr uint64_t local_window = 0x0200'0000'0000'0000ull;  // + offset in the thread's own local memory
inline constexpr uint64_t local_window_end = local_window + (1ull << 32);
inline constexpr uint32_t shared_reserved = 1024;  // the driver's kilobyte at the start (cc >= 8.0)

// No program's own memory lies there: in what device memory has for itself, in the windows and above them, at null.
bool never_the_hosts(uint64_t address);

class Memory {
  public:
    explicit Memory(uint64_t capacity_bytes);
    ~Memory();
    // Throws std::bad_alloc when the capacity (device kinds only) or the machine is exhausted.  256-byte aligned (or `align`),
    // with a guard zone of at least 256 bytes that belongs to nobody on both sides; fresh memory is filled with a poison pattern
    // (0xCD…) unless the size makes that slow (> 64 MiB: the first and last MiB only): what is read unwritten should look wrong.
    uint64_t allocate(uint64_t bytes, MemoryKind kind, const std::string& label, uint64_t align = 256,
                      uint64_t context = 0);
    void adopt(void* host, uint64_t bytes, MemoryKind kind, const std::string& label);  // cuMemHostRegister
    bool release(uint64_t base);  // false: not the base of an allocation
    // As release, but its pages stay for `put`, which gives them out anew.
    std::optional<Allocation> take(uint64_t base);
    uint64_t put(Allocation allocation, const std::string& label);
    void open_to(uint64_t base, uint32_t readers);  // other devices that may use it, a bit each
    uint64_t capacity() const;
    uint64_t used() const;

    // A consistent, sorted view that a running launch may keep.
    using View = MemoryView;
    std::shared_ptr<const View> view() const;
    bool is_current(const View* seen) const;  // of a view that is kept: whether view() is it still
    static const Allocation* find(const View& view, uint64_t address) { return view.find(address); }
    // "12 bytes past the end of allocation 3 (400 bytes, cuMemAlloc)", "inside …, which has been freed", "in no allocation",
    // "a null pointer" …
    std::string describe(const View& view, uint64_t address, uint64_t bytes) const;
    bool contains(uint64_t address, uint64_t bytes) const;  // for the driver's own copies

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace softcuda
