// What instructions do to registers: what their opcodes say (decode.h), and what their modifiers change of it.
#pragma once

#include <cstdint>
#include <vector>

#include "machine/decode.h"
#include "ptx/ast.h"

namespace softcuda {

Effect effect_of(const ptx::Instruction& instruction);
inline bool is_pure(const ptx::Instruction& instruction) { return effect_of(instruction) == Effect::pure; }

// The registers that an instruction may write, and perhaps more.
std::vector<int32_t> may_write(const ptx::Instruction& instruction);
// By register: instructions that may write it.
std::vector<uint32_t> writers_of(const ptx::Function& function);
// The registers that it reads or, as its result, writes; of wgmma.mma_async those that its product holds.
struct RegistersUsed {
    std::vector<int32_t> read, written;
};
RegistersUsed registers_used(const ptx::Instruction& instruction);
// [name] of a parameter of the function.
bool is_parameter(const ptx::Function& function, const ptx::Operand& address);

}  // namespace softcuda
