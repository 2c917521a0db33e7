// The optimised streams of a kernel, made from the plain one: fused dot products, hoisted instructions, affine values.
#include <algorithm>
#include <memory>

#include "machine/effects.h"
#include "machine/function_builder.h"
#include "machine/fused_dot.h"
#include "machine/optimisations.h"

namespace softcuda {

using ptx::Operand;
using ptx::OperandKind;

// `first_op`: of each instruction, in the plain stream.
void FunctionBuilder::optimise(const std::vector<uint32_t>& first_op) {
    if (as_written_) return;
    function.lockstep_safe = optimisations().lockstep;
    std::unordered_map<size_t, Op> dots;  // by first instruction
    std::vector<bool> in_fused_dot(source.body.size(), false);
    for (const FusedDotPlace& place : optimisations().dots ? find_fused_dots(source) : std::vector<FusedDotPlace>()) {
        auto dot = std::make_shared<FusedDot>();
        Op op;
        const size_t end = place.first + 3 * place.steps;
        if (first_op[end] - first_op[place.first] != 3 * place.steps ||
            !make_fused_dot(operation_table().fused_dot, &function.code[first_op[place.first]], place.steps, op, *dot))
            continue;
        program.kept.push_back(std::move(dot));
        dots[place.first] = op;
        Op& first = function.code[first_op[place.first]];
        if (first.report == Report::access) {
            first.report = Report::fused_dot;
            first.target = static_cast<uint32_t>(function.fused_dots.size());
            function.fused_dots.push_back({op, &first, static_cast<uint32_t>(place.steps)});
        }
        for (size_t i = place.first; i < end; ++i) in_fused_dot[i] = true;
    }
    if (hoisting_.any || !dots.empty())
        function.optimised = arrange(first_op, [&](size_t i) -> Ops {
            if (auto dot = dots.find(i); dot != dots.end()) return {dot->second};
            if (in_fused_dot[i]) return {};
            return {function.code.begin() + first_op[i], function.code.begin() + first_op[i + 1]};
        });
    split_affine(first_op, in_fused_dot, dots);
}

// The ops of `ops_of(instruction)` for all instructions, those that run least often first.  A jump to an instruction that
// was moved or has none goes to the next.
FunctionBuilder::Ops FunctionBuilder::arrange(const std::vector<uint32_t>& first_op,
                                              const std::function<Ops(size_t)>& ops_of) {
    constexpr uint32_t nowhere = ~0u;
    const size_t count = source.body.size();
    Ops all;
    std::vector<uint32_t> target(count + 1, nowhere);  // of a jump to each instruction
    uint32_t begin[3];
    for (Frequency frequency : {Frequency::launch, Frequency::row, Frequency::block}) {
        begin[static_cast<size_t>(frequency)] = static_cast<uint32_t>(all.size());
        for (size_t i = 0; i < count; ++i) {
            if (hoisting_.instructions[i] != frequency) continue;
            const Ops ops = ops_of(i);
            if (frequency == Frequency::block && !ops.empty()) target[i] = static_cast<uint32_t>(all.size());
            all.insert(all.end(), ops.begin(), ops.end());
        }
    }
    function.row_begin = begin[1], function.block_begin = begin[2];
    target[count] = static_cast<uint32_t>(all.size());
    all.push_back(function.code.back());
    for (size_t i = count; i-- > 0;)
        if (target[i] == nowhere) target[i] = target[i + 1];
    auto to_target = [&](uint32_t op) {  // jumps go to the first op of an instruction
        return target[static_cast<size_t>(std::lower_bound(first_op.begin(), first_op.end(), op) - first_op.begin())];
    };
    for (Op& op : all) {
        if (op.flow == Flow::branch) op.target = to_target(op.target);
        if (op.flow != Flow::branch_table) continue;
        auto targets = *static_cast<const std::vector<uint32_t>*>(op.extra);
        for (uint32_t& one : targets) one = to_target(one);
        program.kept.push_back(std::make_shared<std::vector<uint32_t>>(std::move(targets)));
        op.extra = program.kept.back().get();
    }
    return all;
}

// Whether it goes to the block's bases where there are such.
bool FunctionBuilder::moves_to_bases(size_t instruction) const {
    const ptx::Instruction& in = source.body[instruction];
    return hoisting_.instructions[instruction] == Frequency::block && !in.operands.empty() && is_pure(in) &&
           in.operands[0].kind == OperandKind::reg && is_affine(in.operands[0].reg);
}

// Function::affine and Function::bases, if any load or store may take its address from the bases.
void FunctionBuilder::split_affine(const std::vector<uint32_t>& first_op, const std::vector<bool>& in_fused_dot,
                                   const std::unordered_map<size_t, Op>& fused_dots) {
    // What computes affine values goes to the bases; what is left takes them as addresses, or has them expanded.
    std::vector<bool> wanted(source.registers.size(), false), expanded(wanted), moved(source.body.size(), false);
    std::vector<const Exec*> access(source.body.size(), nullptr);
    bool any = false;
    for (size_t i = 0; i < source.body.size(); ++i) {
        const ptx::Instruction& in = source.body[i];
        moved[i] = moves_to_bases(i);
        if (moved[i] || hoisting_.instructions[i] != Frequency::block) continue;
        auto found = in_fused_dot[i] ? affine_execs.end() : affine_execs.find(first_op[i]);
        std::vector<int32_t> read;
        if (in.predicate >= 0) read.push_back(in.predicate);
        for (const Operand& operand : in.operands)
            if (found == affine_execs.end() || operand.kind != OperandKind::address) ptx::mentioned(operand, read);
        for (int32_t reg : read)
            if (is_affine(reg)) expanded[static_cast<size_t>(reg)] = true;
        if (found == affine_execs.end()) continue;
        any = true;
        access[i] = &found->second;
        for (const Operand& operand : in.operands)
            if (operand.kind == OperandKind::address) wanted[static_cast<size_t>(operand.reg)] = true;
    }
    if (!any) return;
    for (size_t i = source.body.size(); i-- > 0;) {
        const ptx::Instruction& in = source.body[i];
        if (in.operands.empty() || in.operands[0].kind != OperandKind::reg || !is_affine(in.operands[0].reg)) continue;
        const auto written = static_cast<size_t>(in.operands[0].reg);
        if (moved[i] && expanded[written]) wanted[written] = true;
        if (!is_pure(in) || !wanted[written]) continue;
        std::vector<int32_t> read;
        for (size_t k = 1; k < in.operands.size(); ++k) ptx::mentioned(in.operands[k], read);
        for (int32_t reg : read) wanted[static_cast<size_t>(reg)] = true;
    }
    auto made = std::make_shared<BaseCode>();
    const ptx::Function own = base_source(source, affine, wanted);
    made->function.name = function.name;
    made->function.is_entry = true;
    FunctionBuilder builder(layout, module, own, program, made->function, true);
    builder.build();
    for (const NoWrap& check : affine.checks) {
        if (!wanted[static_cast<size_t>(source.body[check.instruction].operands[0].reg)]) continue;
        const auto grows = static_cast<int32_t>(check.stride * (warp_size - 1));
        made->checks.push_back({builder.register_row(check.value).offset, check.is_signed ? 0 : 1u << 31,
                                INT32_MIN + std::max(0, -grows), INT32_MAX - std::max(0, grows)});
    }
    const OperationTable& table = operation_table();
    auto expand_of = [&](Row row) {
        return row.element_bytes == 0   ? table.expand_mask
               : row.element_bytes == 4 ? table.expand_word
                                        : table.expand_pair;
    };
    function.affine = arrange(first_op, [&](size_t i) -> Ops {
        if (auto dot = fused_dots.find(i); dot != fused_dots.end()) return {dot->second};
        if (in_fused_dot[i]) return {};
        if (moved[i]) {
            const int32_t reg = source.body[i].operands[0].reg;
            if (!expanded[static_cast<size_t>(reg)]) return {};
            const Row row = register_row(reg);
            Op op;
            op.exec = expand_of(row);
            op.line = function.code[first_op[i]].line;
            op.dst = row.offset;
            op.a = builder.register_row(reg).offset;
            op.imm = static_cast<uint64_t>(*affine.stride[static_cast<size_t>(reg)]);
            return {op};
        }
        if (!access[i]) return {function.code.begin() + first_op[i], function.code.begin() + first_op[i + 1]};
        Op op = function.code[first_op[i]];
        const auto address = std::find_if(source.body[i].operands.begin(), source.body[i].operands.end(),
                                          [](const Operand& o) { return o.kind == OperandKind::address; });
        const Row base{op.a, op.small[1]};
        auto extra = std::make_shared<AffineAccess>(AffineAccess{&function.code[first_op[i]], expand_of(base),
                                                                 *affine.stride[static_cast<size_t>(address->reg)]});
        program.kept.push_back(extra);
        op.exec = *access[i];
        op.c = builder.register_row(address->reg).offset;
        op.extra = extra.get();
        return {op};
    });
    function.bases = std::move(made);
}

}  // namespace softcuda
