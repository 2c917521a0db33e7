#include "machine/hoisting.h"

#include <algorithm>

#include "machine/effects.h"
#include "machine/specials.h"

namespace softcuda {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

namespace {

class HoistingFinder {
  public:
    explicit HoistingFinder(const ptx::Function& source) : function(source), writers_(writers_of(source)) {
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
        if (instruction.predicate != ptx::no_register || !is_pure(instruction) || instruction.operands.size() < 2)
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

Hoisting find_hoisting(const ptx::Function& function) { return HoistingFinder(function).find(); }

}  // namespace softcuda
