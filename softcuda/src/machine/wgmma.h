// wgmma.mma_async as it is decoded, and its arithmetic: D = A * B + D, with 64 rows of A and n columns of B.
//
// Warp w of the four holds rows 16 w to 16 w + 15 of D, and of A if that is in registers.  With g = lane / 4 and t = lane % 4:
//   A  register r: row g + 8 * (r % 2), the word t + 4 * (r / 2) of its 32 bytes
//   D  f32, s32: register 4 j + 2 h + e: row g + 8 h, column 8 j + 2 t + e;  f16: register 2 j + h holds both columns
#pragma once

#include <array>
#include <vector>

#include "machine/matrix.h"

namespace softcuda::SOFTCUDA_LEVEL {

struct Wgmma {
    int n = 0, k = 0;  // k: columns of A as it is stored, 32 bytes
    Element a_type = Element::f16, b_type = Element::f16;
    bool half_result = false;  // D is f16
    bool saturate = false;     // integers: clamp
    bool negative = false;     // the products' signs are turned
    bool a_from_registers = false;
    bool a_by_column = false, b_by_row = false;  // M or N is innermost, not K
    bool sparse = false;
    uint32_t indices = 0, selector = 0;  // of a sparse A
    std::vector<uint32_t> d;             // rows of the registers
    std::array<uint32_t, 4> a{};

    bool whole() const { return softcuda::SOFTCUDA_LEVEL::is_integer(a_type); }
    int depth() const { return sparse ? 2 * k : k; }  // rows of B
};

// The operands' bytes as they lie along K: 32 for each row of A, and 32 (A is sparse: 64) for each column of B.
struct WgmmaOperands {
    static constexpr int rows = 64, most_columns = 256;
    alignas(64) std::byte a[rows * 32];
    alignas(64) std::byte b[most_columns * 64];
    std::array<std::byte*, 4> frames;  // of the four warps: the registers of D, and of a sparse A's indices
};
void multiply(const Wgmma& product, const WgmmaOperands& operands, bool adds);

}  // namespace softcuda::SOFTCUDA_LEVEL
