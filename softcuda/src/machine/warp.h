// A warp at work, as instructions see it.  How warps are scheduled is block.h's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "machine/program.h"

namespace softcuda {

class Block;
class Observer;
class Worker;

enum class FaultKind : uint8_t {
    illegal_address,
    misaligned_address,
    illegal_instruction,
    trap,
    assertion,
    deadlock,
    mbarrier,  // a deadlock, too: of warps that ask mbarriers
    timeout,
    stack_overflow,
    invalid_address_space,
    invalid_pc,
    invalid_free,
    interrupted,
    internal,
};

class Warp {
  public:
    std::byte* frame = nullptr;  // rows of the running function
    Block* block = nullptr;
    Worker* worker = nullptr;      // the CPU thread that runs it
    Observer* observer = nullptr;  // null: there is none
    uint32_t index = 0;            // of the warp in its block; lane i is thread index*32+i
    uint32_t present = 0;          // lanes that exist (the last warp of a block may be partial)
    uint32_t exited = 0;
    uint32_t spins = 0;          // operations run that a waiting loop would contain; the scheduler reads and clears it
    uint64_t fault_address = 0;  // set before fault() by whoever knows an address

    // Lockstep warps (lockstep.cpp): how many a call of an operation is for, of which this is the first, who they are, and
    // how far apart their frames lie.  An operation that runs all of them sets the number to 1; else each is called.
    uint32_t lockstep_count = 1;
    uint32_t frame_stride = 0;
    Warp* const* lockstep_warps = nullptr;

    template <class T>
    T* row(uint32_t offset) {
        return std::launder(reinterpret_cast<T*>(frame + offset));
    }
    uint32_t& predicate(uint32_t offset) { return *row<uint32_t>(offset); }

    // Ends the launch: throws, with kernel, block, thread and source line added by the scheduler.  `what` completes
    // the sentence, e.g. "read of 4 bytes at 0x7f… is 12 bytes past the end of an allocation of 400 bytes".
    [[noreturn]] void fault(FaultKind kind, const Op& op, int lane, const std::string& what);
};

}  // namespace softcuda
