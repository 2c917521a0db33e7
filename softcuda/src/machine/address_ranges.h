// Where device memory lies: ranges of the process's addresses that hold nothing else.  An address in them and in no
// allocation is stale or wild, and nobody takes it for the host's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace softcuda {

class AddressRanges {
  public:
    static AddressRanges& get();  // all devices' together; lives until the process ends
    // Zeroed pages, which go back with the last copy of the pointer.  Throws std::bad_alloc.
    std::shared_ptr<void> map(uint64_t bytes);
    bool holds(uint64_t address) const;

  private:
    uint64_t take(uint64_t bytes, uint64_t align);
    uint64_t take_free(uint64_t bytes, uint64_t align);
    void give(uint64_t at, uint64_t bytes);

    mutable std::mutex mutex_;
    std::map<uint64_t, uint64_t> reserved_, free_;  // begin and end; free neighbours are one
    uint64_t next_ = 0;                             // where to look first
    uint64_t travelled_ = 0;                        // bytes given out since it was at the lowest address
};

}  // namespace softcuda
