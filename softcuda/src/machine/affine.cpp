#include "machine/affine.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "machine/effects.h"

namespace softcuda {

using ptx::Instruction;
using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

namespace {

using Stride = std::optional<int64_t>;
constexpr int64_t largest_stride = 1 << 20;                    // so that sums and products of strides are exact
constexpr std::string_view affine_comparison = "affine.setp";  // no parser makes such an opcode

Stride bounded(int64_t stride) { return std::abs(stride) <= largest_stride ? Stride(stride) : std::nullopt; }

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
}
bool is_integer(Type type, int bytes) {
    switch (type) {
        case Type::s32:
        case Type::u32:
        case Type::b32: return bytes == 4;
        case Type::s64:
        case Type::u64:
        case Type::b64: return bytes == 8;
        default: return false;
    }
}
bool is_comparison(const Instruction& in) {
    Type type;
    return in.opcode == "setp" && in.modifiers.size() == 2 && in.operands.size() == 3 &&
           is_one_of(in.modifiers[0], {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"}) &&
           ptx::type_from_name(in.modifiers[1], type) && (is_integer(type, 4) || is_integer(type, 8));
}
bool is_logic(const Instruction& in) {
    return is_one_of(in.opcode, {"and", "or", "xor", "not"}) && in.modifiers.size() == 1 && in.modifiers[0] == "pred";
}

Stride of_special(std::string_view name) {
    if (is_one_of(name, {"%tid.x", "%laneid"})) return 1;
    if (is_one_of(name, {"%tid.y", "%tid.z", "%warpid", "%ntid.x", "%ntid.y", "%ntid.z", "%ctaid.x", "%ctaid.y",
                         "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z", "WARP_SZ"}))
        return 0;
    return std::nullopt;
}

class StrideFinder {
  public:
    explicit StrideFinder(const ptx::Function& source) : function(source), writers_(writers_of(source)) {
        affine.stride.resize(source.registers.size());
    }
    void find() {
        for (at_ = 0; at_ < function.body.size(); ++at_) {
            const Instruction& in = function.body[at_];
            if (in.predicate != ptx::no_register || in.operands.size() < 2 || !is_pure(in)) continue;
            const Operand& result = in.operands[0];
            if (result.kind != OperandKind::reg || result.reg < 0 || !result.name.empty()) continue;
            const auto written = static_cast<size_t>(result.reg);
            if (writers_[written] == 1)
                affine.stride[written] =
                    function.registers[written].type == Type::pred ? of_predicate(in) : of_value(in);
        }
    }

    const ptx::Function& function;
    AffineValues affine;

  private:
    bool is_predicate(const Operand& operand) const {
        return operand.kind == OperandKind::reg && operand.reg >= 0 &&
               function.registers[static_cast<size_t>(operand.reg)].type == Type::pred;
    }
    int bytes_of(const Operand& operand) const {  // 0: no register
        if (operand.kind != OperandKind::reg || operand.reg < 0) return 0;
        return ptx::bytes_of(function.registers[static_cast<size_t>(operand.reg)].type);
    }
    Stride of_operand(const Operand& operand, bool of_load) const {
        switch (operand.kind) {
            case OperandKind::integer:
            case OperandKind::float32:
            case OperandKind::float64:
            case OperandKind::symbol: return 0;
            case OperandKind::special: return of_special(operand.name);
            case OperandKind::reg:
                if (operand.reg < 0 || !operand.name.empty() || operand.negated) return std::nullopt;
                return affine.stride[static_cast<size_t>(operand.reg)];
            case OperandKind::address: return of_load && is_parameter(function, operand) ? Stride(0) : std::nullopt;
            default: return std::nullopt;
        }
    }
    Stride of_predicate(const Instruction& in) const {
        if (!is_comparison(in) && !is_logic(in)) return std::nullopt;
        for (size_t i = 1; i < in.operands.size(); ++i) {
            const Operand& operand = in.operands[i];
            if (operand.kind != OperandKind::reg && operand.kind != OperandKind::integer) return std::nullopt;
            if (is_predicate(operand) != is_logic(in) || !of_operand(operand, false)) return std::nullopt;
        }
        return 0;
    }
    Stride of_value(const Instruction& in) {
        const int bytes = bytes_of(in.operands[0]);
        if (bytes != 4 && bytes != 8) return std::nullopt;
        std::vector<int64_t> strides{0};  // by operand
        for (size_t i = 1; i < in.operands.size(); ++i) {
            const Stride stride = of_operand(in.operands[i], in.opcode == "ld");
            if (!stride || is_predicate(in.operands[i])) return std::nullopt;
            strides.push_back(*stride);
        }
        if (std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 0; })) return 0;
        return sum_or_product(in, strides, bytes);
    }
    Stride sum_or_product(const Instruction& in, const std::vector<int64_t>& strides, int bytes) {
        const auto& modifiers = in.modifiers;
        Type types[2] = {Type::none, Type::none};
        for (size_t i = 0; i < std::min<size_t>(2, modifiers.size()); ++i) ptx::type_from_name(modifiers[i], types[i]);
        const bool plain = modifiers.size() == 1 && is_integer(types[0], bytes);
        const bool low = modifiers.size() == 2 && modifiers[0] == "lo" && is_integer(types[1], bytes);
        const bool wide = modifiers.size() == 2 && modifiers[0] == "wide" && is_integer(types[1], 4) && bytes == 8;
        if (plain && in.opcode == "mov") return strides[1];
        if (plain && in.opcode == "add") return bounded(strides[1] + strides[2]);
        if (plain && in.opcode == "sub") return bounded(strides[1] - strides[2]);
        if (plain && in.opcode == "neg") return -strides[1];
        if (plain && in.opcode == "shl" && in.operands[2].kind == OperandKind::integer && in.operands[2].bits < 20)
            return bounded(strides[1] * (int64_t(1) << in.operands[2].bits));
        if (in.opcode == "cvta" && (modifiers == std::vector<std::string>{"to", "global", "u64"} ||
                                    modifiers == std::vector<std::string>{"global", "u64"}))
            return strides[1];
        // Other instructions' registers have the width of their type.
        if (in.opcode == "cvt" && modifiers.size() == 2 && is_integer(types[0], bytes) &&
            is_integer(types[1], bytes_of(in.operands[1]))) {
            if (is_integer(types[0], 4) && (is_integer(types[1], 4) || is_integer(types[1], 8))) return strides[1];
            if (is_integer(types[0], 8) && is_integer(types[1], 4)) return widened(in, 1, strides[1], types[1]);
        }
        if ((low || wide) && (in.opcode == "mul" || in.opcode == "mad")) {
            Stride product = 0;
            for (size_t i : {size_t(1), size_t(2)}) {
                if (strides[i] == 0) continue;
                const Operand& factor = in.operands[3 - i];
                const auto by = static_cast<int64_t>(factor.bits);
                if (factor.kind != OperandKind::integer || std::abs(by) > largest_stride ||
                    (types[1] == Type::u32 && by < 0))
                    return std::nullopt;
                product = bounded(strides[i] * by);
                if (wide && product) product = widened(in, i, strides[i], types[1]) ? product : std::nullopt;
            }
            if (!product || in.opcode == "mul") return product;
            return bounded(*product + strides[3]);
        }
        return std::nullopt;
    }
    Stride widened(const Instruction& in, size_t operand, int64_t stride, Type from) {
        if (stride && in.operands[operand].kind != OperandKind::reg) return std::nullopt;  // %tid.x itself
        if (stride) affine.checks.push_back({at_, in.operands[operand].reg, stride, from == Type::s32});
        return stride;
    }

    std::vector<uint32_t> writers_;
    size_t at_ = 0;  // the instruction that is looked at
};

}  // namespace

