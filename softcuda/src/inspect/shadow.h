// What is remembered of memory: who wrote each word last, and who read it.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "inspect/order.h"

namespace softcuda::inspect {

// A cell names a mark and one of its lanes; 0: nobody.
struct Cell {
    static constexpr uint32_t most_ids = 1u << 25;  // so that a cell is no negative number
    static constexpr uint32_t of(uint32_t id, uint32_t lane, bool several = false) {
        return id << 6 | uint32_t(several) << 5 | lane;
    }
    static constexpr uint32_t id(uint32_t cell) { return cell >> 6; }
    static constexpr uint32_t lane(uint32_t cell) { return cell & 31; }
    static constexpr bool several(uint32_t cell) { return cell & 32; }  // other lanes of the instruction too
};

// Marks have rising numbers; when all are forgotten at once the numbers go on, so that old cells need not be cleared.
class Marks {
  public:
    uint32_t add(const Mark& mark) {
        all_.push_back(mark);
        return base_ + static_cast<uint32_t>(all_.size()) - 1;
    }
    void drop() { all_.pop_back(); }  // the newest, which no cell names
    Mark& operator[](uint32_t id) { return all_[id - base_]; }
    uint32_t base() const { return base_; }  // older ones are forgotten
    uint32_t next() const { return base_ + static_cast<uint32_t>(all_.size()); }
    bool full() const { return all_.size() > (1u << 24) || next() > Cell::most_ids - (1u << 16); }
    void forget() {
        base_ = next();
        all_.clear();
    }
    void restart() {  // the cells are cleared too
        base_ = 1;
        all_.clear();
    }

  private:
    uint32_t base_ = 1;
    std::vector<Mark> all_;
};

// Zeros at first; large ones cost nothing until they are written to.
class Cells {
  public:
    Cells() = default;
    explicit Cells(size_t count) : count_(count) {
        if (count == 0) return;
        void* pages = large() ? mmap(nullptr, count * 4, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                              : std::calloc(count, 4);
        if (!pages || pages == MAP_FAILED) throw std::bad_alloc();
        at_ = static_cast<uint32_t*>(pages);
    }
    Cells(Cells&& other) noexcept : at_(std::exchange(other.at_, nullptr)), count_(std::exchange(other.count_, 0)) {}
    Cells& operator=(Cells&& other) noexcept {
        std::swap(at_, other.at_);
        std::swap(count_, other.count_);
        return *this;
    }
    ~Cells() {
        if (at_ && large())
            munmap(at_, count_ * 4);
        else
            std::free(at_);
    }
    uint32_t& operator[](size_t i) { return at_[i]; }
    uint32_t* at() { return at_; }
    size_t size() const { return count_; }
    void clear() { *this = Cells(count_); }

  private:
    bool large() const { return count_ >= 1u << 16; }
    uint32_t* at_ = nullptr;
    size_t count_ = 0;
};

// Of a piece of memory: a cell a word, or a byte once something smaller than a word was touched.
struct Shadow {
    size_t bytes = 0;
    uint32_t shift = 2;
    Cells written, read, earlier;   // earlier: the read before, by another warp
    Cells written_page, read_page;  // by 4096 bytes: the newest mark that any cell names

    explicit Shadow(size_t size = 0)
        : bytes(size), written(cells()), read(cells()), earlier(cells()), written_page(pages()), read_page(pages()) {}
    size_t pages() const { return (bytes >> page_bits) + 1; }
    size_t page(size_t cell) const { return cell << shift >> page_bits; }
    static constexpr uint32_t page_bits = 12;
    size_t cells() const { return (bytes + 3) / 4 * 4 >> shift; }
    size_t cells_to(size_t end) const { return std::min((end + (1u << shift) - 1) >> shift, cells()); }
    void refine() {
        shift = 0;
        for (Cells* which : {&written, &read, &earlier}) {
            Cells fine(cells());
            for (size_t i = 0; i < which->size(); ++i)
                if (uint32_t cell = (*which)[i])
                    for (size_t k = 0; k < 4; ++k) fine[i * 4 + k] = cell;
            *which = std::move(fine);
        }
    }
    void clear() {
        written.clear();
        read.clear();
        earlier.clear();
        written_page.clear();
        read_page.clear();
    }
};

// Which words of an allocation, or of a block's shared memory, hold something.
class Filled {
  public:
    explicit Filled(size_t bytes = most_shared, bool whole = false) : bytes_(bytes), whole_(whole) {}
    static constexpr size_t most_shared = 1 << 18;  // bytes; a block has less
    bool whole() const { return whole_; }
    void empty() {
        whole_ = false;
        bits_ = Cells();
    }
    void fill(uint64_t offset, uint64_t bytes) {
        if (whole_ || bytes == 0) return;
        if (offset == 0 && bytes >= bytes_) {
            whole_ = true;
            return;
        }
        if (!bits_.size()) bits_ = Cells((bytes_ + 127) / 128 + 2);
        uint64_t first = offset / 4, last = (offset + bytes - 1) / 4;
        for (uint64_t i = first; i <= last;) {
            if (i % 32 == 0 && last - i >= 31) {
                bits_[i / 32] = ~0u;
                i += 32;
            } else {
                bits_[i / 32] |= 1u << i % 32;
                ++i;
            }
        }
    }
    bool filled(uint64_t offset, uint64_t bytes) {
        if (whole_ || !bits_.size()) return whole_;
        for (uint64_t i = offset / 4; i <= (offset + bytes - 1) / 4; ++i)
            if (!(bits_[i / 32] >> i % 32 & 1)) return false;
        return true;
    }

  private:
    size_t bytes_;
    bool whole_;
    Cells bits_;
};

}  // namespace softcuda::inspect
