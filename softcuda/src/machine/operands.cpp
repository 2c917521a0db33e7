#include "machine/operands.h"

#include <algorithm>

#include "machine/effects.h"

namespace softcuda {

using ptx::Operand;
using ptx::OperandKind;
using ptx::Type;

namespace {

bool means_something(Type type) { return type != Type::none && (type < Type::b8 || type > Type::b128); }

// The first and the last type that an instruction names: of its result, and of what it works on.
struct Types {
    Type result = Type::none, source = Type::none;
};
Types types_of(const ptx::Instruction& i) {
    Types types;
    for (const std::string& modifier : i.modifiers) {
        Type type;
        if (!ptx::type_from_name(modifier, type)) continue;
        if (types.result == Type::none) types.result = type;
        types.source = type;
    }
    if (i.opcode == "mma" || i.opcode == "wmma") types.source = Type::none;  // named apart for each matrix
    return types;
}

bool writes_first(const ptx::Instruction& i) {
    if (i.operands.empty() || i.opcode == "call" || effect_of(i) == Effect::none) return false;
    const OperandKind kind = i.operands[0].kind;
    return kind == OperandKind::reg || kind == OperandKind::reg_pair || kind == OperandKind::vector;
}

// What the bits of each register mean, by its uses.
class Meanings {
  public:
    explicit Meanings(const ptx::Function& function) : function_(function), meaning_(function.registers.size()) {
        for (const ptx::Instruction& i : function.body) {
            const Types types = types_of(i);
            for (size_t k = 0; k < i.operands.size(); ++k)
                use(i.operands[k], k == 0 && writes_first(i) ? types.result : types.source);
        }
        for (bool more = true; more;) {
            more = false;
            for (const ptx::Instruction& i : function.body)
                if (operation_table().facts(i.opcode).moves) more = spread(i) || more;
        }
    }
    Type of(int32_t reg, Type named) const {
        const Type declared = function_.registers[static_cast<size_t>(reg)].type;
        if (declared == Type::pred) return declared;
        Type type = means_something(named) ? named : meaning_[static_cast<size_t>(reg)];
        if (!means_something(type)) type = declared;
        return widened(type, std::max(2, ptx::bytes_of(declared)));
    }

  private:
    // A register may be wider than what is in it: ld.u8 into 32 bits, mul.wide.
    static Type widened(Type type, int bytes) {
        if (ptx::bytes_of(type) == bytes) return type;
        const int step = bytes == 2 ? 0 : bytes == 4 ? 1 : 2;
        if (type >= Type::s8 && type <= Type::s64) return static_cast<Type>(static_cast<int>(Type::s16) + step);
        if (type >= Type::u8 && type <= Type::u64) return static_cast<Type>(static_cast<int>(Type::u16) + step);
        return static_cast<Type>(static_cast<int>(Type::b16) + (bytes == 16 ? 3 : step));
    }
    void use(const Operand& operand, Type type) {
        if (operand.kind == OperandKind::address || !means_something(type)) return;
        for (const Operand& element : operand.elements) use(element, type);
        if (operand.reg < 0) return;
        Type& known = meaning_[static_cast<size_t>(operand.reg)];
        const Type declared = function_.registers[static_cast<size_t>(operand.reg)].type;
        if (!means_something(known) && ptx::bytes_of(declared) == ptx::bytes_of(type)) known = type;
    }
    bool spread(const ptx::Instruction& i) {
        Type known = Type::none;
        for (int pass = 0; pass < 2; ++pass)
            for (size_t k = 0; k < std::min<size_t>(i.operands.size(), i.opcode == "shfl" ? 2 : 3); ++k) {
                const Operand& operand = i.operands[k];
                if (operand.kind != OperandKind::reg && operand.kind != OperandKind::reg_pair) continue;
                if (operand.reg < 0 || function_.registers[static_cast<size_t>(operand.reg)].type == Type::pred)
                    continue;
                Type& meaning = meaning_[static_cast<size_t>(operand.reg)];
                if (means_something(meaning)) {
                    if (!means_something(known)) known = meaning;
                } else if (pass == 1 && means_something(known)) {
                    meaning = known;
                    return true;
                }
            }
        return false;
    }
    const ptx::Function& function_;
    std::vector<Type> meaning_;
};

void add(const Operand& operand, Type type, const Meanings& meanings, const ptx::Function& function,
         std::vector<Value>& out) {
    for (const Operand& element : operand.elements) add(element, type, meanings, function, out);
    switch (operand.kind) {
        case OperandKind::reg:
        case OperandKind::reg_pair:
            for (int32_t reg : {operand.reg, operand.reg2})
                if (reg >= 0)
                    out.push_back(
                        {function.registers[static_cast<size_t>(reg)].name, meanings.of(reg, type), reg, {}, 0});
            break;
        case OperandKind::integer:
        case OperandKind::float32:
        case OperandKind::float64: out.push_back({"", type, ptx::no_register, {}, operand.bits}); break;
        default: break;
    }
}

}  // namespace

std::vector<Operands> operands_of(const ptx::Function& function) {
    const Meanings meanings(function);
    std::vector<Operands> all(function.body.size());
    for (size_t at = 0; at < all.size(); ++at) {
        const ptx::Instruction& i = function.body[at];
        const Types types = types_of(i);
        if (writes_first(i)) add(i.operands[0], types.result, meanings, function, all[at].written);
        if (i.opcode != "st" && i.opcode != "red" && i.opcode != "atom") continue;
        for (size_t k = i.opcode == "atom" ? 2 : 1; k < i.operands.size(); ++k)
            add(i.operands[k], types.source, meanings, function, all[at].given);
    }
    return all;
}

}  // namespace softcuda
