#include "machine/stages.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "machine/sharing.h"
#include "machine/specials.h"

namespace softcuda {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

bool pure(const Instruction& instruction) {
    static const std::unordered_set<std::string_view> opcodes = {
        "abs",   "add", "and", "bfe",      "bfi",  "bfind", "brev",  "clz", "cnot", "copysign", "cvt",
        "cvta",  "div", "fma", "led.setp", "lop3", "mad",   "mad24", "max", "min",  "mov",      "mul",
        "mul24", "neg", "not", "or",       "popc", "prmt",  "rcp",   "rem", "sad",  "selp",     "set",
        "setp",  "shf", "shl", "shr",      "slct", "sqrt",  "sub",   "xor"};
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
        of_register_.assign(function.registers.size(), Stage::block);
    }
    Stages find() {
        Stages result;
        result.kept.assign(function.registers.size(), false);
        for (const Instruction& instruction : function.body) {
            const Stage stage = stage_of(instruction);
            result.instructions.push_back(stage);
            if (stage == Stage::block) continue;
            const auto written = static_cast<size_t>(instruction.operands[0].reg);
            of_register_[written] = stage;
            result.kept[written] = result.any = true;
        }
        return result;
    }

  private:
    Stage stage_of(const Instruction& instruction) const {
        if (instruction.predicate != ptx::no_register || !pure(instruction) || instruction.operands.size() < 2)
            return Stage::block;
        const Operand& result = instruction.operands[0];
        if (result.kind != OperandKind::reg || result.reg < 0 || !result.name.empty() ||
            writers_[static_cast<size_t>(result.reg)] != 1)
            return Stage::block;
        Stage latest = Stage::launch;
        for (size_t i = 1; i < instruction.operands.size(); ++i)
            latest = std::max(latest, stage_of(instruction.operands[i], instruction.opcode == "ld"));
        return latest;
    }
    Stage stage_of(const Operand& operand, bool of_load) const {
        switch (operand.kind) {
            case OperandKind::integer:
            case OperandKind::float32:
            case OperandKind::float64: return Stage::launch;
            case OperandKind::symbol: return Stage::launch;  // where a variable is
            case OperandKind::reg:
                return operand.reg < 0 || !operand.name.empty() ? Stage::block
                                                                : of_register_[static_cast<size_t>(operand.reg)];
            case OperandKind::address: return of_load && is_parameter(function, operand) ? Stage::launch : Stage::block;
            case OperandKind::special: {
                Special special;
                if (operand.name == "WARP_SZ") return Stage::launch;
                if (!special_from_name(operand.name, special) || is_dynamic(special)) return Stage::block;
                if (special == Special::ctaid_y || special == Special::ctaid_z) return Stage::row;
                return changes_by_block(special) ? Stage::block : Stage::launch;
            }
            default: return Stage::block;
        }
    }

    const ptx::Function& function;
    std::vector<uint32_t> writers_;  // by register: instructions that may write it
    std::vector<Stage> of_register_;
};

// The clock registers count the instructions that have run: such a kernel runs them as written.
bool reads_clock(const ptx::Function& function) {
    auto is_clock = [](const Operand& operand) {
        return operand.kind == OperandKind::special && operand.name.starts_with("%clock");
    };
    return std::any_of(function.body.begin(), function.body.end(), [&](const Instruction& instruction) {
        return std::any_of(instruction.operands.begin(), instruction.operands.end(), is_clock);
    });
}

}  // namespace

Stages find_stages(const ptx::Function& function) {
    if (function.is_entry && !reads_clock(function)) return Finder(function).find();
    Stages none;
    none.instructions.assign(function.body.size(), Stage::block);
    none.kept.assign(function.registers.size(), false);
    none.allowed = false;
    return none;
}

}  // namespace softcuda
