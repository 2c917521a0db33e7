// Device printf, and memory that kernels allocate.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "machine/memory.h"

namespace softcuda {

// What kernels printed, until the host synchronises.  Like the device's FIFO it holds a megabyte: more pushes out the oldest.
class Printer {
  public:
    void print(std::string text, bool failed_assertion = false);  // those go to stderr, as CUDA's do
    void flush();
    bool pending();
    void set_sink(std::function<void(std::string_view)> sink);

  private:
    static constexpr size_t capacity = 1u << 20;
    std::mutex mutex_;
    struct Text {
        std::string text;
        bool failed_assertion;
    };
    std::deque<Text> pending_;
    size_t bytes_ = 0;
    std::function<void(std::string_view)> sink_;
};

// malloc() and free() in kernels: one arena in device memory, first fit.
class DeviceHeap {
  public:
    explicit DeviceHeap(Memory& memory) : memory_(memory) {}
    ~DeviceHeap();
    // The arena is made when a kernel that needs it is first launched; its size is then fixed, as CUDA says.
    void reserve(uint64_t bytes);
    uint64_t allocate(uint64_t bytes);  // 0: exhausted
    bool release(uint64_t address);     // false: not an allocation of this heap

  private:
    struct Piece {
        uint64_t offset, bytes;
        bool used;
    };
    Memory& memory_;
    std::mutex mutex_;
    uint64_t base_ = 0, bytes_ = 0;
    std::vector<Piece> pieces_;  // in address order
};

}  // namespace softcuda
