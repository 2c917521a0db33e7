// A module made ready to run: every PTX instruction decoded into an Op that names its operands as register rows.
//
// A *row* is one register of a warp: 32 lanes side by side, so that one instruction is one SIMD loop over a row.
// Rows live in a *frame* (one per function activation of a warp) and are named by their byte offset in it.
// Immediates and special registers are rows too, filled before the function runs; so an Op needs no operand kinds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/ast.h"

namespace softcuda {

inline constexpr int warp_size = 32;
inline constexpr uint32_t all_lanes = 0xffffffffu;

class Warp;
struct Op;
struct Function;

// How many bytes a lane's element has in each row of an Op, for operations that lanes may meet in from different
// instructions: their operands are gathered into one place.  0: a predicate; unused: no such row.
struct MeetShape {
    static constexpr uint8_t unused = 0xff;
    uint8_t dst = unused, dst2 = unused, a = unused, b = unused, c = unused, d = unused;
};

// Executes one instruction for the lanes in `lanes` (never empty).  Pure lane arithmetic, memory and the like;
// control flow is the scheduler's (see Flow).
using Exec = void (*)(Warp& warp, const Op& op, uint32_t lanes);

// A register row: byte offset in the frame and bytes of one lane's element: 2, 4, 8 or 16; predicates are ONE uint32_t
// mask of 32 bits (element_bytes 0).  8-bit registers are kept in 16-bit rows.  Rows are 64-byte aligned, predicates by 4.
// The first 64 bytes of a frame hold no row, so offset 0 can say "none".
struct Row {
    uint32_t offset = 0;
    uint8_t element_bytes = 0;
};

// How the scheduler continues after an Op.
enum class Flow : uint8_t {
    next,           // run exec, go to pc + 1
    branch,         // lanes whose predicate holds go to `target`
    branch_table,   // brx.idx: lane's index in row a, targets in `extra`
    call,           // push a frame of function `callee`
    call_indirect,  // function address in row a
    ret,
    exit,
    barrier,  // bar/barrier of a block: exec describes it, the scheduler counts arrivals
    cluster_barrier,
    meet,       // .sync warp operations: exec runs once all lanes of the member mask (row `d`; 0: all) have come.
                // With `extra` pointing to a MeetShape, lanes may come from different instructions of one exec
    warpgroup,  // as `meet` for all lanes, then for the other warps of the warpgroup: wgmma.wait_group; see warpgroup.h
    yield,      // run exec, then let other warps run (nanosleep, mbarrier.try_wait, spinning atomics)
};

// What of an Op is reported to an observer, apart from counting it.
enum class Report : uint8_t {
    by_itself,  // its exec reports the accesses it makes, if it makes any
    access,     // one access, whose addresses are a row and an offset (see Op::access): reported before exec runs
    never,      // reads memory that no observer asks for: parameters and constants
    orders,     // a fence, or of an asynchronous copy: reported before exec runs
    fused_dot,  // the access that begins Function::fused_dots[target]: reported and run as one
};
enum class Space : uint8_t { global, shared, local, constant, param, generic };
enum class Access : uint8_t { load, store, atomic, reduction };

// Lanes have to meet in it, so that it is reported when it runs.
inline bool meets(Flow flow) { return flow == Flow::meet || flow == Flow::warpgroup; }

struct Op {
    Exec exec = nullptr;
    uint32_t dst = 0, a = 0, b = 0, c = 0, d = 0;  // row offsets; meaning is the instruction's
    uint32_t dst2 = 0;                             // second result (setp p|q, shfl d|p, carry)
    uint32_t predicate = no_row;                   // row of the guard predicate
    bool predicate_negated = false;
    Flow flow = Flow::next;
    uint8_t small[6] = {};  // family-specific small data (vector length, truth tables …)
    uint32_t target = 0;    // branch: op index;  call: index into Program::functions
    uint32_t line = 0;      // index into Program::locations (source line, PTX line, text)
    // Report::access: base row a, small[1] = its element bytes (0: none), imm = offset, small[3] = marks (access.h).
    Report report = Report::by_itself;
    Space space = Space::generic;
    Access access = Access::load;
    uint8_t access_bytes = 0;     // a lane
    uint64_t imm = 0;             // family-specific (address offset, lut, …)
    const void* extra = nullptr;  // family-specific immutable data owned by the Program (see Decoder::keep)

