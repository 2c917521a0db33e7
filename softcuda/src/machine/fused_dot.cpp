#include "machine/fused_dot.h"

#include <algorithm>

namespace softcuda {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;

namespace {

bool is_register(const Operand& operand) {
    return operand.kind == OperandKind::reg && operand.reg >= 0 && operand.name.empty();
}

bool is_load(const Instruction& i) {  // ld.shared.f32 %f1, [%r1 + 4]
    return i.opcode == "ld" && i.predicate == ptx::no_register && i.modifiers.size() == 2 &&
           i.modifiers[0] == "shared" && i.modifiers[1] == "f32" && i.operands.size() == 2 &&
           is_register(i.operands[0]) && i.operands[1].kind == OperandKind::address && i.operands[1].reg >= 0 &&
           i.operands[1].elements.empty();
}

bool is_fma(const Instruction& i) {
    return i.opcode == "fma" && i.predicate == ptx::no_register && i.modifiers.size() == 2 && i.modifiers[0] == "rn" &&
           i.modifiers[1] == "f32" && i.operands.size() == 4 &&
           std::all_of(i.operands.begin(), i.operands.end(), is_register);
}

}  // namespace

std::vector<FusedDotPlace> find_fused_dots(const ptx::Function& function) {
    std::vector<uint32_t> mentions(function.registers.size(), 0);
    for (const Instruction& instruction : function.body) {
        std::vector<int32_t> registers;
        if (instruction.predicate >= 0) registers.push_back(instruction.predicate);
        for (const Operand& operand : instruction.operands) ptx::mentioned(operand, registers);
        for (int32_t r : registers) ++mentions[static_cast<size_t>(r)];
    }
    auto passing = [&](const Operand& value) { return mentions[static_cast<size_t>(value.reg)] == 2; };
    std::vector<bool> labelled(function.body.size() + 1, false);
    for (const auto& [name, at] : function.labels) labelled[at] = true;

    const auto& body = function.body;
    auto is_step = [&](size_t at) {
        if (at + 3 > body.size() || !is_load(body[at]) || !is_load(body[at + 1]) || !is_fma(body[at + 2])) return false;
        if (labelled[at + 1] || labelled[at + 2]) return false;
        const Operand &x = body[at].operands[0], &y = body[at + 1].operands[0];
        const auto& of = body[at + 2].operands;
        const bool multiplies =
            (of[1].reg == x.reg && of[2].reg == y.reg) || (of[1].reg == y.reg && of[2].reg == x.reg);
        const bool keeps_bases = of[0].reg != body[at].operands[1].reg && of[0].reg != body[at + 1].operands[1].reg;
        return x.reg != y.reg && multiplies && keeps_bases && passing(x) && passing(y);
    };
    auto base = [&](size_t at) { return body[at].operands[1].reg; };
    std::vector<FusedDotPlace> places;
    for (size_t at = 0; at < body.size();) {
        if (!is_step(at)) {
            ++at;
            continue;
        }
        FusedDotPlace place{at, 1};
        for (size_t next = at + 3;
             is_step(next) && !labelled[next] && base(next) == base(at) && base(next + 1) == base(at + 1);
             next += 3, ++place.steps) {
            const Operand& sum = body[next - 1].operands[0];
            if (body[next + 2].operands[3].reg != sum.reg) break;
            if (body[next + 2].operands[0].reg != sum.reg && !passing(sum)) break;
        }
        at += 3 * place.steps;
        if (place.steps > 1) places.push_back(place);
    }
    return places;
}

bool make_fused_dot(Exec exec, const Op* parts, size_t steps, Op& op, FusedDot& dot) {
    if (!exec) return false;
    dot.parts = parts;
    const auto signed_offset = [](const Op& load) { return int64_t(int32_t(static_cast<uint32_t>(load.imm))); };
    for (int of : {0, 1}) {
        dot.low[of] = dot.high[of] = signed_offset(parts[of]);
        for (size_t i = 0; i < steps; ++i) {
            const Op& load = parts[3 * i + static_cast<size_t>(of)];
            if (load.small[1] != 4 || load.imm % 4 != parts[of].imm % 4) return false;  // 32-bit addresses
            dot.low[of] = std::min(dot.low[of], signed_offset(load));
            dot.high[of] = std::max(dot.high[of], signed_offset(load));
        }
    }
    for (size_t i = 0; i < steps; ++i)
        dot.steps.push_back({static_cast<uint32_t>(parts[3 * i].imm), static_cast<uint32_t>(parts[3 * i + 1].imm)});
    op = parts[3 * steps - 1];
    op.exec = exec;
    op.a = parts[0].a, op.b = parts[1].a, op.c = parts[2].c;
    op.extra = &dot;
    return true;
}

}  // namespace softcuda
