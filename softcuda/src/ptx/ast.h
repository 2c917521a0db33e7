// What a PTX module says, before anyone decides what it means.
//
// The parser keeps every instruction as its opcode, its dot-separated modifiers in order and its operands;
// only the machine's decoder knows which combinations exist.  Grammar: PTX ISA 8.x-9.x.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace softcuda::ptx {

enum class Type : uint8_t {
    none,
    pred,
    b8,
    b16,
    b32,
    b64,
    b128,
    u8,
    u16,
    u32,
    u64,
    s8,
    s16,
    s32,
    s64,
    f16,
    f16x2,
    bf16,
    bf16x2,
    f32,
    f64,
    texref,
    samplerref,
    surfref,
};
int bytes_of(Type type);                                 // 0 for none, pred and the opaque references
bool type_from_name(std::string_view name, Type& type);  // "u32" -> Type::u32

// Where in the CUDA source an instruction came from.  The parser follows `inlined_at` chains to the outermost
// caller, so that code from headers is charged to the reader's own line.
struct Location {
    uint32_t file = 0;  // index into Module::files; 0 is "unknown"
    uint32_t line = 0;
};

enum class OperandKind : uint8_t {
    reg,       // %r1            reg
    reg_pair,  // %p1|%p2        reg, reg2 (either may be sink_register)
    integer,   // 42, 0x2a       bits (sign-extended to 64)
    float32,   // 0f3F800000     bits (low 32)
    float64,   // 0d3FF0...      bits
    special,   // %tid.x, %laneid, WARP_SZ, %envreg1 ...     name
    symbol,    // counter, counter+8                          name, offset; variables, functions and labels alike
    address,   // [%rd1+8], [buffer+4], [64]                  base is reg >= 0, or name, or neither; offset
    vector,    // {%f1, %f2}     elements
    sink,      // _
    list,      // (param0, param1) of a call                  elements
};

inline constexpr int32_t no_register = -1;
inline constexpr int32_t sink_register = -2;  // `_` in a pair

// Beyond the table above:
// - a decimal literal (1.5) is float64 whatever the instruction's type: PTX says so, the decoder narrows it;
// - a register with a video selector (%r1.b0, %r2.h1) is `reg` with name "b0", "h1";
// - [%rd1, {%r1, %r2}] and [texture, sampler, {%f1}] are `address` with what follows the base in `elements`;
// - a register declared `.v2 .f32 v` becomes two Registers "v.x", "v.y"; `v` alone is a `vector` of both.
struct Operand {
    OperandKind kind = OperandKind::sink;
    bool negated = false;       // !%p1
    int32_t reg = no_register;  // index into Function::registers
    int32_t reg2 = no_register;
    uint64_t bits = 0;
    int64_t offset = 0;
    std::string name;
    std::vector<Operand> elements;
};

// Adds every register that an operand mentions, its elements' included.
void mentioned(const Operand& operand, std::vector<int32_t>& registers);

struct Instruction {
    int32_t predicate = no_register;     // @%p1
    bool predicate_negated = false;      // @!%p1
    std::string opcode;                  // "ld"
    std::vector<std::string> modifiers;  // {"global", "nc", "v4", "f32"}; "L2::cache_hint" stays one modifier
    std::vector<Operand> operands;       // in the order written; for call: see `call_*`
    Location location;                   // outermost caller outside headers
    Location inner_location;             // innermost line outside headers: the reader's own __device__ function
    uint32_t ptx_line = 0;               // 1-based line of the PTX text

    bool has(std::string_view modifier) const;
    std::string text() const;  // "ld.global.nc.v4.f32", for messages
};

struct Register {
    std::string name;  // "%f12"
    Type type = Type::none;
};

// A value in an initialiser that is only known once symbols have addresses.
struct Relocation {
    uint64_t offset = 0;  // into Variable::initial
    int bytes = 8;
    std::string symbol;
    int64_t addend = 0;
    bool generic = false;  // generic(symbol): the address in the generic window
    uint8_t shift = 0;     // mask(): the byte of the address that is wanted, times 8
};

struct Variable {
    std::string name;
    std::string space;       // "global", "shared", "const", "local", "param", "tex"
    Type type = Type::none;  // element type
    uint32_t align = 1;      // bytes
    uint64_t bytes = 0;      // whole array; 0 for `extern .shared x[]`
    bool is_extern = false, is_visible = false, is_weak = false, is_common = false, is_managed = false;
    std::vector<uint8_t> initial;  // empty: zeros; else all `bytes` of them
    std::vector<Relocation> relocations;
    uint32_t ptx_line = 0;
};

struct Prototype {  // .callprototype: the shape an indirect call expects
    std::vector<Variable> returns, params;
};

// One entry a name: a declaration and the definition that follows are merged.
// What nested scopes declare under a name already used in the function is renamed "name#2", "name#3" ('#' is in no PTX
// name), in declarations, labels, tables and uses alike.  Every name left in an operand is a label or table of the
// function, a parameter or variable of the function, or a variable, function or alias of the module; the parser has
// checked that it exists.  `.global` and `.const` declared in a body are in Module::variables as "function#name".
struct Function {
    std::string name;
    bool is_entry = false, is_extern = false, is_visible = false, is_weak = false, has_body = false, no_return = false;
    std::vector<Variable> returns, params;  // space is "param" (or "reg": then it is also in `registers`)
    std::vector<Register> registers;
    std::vector<Variable> variables;  // .shared/.local/.param declared inside, in any nested scope (renamed apart)
    std::vector<Instruction> body;
    std::map<std::string, uint32_t> labels;                          // name -> index into body (may equal body.size())
    std::map<std::string, std::vector<std::string>> branch_targets;  // .branchtargets of brx.idx
    std::map<std::string, std::vector<std::string>> call_targets;    // .calltargets
    std::map<std::string, Prototype> prototypes;                     // .callprototype
    uint32_t max_threads[3] = {0, 0, 0};                             // .maxntid; 0: not given
    uint32_t required_threads[3] = {0, 0, 0};                        // .reqntid
    uint32_t min_blocks = 0;                                         // .minnctapersm
    uint32_t max_registers = 0;                                      // .maxnreg
    uint32_t required_cluster[3] = {0, 0, 0};                        // .reqnctapercluster
    uint32_t max_cluster_rank = 0;
    bool explicit_cluster = false;
    Location location;
};

struct Module {
    int version_major = 0, version_minor = 0;
    std::string target;  // "sm_90"
    int address_size = 64;
    std::vector<std::string> files{""};  // .file; index 0 is unknown
    std::vector<Variable> variables;
    std::vector<Function> functions;             // declarations without a body included
    std::map<std::string, std::string> aliases;  // .alias
    // What the compiler stand-in learned from ptxas, left as comments `// softcuda: key=value ...` (driver reads them).
    // One entry a comment, without the `// softcuda: `.
    std::vector<std::string> notes;
};

struct Error : std::runtime_error {  // "line 12: ..."
    Error(uint32_t line, const std::string& what);
    uint32_t line;
};

// Parse NUL-free PTX text.  Throws Error naming the PTX line.
// A call keeps operands in order: [list of returns]?, callee (symbol or reg), [list of params]?, [symbol of prototype or targets]?
Module parse(std::string_view text);

}  // namespace softcuda::ptx
