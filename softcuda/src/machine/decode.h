// The table of operations: opcode -> a function that turns one PTX instruction into Ops.
//
// A family of instructions lives in one file `lanes_<family>.cpp`: its lane loops and, below them, the decode functions that
// choose among them.  Such files are compiled once per SIMD level (SOFTCUDA_LEVEL is a namespace name: generic, avx2, avx512)
// and everything in them lies in `namespace softcuda::SOFTCUDA_LEVEL`; each ends with `void register_<family>(OperationTable&)`,
// declared below.  At start-up operation_table() calls those of the best level this CPU has.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "machine/program.h"

namespace softcuda {

class Decoder;
// Emits Ops through the decoder, or calls decoder.unsupported(); never ignores a modifier (see Decoder::take).
using DecodeFn = void (*)(Decoder&);

// What an instruction does to registers.
enum class Effect : uint8_t {
    unknown,       // it may write every register that it names
    none,          // it writes no register
    writes_first,  // it writes its first operand, for each active lane and without reading it, and no other register
    pure,          // that, and it does nothing else and is defined for all that it may be given
};

// What an opcode says of its instructions, whatever their modifiers are; for these see effects.h.
struct OpcodeFacts {
    Effect effect = Effect::unknown;
    Flow flow = Flow::next;
    bool moves = false;  // the result is one of the operands
};

class OperationTable {
  public:
    // One function per opcode; it looks at the modifiers itself.  Null: control flow, which the decoder knows itself.
    void add(std::string_view opcode, DecodeFn decode, OpcodeFacts facts = {});
    DecodeFn find(std::string_view opcode) const;      // null: none
    OpcodeFacts facts(std::string_view opcode) const;  // of an opcode that is not known: the least
    Exec fused_dot = nullptr;                          // what runs a FusedDot (fused_dot.h)
    // From the block's bases (affine.h; row a, stride imm) to the warp's own row, by bytes of an element: a mask, 4, 8.
    Exec expand_mask = nullptr, expand_word = nullptr, expand_pair = nullptr;

  private:
    struct Operation {
        DecodeFn decode = nullptr;
        OpcodeFacts facts;
    };
    std::unordered_map<std::string, Operation> table_;
};

const OperationTable&
operation_table();  // chosen once, by CPU features (SOFTCUDA_SIMD, one of simd_levels(), overrides)
std::vector<std::string_view> simd_levels();  // that this build and this CPU have
const char* simd_level();                     // "avx512"

// Where an address operand points: [%rd1+8], [symbol+4], [64].
struct Address {
    enum class Kind : uint8_t {
        row,           // base row (4 or 8 bytes an element) + offset
        kernel_param,  // parameter buffer + offset (+ base row, if base.element_bytes)
        slot,          // a parameter of a call or of a device function: `slot` + offset
    } kind = Kind::row;
    Row base;
    uint64_t offset = 0;
    Slot slot;
};

// One instruction being decoded.  After the decode function returns, every modifier must have been taken: what nobody
// looked at is reported as unsupported, so that an unknown variant can never run as the plain one.
class Decoder {
  public:
    virtual ~Decoder() = default;
    explicit Decoder(const ptx::Instruction& instruction) : in(instruction) {}
    const ptx::Instruction& in;

    // --- modifiers
    bool take(std::string_view modifier);  // true, and marks it, if present and not yet taken
    // index of the one present among the choices, or `otherwise` (-1) if none is
    int take_one(std::initializer_list<std::string_view> choices, int otherwise = -1);
    ptx::Type take_type();  // the next untaken modifier that is a type name; Type::none if there is none
    bool all_taken() const;

    // --- operands
    size_t count() const { return in.operands.size(); }
    const ptx::Operand& operand(size_t i) {
        if (i >= in.operands.size()) unsupported("too few operands");
        return in.operands[i];
    }
    // A row holding operand i as a value of `type`: a register of that width, an immediate (f32 immediates for f64
    // types and the like are converted as PTX says), a special register, a symbol's address.
    // With `any_width`, a wider register is accepted too (ld, st, cvt): look at Row::element_bytes.
    virtual Row source(size_t i, ptx::Type type, bool any_width = false) = 0;
    virtual Row source(const ptx::Operand& operand, ptx::Type type, bool any_width = false) = 0;
    virtual Row destination(size_t i, ptx::Type type, bool any_width = false) = 0;  // `_` gives a scratch row
    virtual Row destination(const ptx::Operand& operand, ptx::Type type, bool any_width = false) = 0;
    virtual bool is_predicate(const ptx::Operand& operand) const = 0;  // a register of type .pred
    virtual Row predicate_source(size_t i) = 0;                     // a predicate row; negation (!%p) is materialised
    virtual Row constant(uint64_t bits, int element_bytes) = 0;     // a row with these bits in every lane
    virtual Row scratch(int element_bytes) = 0;                     // a row of this instruction's own
    virtual Address address(size_t i, std::string_view space) = 0;  // space: "global", "shared" … or "" for generic
    virtual Row carry_flag() = 0;  // predicate row of CC.CF (add.cc, addc, mad.hi.cc …)

    // --- results
    // Appends an Op with this exec; predicate, line and the rest are filled in.  Set rows on what is returned before the next emit.
    virtual Op& emit(Exec exec) = 0;
    // Within a run of code that lanes only enter at its top: the op remembered for this base row, if nothing since may
    // have written to the row, or null; and a row that is this run's until its end.
    virtual Op* earlier(Row base) = 0;
    virtual void remember(Row base, const Op& op) = 0;
    virtual Row run_row(size_t bytes) = 0;
    // The stride of the address in operand i, if it is affine (affine.h); and what may then run in place of the op emitted
    // last, with an AffineAccess.
    virtual std::optional<int64_t> stride(size_t i) const = 0;
    virtual void set_affine_exec(Exec exec) = 0;
    // Keeps immutable data alive as long as the Program and returns a pointer for Op::extra.
    virtual const void* keep(std::shared_ptr<const void> data) = 0;
    virtual int sm() const = 0;                     // 90 for target sm_90
    virtual const std::string& target() const = 0;  // "sm_90a"
    [[noreturn]] virtual void unsupported(
        const std::string& why = "") = 0;  // throws LoadError: instruction, source line, PTX line

  private:
    uint64_t taken_ = 0;
};

void register_control(OperationTable& table);  // decode.cpp

// The families.  Each is defined once per SIMD level.
#define SOFTCUDA_FAMILIES(level)                  \
    namespace level {                             \
    void register_integer(OperationTable& table); \
    void register_float(OperationTable& table);   \
    void register_half(OperationTable& table);    \
    void register_compare(OperationTable& table); \
    void register_convert(OperationTable& table); \
    void register_memory(OperationTable& table);  \
    void register_atomic(OperationTable& table);  \
    void register_warp(OperationTable& table);    \
    void register_matrix(OperationTable& table);  \
    }
SOFTCUDA_FAMILIES(generic)
SOFTCUDA_FAMILIES(avx2)
SOFTCUDA_FAMILIES(avx512)

}  // namespace softcuda