    static constexpr uint32_t no_row = 0xffffffffu;
};

struct SourceLine {               // what error messages and the inspector say about an Op
    uint32_t file = 0, line = 0;  // index into Program::files
    uint32_t ptx_line = 0;
    std::string text;  // "ld.global.f32"
};

struct RegisterUse {  // of a PTX instruction: rows
    std::vector<uint32_t> read, written;
};

struct Parameter {
    uint32_t offset = 0, bytes = 0, align = 1;  // in the parameter buffer
};

// A value that passes between caller and callee: 32 lanes of `bytes` each, lane after lane (a row is such a slot).
struct Slot {
    uint32_t offset = 0, bytes = 0;
};
struct CallSite {                       // Op::extra of a call
    std::vector<Slot> params, returns;  // in the caller's frame
    std::string callee;                 // "" when indirect
};

// A fused dot product in Function::code (fused_dot.h): what its loads read is reported together, then `whole` runs for all
// of it.
struct FusedDotRun {
    Op whole;
    const Op* parts;  // three a step: two loads and what uses them
    uint32_t steps;
};

struct BaseCode;  // affine.h
struct Operands;  // of one PTX instruction, see operands.h

struct Symbol {            // a variable
    uint64_t address = 0;  // global/const: device address; shared: offset in the block's shared memory
    uint64_t bytes = 0;
    std::string space;
};

enum class Special : uint8_t;  // %tid.x …; see specials.h

struct Function {
    std::string name;
    bool is_entry = false;
    std::vector<Op> code;  // the plain stream, as written: what observers see
    // The optimised stream (optimise.cpp): with fused dot products, and what is hoisted (hoisting.h) at its front: where a
    // warp's first block in a row of blocks begins, and its further ones.  Empty: nothing to gain.
    std::vector<Op> optimised;
    uint32_t row_begin = 0, block_begin = 0;
    const std::vector<Op>& stream(bool observed) const { return observed || optimised.empty() ? code : optimised; }
    // What blocks run that keep the bases of affine values apart (affine.h), with the same beginnings; and what computes
    // the bases, once for a block.
    std::vector<Op> affine;
    std::shared_ptr<const BaseCode> bases;
    std::vector<FusedDotRun> fused_dots;  // of `code`
    std::vector<Parameter> params, returns;
    uint32_t param_bytes = 0;                       // entry: size of the kernel's parameter buffer
    std::vector<Slot> param_slots, return_slots;    // not an entry: where they lie in its frame
    uint32_t frame_bytes = 0;                       // all rows
    std::vector<std::byte> image;                   // a new frame: constants in their rows, zeros elsewhere
    std::vector<Slot> fresh;                        // what of a frame that was used before must be zeros again
    std::vector<std::pair<Special, Row>> specials;  // rows filled when an activation starts
    uint32_t block_specials = 0;                    // how many of them, the first, change from block to block
    uint32_t affine_specials = 0;                   // how many of those, the first, `affine` still asks for
    uint32_t local_bytes = 0;                       // .local variables of one activation, per thread
    uint32_t stack_need = 0;                        // entry: local bytes of the deepest chain of calls; see `recursive`
    uint32_t stack_row = 0;                         // of alloca: how much it has taken, down from the stack's end
    bool recursive = false;       // entry: calls itself, through a pointer or alloca: the depth is not known
    bool ordered = false;         // entry: its result may depend on the order of blocks, so that blocks
                                  // run one after another (atomics with results, floats, volatile reads)
    bool allocates = false;       // entry: may call malloc()
    bool launches = false;        // entry: may call the device runtime
    bool lockstep_safe = false;   // entry: its warps may run in lockstep (lockstep.cpp): it reads no clock
    uint32_t index = 0;           // in Program::functions
    uint32_t dynamic_align = 16;  // entry: of its dynamic shared memory, as its declarations ask for
    uint32_t static_shared = 0;   // entry: bytes of .shared variables it can reach
    std::unordered_map<std::string, Symbol> shared_variables;  // entry: these, by name
    uint32_t max_threads = 0;                                  // entry: product of .maxntid / .reqntid, 0 if not given
    uint32_t required_threads[3] = {0, 0, 0};
    uint32_t required_cluster[3] = {0, 0, 0};
    uint32_t min_blocks = 0;
    // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, which holds for launches by kernels too: all that may change.
    mutable std::atomic<int> dynamic_shared_opted{0};
    // From ptxas, through the compiler stand-in's notes; -1 when not known.
    int registers = -1, spill_bytes = -1, stack_bytes = -1, ptxas_shared = -1, constant_bytes = -1;
    ptx::Location location;
};

// Owned by the driver's CUmodule; addresses inside it stay valid while it lives.  Immutable once loaded.
struct Program {
    std::string target;          // "sm_90"
    uint64_t function_base = 0;  // "addresses" of functions: function_base + 16 * index, in no memory
    std::vector<std::string> files;
    std::vector<SourceLine> locations;
    std::vector<std::unique_ptr<Function>> functions;
    std::unordered_map<std::string, uint32_t> function_index;
    std::unordered_map<std::string, Symbol> symbols;  // variables of the module itself
    // Of a file in `files`: its text, as the compiler stand-in left it.
    std::unordered_map<std::string, std::string> sources;
    std::vector<std::shared_ptr<const void>> kept;    // what Op::extra points to
    std::vector<RegisterUse> register_uses;           // as `locations`, of functions with wgmma.mma_async
    std::shared_ptr<std::vector<Operands>> operands;  // as `locations`; null: nobody reads values
    std::vector<uint64_t> allocations;                // device addresses to free on unload

    const Function* find(const std::string& name) const;
    std::string where(const Op& op) const;  // "snippets/reduction/reduce.cu:12 (ld.global.f32)"
};

struct LoadError : std::runtime_error {  // one line: what, where
    using std::runtime_error::runtime_error;
};

// Where a block's own shared memory begins: from sm_80 on, behind the driver's kilobyte.
uint32_t shared_begin(const Program& program);

class Memory;
// Decode a parsed module and lay its variables out in `memory`.  Throws LoadError; nothing stays allocated then.
std::unique_ptr<Program> load(const ptx::Module& module, Memory& memory, bool keep_operands = false);

}  // namespace softcuda
