// Constant expressions: `42`, `-0x10`, `(1 << 3) + 2`, `0f3F800000`, `-1.5`.
#pragma once

#include <cstdint>

#include "lexer.h"

namespace softcuda::ptx {

struct Constant {
    enum class Kind : uint8_t { integer, float32, float64 } kind = Kind::integer;
    uint64_t bits = 0;         // two's complement, or the float's bits
    bool is_unsigned = false;  // of an integer: how `/ % >> <` read it
};

bool starts_constant(const Token& token);

// Read one expression at the lexer's place.  PTX evaluates integers in 64 bits; floats are literals only.
Constant parse_constant(Lexer& lexer);
int64_t parse_integer(Lexer& lexer, const char* what);  // anything but an integer is an error: "... expected WHAT"
uint64_t parse_count(Lexer& lexer, const char* what, uint64_t limit);  // 0 <= value <= limit
uint64_t parse_range_count(Lexer& lexer, uint64_t limit);  // the 4 of `x<4>`: a literal, since `>` closes it; >= 1

}  // namespace softcuda::ptx
