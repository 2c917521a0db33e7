// What happens before what in a launch: vector clocks of warps, of the lanes in them, and what blocks learn of each other.
//
// A warp's clock goes on with everything that orders: barriers, .sync operations, atomics, fences.  An access keeps the
// clock it was made at (Mark), and another warp that has seen a later one comes after it.  In a warp nothing but a .sync
// operation or a barrier orders the lanes: since Volta they need not run in step.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace softcuda::inspect {

// A memory instruction of a warp.
struct Mark {
    uint32_t block = 0;  // by the order in which the launch's blocks began
    uint32_t clock = 0;
    uint32_t line = 0;      // index into Program::locations
    uint32_t lanes = 0;     // that took part
    uint32_t released = 0;  // what the warp did below this clock comes before whoever learns of the access
    uint8_t warp = 0;
    bool strong = false, atomic = false;
    bool cas = false;
    bool asynchronous = false;  // through the asynchronous proxy
    bool pending = false;       // a copy that nobody has waited for
};

using Clocks = std::vector<uint32_t>;  // by warp of the block: accesses below come before
void join(Clocks& into, const Clocks& other);

// What blocks know of each other.  A fence makes a snapshot; an atomic or volatile write after it leaves the snapshot at
// the address it writes to, and who reads that address knows what was written there so far.
struct Log {
    std::vector<uint32_t> snapshots;
    std::unordered_map<uint32_t, std::vector<uint32_t>> of_block;  // positions in `snapshots`
};
struct Known {
    const Log* log;
    uint32_t entries;
};
using Knowledge = std::vector<Known>;
void join(Knowledge& into, const Knowledge& other);

struct Snapshot {
    uint32_t block;
    Clocks clocks;
    Knowledge knows;
};

// Between the blocks of a launch.
class GridOrder {
  public:
    uint32_t add(Snapshot snapshot);
    void leave(uint64_t address, uint32_t snapshot);
    void learn(uint64_t address, Knowledge& knows) const;
    bool before(const Mark& mark, const Knowledge& knows) const;
    bool empty() const { return logs_.empty(); }

  private:
    std::vector<Snapshot> snapshots_;
    std::unordered_map<uint64_t, Log> logs_;
};

struct WarpOrder {
    static constexpr uint32_t no_snapshot = ~0u;

    uint32_t present = 0, exited = 0;
    uint32_t clock = 1;
    uint32_t floor = 0;   // accesses of any lane below come before every lane's next
    bool parted = false;  // `lane_floor` says more than `floor`
    std::unique_ptr<std::array<std::array<uint32_t, 32>, 32>> lane_floor;  // [lane][of which lane]
    Clocks seen;                                                           // of the block's other warps
    uint32_t fence = no_snapshot;                                          // its last, for other blocks
    uint32_t fenced = 0;                                                   // the clock of the last fence of any scope
    Knowledge knows;

    void start(uint32_t lanes, size_t warps);
    void meet(uint32_t lanes);                                   // these lanes wait for each other
    void follow(uint32_t lane, uint32_t other, uint32_t clock);  // `lane` comes after what `other` did until then
    bool before(uint32_t clock, uint32_t other, uint32_t lane) const {
        return clock < floor || other == lane || (parted && clock < (*lane_floor)[lane][other]);
    }

  private:
    void part();
};

}  // namespace softcuda::inspect
