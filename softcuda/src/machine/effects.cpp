#include "machine/effects.h"

#include <algorithm>
#include <string_view>

namespace softcuda {

using ptx::Instruction;

Effect effect_of(const Instruction& instruction) {
    const Effect effect = operation_table().facts(instruction.opcode).effect;
    if (effect == Effect::pure && instruction.has("cc")) return Effect::writes_first;  // and the carry
    if (instruction.opcode == "ld" && !instruction.modifiers.empty() && instruction.modifiers[0] == "param")
        return Effect::pure;
    const bool barrier = instruction.opcode == "bar" || instruction.opcode == "barrier";
    return barrier && instruction.has("red") ? Effect::unknown : effect;
}

std::vector<int32_t> may_write(const Instruction& instruction) {
    std::vector<int32_t> registers;
    const Effect effect = effect_of(instruction);
    if (effect == Effect::none) return registers;
    const size_t count = effect == Effect::unknown ? instruction.operands.size() : 1;
    for (size_t i = 0; i < std::min(count, instruction.operands.size()); ++i)
        ptx::mentioned(instruction.operands[i], registers);
    return registers;
}

RegistersUsed registers_used(const Instruction& instruction) {
    using ptx::OperandKind;
    RegistersUsed used;
    const bool product = instruction.opcode == "wgmma";
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
        const ptx::Operand& operand = instruction.operands[i];
        const bool registers = operand.kind == OperandKind::reg || operand.kind == OperandKind::reg_pair ||
                               operand.kind == OperandKind::vector;
        const bool writes =
            i == 0 && registers && instruction.opcode != "call" && effect_of(instruction) != Effect::none;
        const bool indices = product && instruction.has("sp") && i == 3;
        if (product && i > 0 && operand.kind != OperandKind::vector && !indices) continue;
        ptx::mentioned(operand, writes ? used.written : used.read);
    }
    return used;
}

std::vector<uint32_t> writers_of(const ptx::Function& function) {
    std::vector<uint32_t> writers(function.registers.size(), 0);
    for (const Instruction& instruction : function.body)
        for (int32_t r : may_write(instruction)) ++writers[static_cast<size_t>(r)];
    return writers;
}

bool is_parameter(const ptx::Function& function, const ptx::Operand& address) {
    return address.reg < 0 && address.elements.empty() &&
           std::any_of(
               function.params.begin(), function.params.end(),
               [&](const ptx::Variable& param) { return param.name == address.name; });
}

}  // namespace softcuda