AffineValues find_affine_values(const ptx::Function& function) {
    StrideFinder finder(function);
    finder.find();
    return std::move(finder.affine);
}

ptx::Function base_source(const ptx::Function& kernel, const AffineValues& affine, const std::vector<bool>& wanted) {
    ptx::Function bases = kernel;
    bases.body.clear();
    bases.labels.clear();
    bases.branch_targets.clear();
    std::erase_if(bases.variables, [](const ptx::Variable& variable) { return variable.space == "param"; });
    for (ptx::Register& reg : bases.registers)
        if (reg.type == Type::pred) reg.type = Type::b32;
    for (const Instruction& in : kernel.body) {
        if (in.operands.empty() || in.operands[0].kind != OperandKind::reg || in.operands[0].reg < 0) continue;
        const auto written = static_cast<size_t>(in.operands[0].reg);
        if (!wanted[written] || !is_pure(in)) continue;
        Instruction& own = bases.body.emplace_back(in);
        if (is_logic(in)) own.modifiers = {"b32"};
        if (!is_comparison(in)) continue;
        own.opcode = affine_comparison;
        for (size_t i : {size_t(1), size_t(2)}) {
            Operand stride;
            stride.kind = OperandKind::integer;
            const bool is_register = in.operands[i].kind == OperandKind::reg;
            if (is_register)
                stride.bits = static_cast<uint64_t>(*affine.stride[static_cast<size_t>(in.operands[i].reg)]);
            own.operands.push_back(stride);
        }
    }
    return bases;
}

}  // namespace softcuda
