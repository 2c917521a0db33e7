#include "ast.h"

#include <algorithm>
#include <unordered_map>

namespace softcuda::ptx {

int bytes_of(Type type) {
    switch (type) {
        case Type::b8:
        case Type::u8:
        case Type::s8: return 1;
        case Type::b16:
        case Type::u16:
        case Type::s16:
        case Type::f16:
        case Type::bf16: return 2;
        case Type::b32:
        case Type::u32:
        case Type::s32:
        case Type::f32:
        case Type::f16x2:
        case Type::bf16x2: return 4;
        case Type::b64:
        case Type::u64:
        case Type::s64:
        case Type::f64: return 8;
        case Type::b128: return 16;
        case Type::none:
        case Type::pred:
        case Type::texref:
        case Type::samplerref:
        case Type::surfref: return 0;
    }
    return 0;
}

bool type_from_name(std::string_view name, Type& type) {
    static const std::unordered_map<std::string_view, Type> types = {
        {"pred", Type::pred},       {"b8", Type::b8},
        {"b16", Type::b16},         {"b32", Type::b32},
        {"b64", Type::b64},         {"b128", Type::b128},
        {"u8", Type::u8},           {"u16", Type::u16},
        {"u32", Type::u32},         {"u64", Type::u64},
        {"s8", Type::s8},           {"s16", Type::s16},
        {"s32", Type::s32},         {"s64", Type::s64},
        {"f16", Type::f16},         {"f16x2", Type::f16x2},
        {"bf16", Type::bf16},       {"bf16x2", Type::bf16x2},
        {"f32", Type::f32},         {"f64", Type::f64},
        {"texref", Type::texref},   {"samplerref", Type::samplerref},
        {"surfref", Type::surfref},
    };
    auto found = types.find(name);
    if (found == types.end()) return false;
    type = found->second;
    return true;
}

void mentioned(const Operand& operand, std::vector<int32_t>& registers) {
    if (operand.reg >= 0) registers.push_back(operand.reg);
    if (operand.reg2 >= 0) registers.push_back(operand.reg2);
    for (const Operand& element : operand.elements) mentioned(element, registers);
}

bool Instruction::has(std::string_view modifier) const {
    return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string Instruction::text() const {
    std::string text = opcode;
    for (const std::string& modifier : modifiers) text += "." + modifier;
    return text;
}

Error::Error(uint32_t at_line, const std::string& what)
    : std::runtime_error("line " + std::to_string(at_line) + ": " + what), line(at_line) {}

}  // namespace softcuda::ptx
