// Where device memory lies: one range of the process's addresses that holds nothing else.  An address in it and in no
// allocation is stale or wild, and nobody takes it for the host's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace softcuda {

class AddressRange {
  public:
    static AddressRange& get();  // all devices' together; lives until the process ends
    // Zeroed pages, which go back with the last copy of the pointer.  Throws std::bad_alloc.
    std::shared_ptr<void> map(uint64_t bytes);
    bool holds(uint64_t address) const { return address - begin_ < bytes_; }

  private:
    AddressRange();
    uint64_t take(uint64_t bytes, uint64_t align);
    void give(uint64_t at, uint64_t bytes);

    uint64_t begin_ = 0, bytes_ = 0;  // no bytes: the system refused the range
    std::mutex mutex_;
    std::map<uint64_t, uint64_t> free_;  // begin and end; neighbours are one
    uint64_t next_ = 0;                  // where to look first
};

}  // namespace softcuda
