#include "machine/hoisting.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "machine/register_allocation.h"
#include "machine/specials.h"

namespace softcuda {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

bool pure(const Instruction& instruction) {
    static const std::unordered_set<std::string_view> opcodes = {
        "abs",   "add", "and", "bfe",         "bfi",  "bfind", "brev",  "clz", "cnot", "copysign", "cvt",
        "cvta",  "div", "fma", "affine.setp", "lop3", "mad",   "mad24", "max", "min",  "mov",      "mul",
        "mul24", "neg", "not", "or",          "popc", "prmt",  "rcp",   "rem", "sad",  "selp",     "set",
        "setp",  "shf", "shl", "shr",         "slct", "sqrt",  "sub",   "xor"};
    if (instruction.opcode == "ld") return !instruction.modifiers.empty() && instruction.modifiers[0] == "param";
    return opcodes.contains(instruction.opcode) &&
           std::find(instruction.modifiers.begin(), instruction.modifiers.end(), "cc") == instruction.modifiers.end();
}

std::vector<uint32_t> writers_of(const ptx::Function& function) {
    std::vector<uint32_t> writers(function.registers.size(), 0);
    for (const Instruction& instruction : function.body)
        for (int32_t r : may_write(instruction)) ++writers[static_cast<size_t>(r)];
    return writers;
}

bool is_parameter(const ptx::Function& function, const Operand& address) {
    return address.reg < 0 && address.elements.empty() &&
           std::any_of(
               function.params.begin(), function.params.end(),
               [&](const ptx::Variable& param) { return param.name == address.name; });
}

namespace {

class Finder {
  public:
    explicit Finder(const ptx::Function& source) : function(source), writers_(writers_of(source)) {
        of_register_.assign(function.registers.size(), Frequency::block);
    }
    Hoisting find() {
        Hoisting result(function);
        for (size_t i = 0; i < function.body.size(); ++i) {
            const Instruction& instruction = function.body[i];
            const Frequency frequency = frequency_of(instruction);
            result.instructions[i] = frequency;
            if (frequency == Frequency::block) continue;
            const auto written = static_cast<size_t>(instruction.operands[0].reg);
            of_register_[written] = frequency;
            result.kept[written] = result.any = true;
        }
        return result;
    }

  private:
    Frequency frequency_of(const Instruction& instruction) const {
        if (instruction.predicate != ptx::no_register || !pure(instruction) || instruction.operands.size() < 2)
            return Frequency::block;
        const Operand& result = instruction.operands[0];
        if (result.kind != OperandKind::reg || result.reg < 0 || !result.name.empty() ||
            writers_[static_cast<size_t>(result.reg)] != 1)
            return Frequency::block;
        Frequency latest = Frequency::launch;
        for (size_t i = 1; i < instruction.operands.size(); ++i)
            latest = std::max(latest, frequency_of(instruction.operands[i], instruction.opcode == "ld"));
        return latest;
    }
    Frequency frequency_of(const Operand& operand, bool of_load) const {
        switch (operand.kind) {
            case OperandKind::integer:
            case OperandKind::float32:
            case OperandKind::float64: return Frequency::launch;
            case OperandKind::symbol: return Frequency::launch;  // where a variable is
            case OperandKind::reg:
                return operand.reg < 0 || !operand.name.empty() ? Frequency::block
                                                                : of_register_[static_cast<size_t>(operand.reg)];
            case OperandKind::address:
                return of_load && is_parameter(function, operand) ? Frequency::launch : Frequency::block;
            case OperandKind::special: {
                Special special;
                if (operand.name == "WARP_SZ") return Frequency::launch;
                if (!special_from_name(operand.name, special) || is_dynamic(special)) return Frequency::block;
                if (special == Special::ctaid_y || special == Special::ctaid_z) return Frequency::row;
                return changes_by_block(special) ? Frequency::block : Frequency::launch;
            }
            default: return Frequency::block;
        }
    }

    const ptx::Function& function;
    std::vector<uint32_t> writers_;  // by register: instructions that may write it
    std::vector<Frequency> of_register_;
};

}  // namespace

Hoisting::Hoisting(const ptx::Function& function)
    : instructions(function.body.size(), Frequency::block), kept(function.registers.size(), false) {}

Hoisting find_hoisting(const ptx::Function& function) { return Finder(function).find(); }

}  // namespace softcuda
