// Asynchronous copies that are under way, and the mbarriers that report their end.
//
// PTX lets a copy be done at any time up to the wait for it.  Here it is done there and not before, at the wait or when
// somebody asks an mbarrier whether it is complete: the destination keeps its old content until then, and the source
// is read only then, so that a wait that was forgotten shows, the same in every run.  Only where more is under way than
// any program has use for, the oldest are done, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/program.h"

namespace softcuda {

class Block;
struct TensorBox;  // tensor_map.h

// Under way at once.  A warp that fills all of an SM's shared memory with cp.async, a word a lane, needs 1816; a cluster
// whose threads all arrive at mbarriers, 16384.
inline constexpr size_t most_copies = 2048, most_for_barriers = 32768;
inline constexpr size_t most_read = size_t(1) << 20;  // bytes that a warp's bulk copies have read and not written

// 64 bits of shared memory, opaque to programs.
struct Mbarrier {
    uint64_t expected : 20, pending : 20, transactions : 23, phase : 1;  // transactions: bytes, in two's complement

    void settle() {
        if (pending != 0 || transactions != 0) return;
        phase = phase ^ 1;
        pending = expected;
    }
};
static_assert(sizeof(Mbarrier) == 8);

// to[i] = to[i] op from[i] for the elements in so many bytes.
using Reduction = void (*)(std::byte* to, const std::byte* from, uint32_t bytes);

// How far a copy has come, for observers.
struct TransferState {
    bool read = false, landed = false;  // the source; all of it
};

// One copy under way; its addresses are the host's and have been checked.
struct Transfer {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    uint32_t bytes = 0;
    Reduction reduce = nullptr;   // null: a copy
    uint16_t chosen = 0xffff;     // of every 16 bytes, those that are written (.cp_mask)
    std::vector<std::byte> data;  // the source, once it has been read
    // Of a tensor copy, in place of the addresses and what is done with them; `bytes` are the box's.
    std::shared_ptr<const TensorBox> box;
    bool loads = false;                    // it goes to shared memory
    std::shared_ptr<TransferState> state;  // null: nobody asks

    // Both return how many bytes of `data` that takes, or gives back.
    size_t read();
    size_t land();

  private:
    size_t read_source();
    size_t land_all();
};

// What the threads of a warp have under way that no mbarrier reports: cp.async, and bulk copies in groups.
class ThreadCopies {
  public:
    struct Copy {  // one cp.async of a warp
        uint32_t lanes = 0, bytes = 0;
        uint64_t number = 0;
        std::array<uint64_t, warp_size> to, from;
        std::array<uint32_t, warp_size> wanted, group;  // bytes to read, the rest being zeros
    };

    void issue(Copy copy);
    void commit(uint32_t lanes);
    void wait(uint32_t lanes, uint32_t left);  // until at most `left` of a thread's groups are under way
    void wait_all(uint32_t lanes);
    uint64_t issued() const { return issued_; }
    size_t under_way() const { return copies_.size(); }
    void land_before(int lane, uint64_t number);  // that lane's copies with smaller numbers

    void issue_bulk(int lane, Transfer transfer);
    void commit_bulk(uint32_t lanes);
    void wait_bulk(uint32_t lanes, uint32_t left, bool only_read);
    void finish_bulk() { land_bulk(bulk_.size()); }
    void clear();

  private:
    template <class Choose>
    void land(size_t count, uint32_t lanes, Choose choose);  // of the oldest so many, those that choose(copy, lane)
    void land_bulk(size_t count);                            // the oldest
    struct BulkCopy {
        int lane;
        uint32_t group;
        Transfer transfer;
    };
    std::vector<Copy> copies_;
    size_t landed_ = 0;  // of these, the ones that have, for all their lanes
    std::vector<BulkCopy> bulk_;
    size_t bulk_read_ = 0;  // bytes
    uint64_t issued_ = 0;
    std::array<uint32_t, warp_size> committed_{}, bulk_committed_{};
};

// What a cluster's mbarriers wait for.
class AsyncQueue {
  public:
    void transfer(uint64_t* barrier, Transfer transfer);  // then complete_tx
    // One arrival when the lane's copies so far have landed (cp.async.mbarrier.arrive).
    void arrive(uint64_t* barrier, ThreadCopies& copies, int lane);
    // Somebody asks: if what is under way would complete the phase, it lands now.
    void settle(uint64_t* barrier);
    void finish() { finish(pending_.size()); }          // everything lands
    uint64_t under_way(const uint64_t* barrier) const;  // bytes

  private:
    struct Pending {
        uint64_t* barrier;
        Transfer transfer;
        ThreadCopies* copies = nullptr;  // not null: an arrival
        int lane = 0;
        uint64_t before = 0;
        bool apply(Mbarrier& to) const;
        void perform();
    };
    void add(Pending pending);
    void finish(size_t count);  // the oldest
    std::vector<Pending> pending_;
};

AsyncQueue& async_queue(Block& block);
// At the end of a block all that is still under way lands: its shared memory is about to be another's.
void finish_copies(Block& block);

}  // namespace softcuda
