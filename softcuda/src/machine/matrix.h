// Small matrices whose elements are spread over the registers of a warp: what mma and wmma are decoded into.
//
// A tile is one product D = A * B + C of 16 (or 8) rows and 8 columns.  With g = lane / 4 and t = lane % 4, E elements in a
// register and h = rows / 8, its fragments are those that PTX draws for mma:
//   A  register r: row g + 8 * (r % h), columns E * t + 4 * E * (r / h) ...
//   B  register r: rows E * t + 4 * E * r ..., column g
//   C, D  element i: row g + 8 * (i / 2), column 2 * t + i % 2
// The fragments of wmma, which PTX leaves open, are on hardware such tiles one behind the other.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "machine/operations.h"

namespace softcuda::SOFTCUDA_LEVEL {

enum class Element : uint8_t { f16, bf16, tf32, f64, e4m3, e5m2, s8, u8, s4, u4, b1, none };

inline Element element_named(const std::string& name) {
    constexpr const char* names[] = {"f16", "bf16", "tf32", "f64", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "b1"};
    for (size_t i = 0; i < std::size(names); ++i)
        if (name == names[i]) return Element(i);
    return Element::none;
}
inline int element_bits(Element e) {
    constexpr int bits[] = {16, 16, 32, 64, 8, 8, 8, 8, 4, 4, 1, 0};
    return bits[int(e)];
}
inline int elements_in_register(Element e) { return e == Element::f64 ? 1 : 32 / element_bits(e); }
inline bool is_integer(Element e) { return e >= Element::s8 && e <= Element::u4; }
inline bool is_float8(Element e) { return e == Element::e4m3 || e == Element::e5m2; }
// May a and b be multiplied with one another?
inline bool same_kind(Element a, Element b) {
    return a == b || (is_float8(a) && is_float8(b)) ||
           (is_integer(a) && is_integer(b) && element_bits(a) == element_bits(b));
}

// Which columns of A are not zero (mma.sp), given by a register of indices.
enum class Sparsity : uint8_t {
    none,
    one_of_two,   // tf32
    two_of_four,  // 16- and 8-bit elements
    pairs,        // 4-bit elements, in twos
};

struct Tile {
    int rows = 16, k = 0;  // k: columns of A as it is stored
    Element a_type = Element::f16, b_type = Element::f16;
    bool half_result = false, half_addend = false;  // D and C are f16
    bool saturate = false;                          // integers: clamp
    bool exclusive = false;                         // bits: xor instead of and
    int rounding = 0;                               // f64: index of Rounding
    Sparsity sparsity = Sparsity::none;
    uint32_t indices = 0, selector = 0;          // row of the sparse A's indices, and which lanes' are meant
    std::array<uint32_t, 8> a{}, b{}, c{}, d{};  // rows of the registers

    bool by_fours = false;  // the sum runs over four columns of A, then over the next four

    int step() const { return by_fours ? 4 : k; }
    int a_registers() const { return rows / 8 * k / (4 * elements_in_register(a_type)); }
    int b_registers() const { return (sparsity == Sparsity::none ? 1 : 2) * k / (4 * elements_in_register(b_type)); }
    int results() const { return rows / 8 * (half_result ? 1 : 2); }  // registers of D
    int addends() const { return rows / 8 * (half_addend ? 1 : 2); }  // … and of C
};

void register_wmma(OperationTable& table);   // lanes_wmma.cpp and
void register_wgmma(OperationTable& table);  // lanes_wgmma.cpp, parts of this family

// The elements in so many words, the lowest first, as numbers.
void widen(Element type, const void* from, int words, float* out);

// Appends the Op that computes all tiles; results are written when all are known.
void emit_tiles(Decoder& decoder, std::vector<Tile> tiles);

// The types among the modifiers, in the order written: those of D, A, B and C.
inline std::vector<std::string> take_types(Decoder& decoder) {
    std::vector<std::string> types;
    for (const std::string& name : decoder.in.modifiers)
        if (element_named(name) != Element::none || name == "f32" || name == "s32") types.push_back(name);
    for (const std::string& name : types) decoder.take(name);
    return types;
}
struct Layouts {
    bool a_by_row, b_by_row;
};
inline Layouts take_layouts(Decoder& decoder) {
    std::vector<bool> by_row;
    for (const std::string& name : decoder.in.modifiers)
        if (name == "row" || name == "col") by_row.push_back(name == "row");
    if (by_row.size() != 2) refuse(decoder, "two layouts are due");
    for (bool row : by_row) decoder.take(row ? "row" : "col");
    return {by_row[0], by_row[1]};
}

// The rows of a vector operand's registers, which must be `count`.
inline void take_rows(Decoder& decoder, size_t operand, bool result, Type type, size_t count, uint32_t* rows) {
    const ptx::Operand& list = decoder.operand(operand);
    const bool single = list.kind != ptx::OperandKind::vector;
    if ((single ? 1 : list.elements.size()) != count) refuse(decoder, "wrong number of registers");
    for (size_t i = 0; i < count; ++i) {
        const ptx::Operand& one = single ? list : list.elements[i];
        rows[i] = result ? decoder.destination(one, type).offset : decoder.source(one, type).offset;
    }
}

}  // namespace softcuda::SOFTCUDA_LEVEL
