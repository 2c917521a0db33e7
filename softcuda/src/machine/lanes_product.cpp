// D = A * B + C of small matrices, as an H200 computes it.
//
// Integers, bits and f64 (a chain of fma from C on, k rising) are exact.  For the other floats the hardware adds up to 16
// exact products and the addend at once: each is cut off, toward zero, at 2^-25 of the largest one's power of two (a
// product's being that of its factors, not normalised), and the sum is cut off to f32, or rounded to f16.  Eight-bit floats
// go through that sum in two halves, without C, which is added last.  Measured; equal bit for bit on all it was tried on.
#include <cfenv>
#include <cmath>

#include "machine/half.h"
#include "machine/matrix.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

constexpr int columns = 8, most_rows = 16, most_k = 64;
constexpr int kept_bits = 25;

union Words {  // registers of a result
    uint32_t w32[8][warp_size];
    uint64_t w64[4][warp_size];
};

// --- elements as numbers

// e4m3 and e5m2 by their bits.
const std::array<float, 256>& float8_values(Element type) {
    static const auto table = [](const Format& format) {
        std::array<float, 256> values{};
        for (unsigned i = 0; i < 256; ++i)
            values[i] = float_of(uint32_t(pack(formats::f32, unpack(format, i), Rounding::rn)));
        return values;
    };
    static const std::array<float, 256> e4m3 = table(formats::e4m3), e5m2 = table(formats::e5m2);
    return type == Element::e4m3 ? e4m3 : e5m2;
}

}  // namespace

void widen(Element type, const void* from, int words, float* out) {
    const auto* whole = static_cast<const uint32_t*>(from);
    const auto* halves = static_cast<const uint16_t*>(from);
    const auto* bytes = static_cast<const uint8_t*>(from);
    switch (type) {
        case Element::f16: F16::widen(halves, out, 2 * words); break;
        case Element::bf16: BF16::widen(halves, out, 2 * words); break;
        case Element::tf32:  // the hardware reads 19 bits
            for (int i = 0; i < words; ++i) out[i] = float_of(whole[i] & 0xffffe000u);
            break;
        case Element::s8:
            for (int i = 0; i < 4 * words; ++i) out[i] = float(int8_t(bytes[i]));
            break;
        case Element::u8:
            for (int i = 0; i < 4 * words; ++i) out[i] = float(bytes[i]);
            break;
        case Element::s4:
            for (int i = 0; i < 4 * words; ++i)
                out[2 * i] = float(int8_t(bytes[i] << 4) >> 4), out[2 * i + 1] = float(int8_t(bytes[i]) >> 4);
            break;
        case Element::u4:
            for (int i = 0; i < 4 * words; ++i)
                out[2 * i] = float(bytes[i] & 15), out[2 * i + 1] = float(bytes[i] >> 4);
            break;
        default: {
            const auto& values = float8_values(type);
            for (int i = 0; i < 4 * words; ++i) out[i] = values[bytes[i]];
        }
    }
}

namespace {

template <class T>
struct Factors {
    alignas(64) T a[most_rows * most_k];    // element (i, k) at i * most_k + k
    alignas(64) T b[2 * most_k * columns];  // element (k, j) at k * columns + j
};
template <int E>  // elements in a register
void place_a(const float* row, int r, int halves, Factors<float>& f) {
    for (int g = 0; g < 8; ++g)
        std::memcpy(&f.a[(g + 8 * (r % halves)) * most_k + 4 * E * (r / halves)], row + 4 * E * g,
                    4 * E * sizeof(float));
}
template <int E>
void place_b(const float* row, int r, Factors<float>& f) {
    for (int c = 0; c < 4 * E; ++c)
        for (int g = 0; g < 8; ++g) f.b[(4 * E * r + c) * columns + g] = row[4 * E * g + c];
}
void load_factors(Warp& warp, const Tile& tile, Factors<float>& f) {
    alignas(64) float row[8 * warp_size];
    for (int r = 0; r < tile.a_registers(); ++r) {
        widen(tile.a_type, warp.row<uint32_t>(tile.a[size_t(r)]), warp_size, row);
        switch (elements_in_register(tile.a_type)) {
            case 1: place_a<1>(row, r, tile.rows / 8, f); break;
            case 2: place_a<2>(row, r, tile.rows / 8, f); break;
            case 4: place_a<4>(row, r, tile.rows / 8, f); break;
            default: place_a<8>(row, r, tile.rows / 8, f);
        }
    }
    for (int r = 0; r < tile.b_registers(); ++r) {
        widen(tile.b_type, warp.row<uint32_t>(tile.b[size_t(r)]), warp_size, row);
        switch (elements_in_register(tile.b_type)) {
            case 1: place_b<1>(row, r, f); break;
            case 2: place_b<2>(row, r, f); break;
            case 4: place_b<4>(row, r, f); break;
            default: place_b<8>(row, r, f);
        }
    }
}

// For each row of A, the row of B that meets its k-th element.
struct Picks {
    uint8_t at[most_rows][most_k];
};
// Four bits of indices serve two elements (tf32: one, 4-bit elements: four).  Elements of 16 bits and more: a lane has
// 16 bits for row g, and above them 16 for row g + 8; smaller elements: an even lane has 32 for row g, the odd one behind
// it for row g + 8.
void load_picks(Warp& warp, const Tile& tile, Picks& picks) {
    const auto* words = warp.row<uint32_t>(tile.indices);
    const bool small = element_bits(tile.a_type) <= 8;
    const int in_nibble = tile.sparsity == Sparsity::one_of_two ? 1 : tile.sparsity == Sparsity::two_of_four ? 2 : 4;
    const int nibbles = tile.k / in_nibble, in_lane = small ? 8 : 4;
    const int lanes_needed = nibbles / in_lane * (small ? 2 : 1);
    const int first = int(tile.selector) * lanes_needed;
    for (int row = 0; row < tile.rows; ++row) {
        for (int n = 0; n < nibbles; ++n) {
            const int g = row % 8, upper = row / 8;
            const int lane = 4 * g + first + (small ? n / in_lane * 2 + upper : n / in_lane);
            const int shift = 4 * (n % in_lane) + (small ? 0 : 16 * upper);
            const uint32_t nibble = words[lane] >> shift, low = nibble & 3, high = (nibble >> 2) & 3;
            uint8_t* at = &picks.at[row][n * in_nibble];
            if (in_nibble == 1) at[0] = uint8_t(2 * n + int(low >> 1));
            if (in_nibble == 2) at[0] = uint8_t(4 * n + int(low)), at[1] = uint8_t(4 * n + int(high));
            if (in_nibble == 4)
                for (int e = 0; e < 2; ++e)
                    at[e] = uint8_t(8 * n + 2 * int(low) + e), at[2 + e] = uint8_t(8 * n + 2 * int(high) + e);
        }
    }
}

using Sums = float[most_rows * columns];  // element (i, j) at i * columns + j

// C: two registers hold neighbours of one row, as one register of halves does.
void load_sums(Warp& warp, const Tile& tile, Sums& c) {
    for (int h = 0; h < tile.rows / 8; ++h) {
        float* block = c + 8 * columns * h;
        if (tile.half_addend) {
            F16::widen(warp.row<uint16_t>(tile.c[size_t(h)]), block, 2 * warp_size);
            continue;
        }
        const float *even = warp.row<float>(tile.c[size_t(2 * h)]), *odd = warp.row<float>(tile.c[size_t(2 * h + 1)]);
        for (int i = 0; i < warp_size; ++i) block[2 * i] = even[i], block[2 * i + 1] = odd[i];
    }
}
void store_sums(const Tile& tile, const Sums& d, Words& out) {
    for (int h = 0; h < tile.rows / 8; ++h) {
        const float* block = d + 8 * columns * h;
        if (tile.half_result) {
            uint16_t halves[2 * warp_size];
            F16::round(block, halves, 2 * warp_size);
            std::memcpy(out.w32[h], halves, sizeof halves);
            continue;
        }
        for (int i = 0; i < warp_size; ++i) {
            out.w32[2 * h][i] = bits_of(canonical(block[2 * i]));
            out.w32[2 * h + 1][i] = bits_of(canonical(block[2 * i + 1]));
        }
    }
}

// --- floats

// What the compiler keeps in one SIMD register: some neighbouring columns of a row.
template <class T>
struct Vectors;
template <>
struct Vectors<float> {
    static constexpr int count = columns;
    typedef float Numbers __attribute__((vector_size(4 * count), aligned(4), may_alias));
    typedef uint32_t Bits __attribute__((vector_size(4 * count), aligned(4), may_alias));
    typedef int32_t Counts __attribute__((vector_size(4 * count), aligned(4), may_alias));
    static constexpr uint32_t units = (2u * 127 + kept_bits) << 23;  // see sum_finite
};
template <>
struct Vectors<double> {
#ifdef __AVX512F__
    static constexpr int count = columns;
#else
    static constexpr int count = columns / 2;
#endif
    typedef double Numbers __attribute__((vector_size(8 * count), aligned(8), may_alias));
    typedef uint64_t Bits __attribute__((vector_size(8 * count), aligned(8), may_alias));
    typedef int32_t Counts __attribute__((vector_size(4 * count), aligned(4), may_alias));
    static constexpr uint64_t units = (2ull * 1023 + kept_bits) << 52;
};

// The power of two of a number, at least the format's least normal one; 0 for zero.
inline float power(float x, float least) {
    const float p = float_of(bits_of(x) & 0x7f800000u);
    return x == 0 ? 0.0f : p < least ? least : p;
}
inline double power(double x, double least) {
    const double p = double_of(bits_of(x) & 0x7ff0000000000000ull);
    return x == 0 ? 0.0 : p < least ? least : p;
}

// One sum of the hardware's: columns [from, to) of A, at most 16.  T holds the products exactly; all numbers are finite.
template <class T, bool sparse>
void sum_finite(const Tile& tile, const Factors<T>& f, const Factors<T>& powers, const Picks& picks, int from, int to,
                Sums& sums) {
    using V = Vectors<T>;
    using Numbers = typename V::Numbers;
    using Bits = typename V::Bits;
    using Counts = typename V::Counts;
    constexpr int together = 4;  // rows, so that their chains overlap
    alignas(64) double exact[most_rows * columns];
    alignas(64) T most_of[most_rows * columns];
    for (int first = 0; first < tile.rows; first += together) {
        for (int j = 0; j < columns; j += V::count) {
            Numbers most[together] = {};
            for (int k = from; k < to; ++k) {
#pragma GCC unroll 4
                for (int r = 0; r < together; ++r) {
                    const int meets = sparse ? picks.at[first + r][k] : k;
                    const Numbers b = *reinterpret_cast<const Numbers*>(powers.b + meets * columns + j);
                    const Numbers p = powers.a[(first + r) * most_k + k] * b;
                    most[r] = most[r] > p ? most[r] : p;
                }
            }
            // Each addend in units of 2^-25 of the largest power of two, toward zero.  Where there is but C, its power may
            // be too small for `units`; any will do.
            Numbers scale[together];
            Counts total[together] = {};  // 16 products below 2^27
#pragma GCC unroll 4
            for (int r = 0; r < together; ++r) {
                Numbers c;
                for (int e = 0; e < V::count; ++e) c[e] = T(power(sums[(first + r) * columns + j + e], 0x1p-126f));
                const Numbers least = Numbers{} + T(0x1p-100f), floor = most[r] > 0 ? most[r] : least;
                const Numbers largest = c > floor ? c : floor;
                scale[r] = (Numbers)(V::units - (Bits)largest);
            }
            for (int k = from; k < to; ++k) {
#pragma GCC unroll 4
                for (int r = 0; r < together; ++r) {
                    const int meets = sparse ? picks.at[first + r][k] : k;
                    const Numbers b = *reinterpret_cast<const Numbers*>(f.b + meets * columns + j);
                    const Numbers p = f.a[(first + r) * most_k + k] * b;
                    total[r] += __builtin_convertvector(p * scale[r], Counts);
                }
            }
            for (int r = 0; r < together; ++r) {
                for (int e = 0; e < V::count; ++e) {
                    const int n = (first + r) * columns + j + e;
                    const double units = double(scale[r][e]), addend = double(sums[n]) * units;
                    exact[n] = (double(total[r][e]) + double(int32_t(addend))) * (1.0 / units);
                    most_of[n] = most[r][e];
                }
            }
        }
    }
    // Cut off to f32; what f16 will be rounded from keeps a mark of what was cut off.
    const uint32_t mark = tile.half_result;
    for (int n = 0; n < tile.rows * columns; ++n) {
        const double x = exact[n], size = std::fabs(x);
        const float f = float(x);
        const uint32_t cut = bits_of(f) - uint32_t((std::fabs(double(f)) > size) & (size < 0x1p128));
        const float odd = float_of(cut | (mark & uint32_t(double(float_of(cut)) != x)));
        sums[n] = most_of[n] > 0 ? odd : sums[n];
    }
}

bool all_finite(const float* x, int n) {
    uint32_t bad = 0;
    for (int i = 0; i < n; ++i) bad |= uint32_t((bits_of(x[i]) & 0x7f800000u) == 0x7f800000u);
    return !bad;
}

struct FloatTile {
    Factors<float> f, powers;
    Picks picks;
    bool finite, moderate;  // moderate: float holds every product
};

template <bool sparse>
void sum_block(const Tile& tile, const FloatTile& t, int from, int to, Sums& sums) {
    const Factors<float>* finite = &t.f;
    Factors<float> cleaned;
    Sums before;
    const bool plain = t.finite && all_finite(sums, tile.rows * columns);
    if (!plain) {  // sum without the others, whose results replace it below
        auto clean = [](float x) { return x - x == 0 ? x : 0.0f; };
        std::memcpy(before, sums, sizeof before);
        for (float& x : sums) x = clean(x);
        for (int n = 0; n < most_rows * most_k; ++n) cleaned.a[n] = clean(t.f.a[n]);
        for (int n = 0; n < 2 * most_k * columns; ++n) cleaned.b[n] = clean(t.f.b[n]);
        finite = &cleaned;
    }
    if (t.moderate && plain) {
        sum_finite<float, sparse>(tile, *finite, t.powers, t.picks, from, to, sums);
    } else {
        Factors<double> f, powers;
        const double least = tile.a_type == Element::bf16 || tile.a_type == Element::tf32 ? 0x1p-126 : 0x1p-14;
        for (int i = 0; i < tile.rows; ++i) {
            for (int n = i * most_k; n < i * most_k + tile.k; ++n)
                f.a[n] = finite->a[n], powers.a[n] = power(f.a[n], least);
        }
        for (int n = 0; n < (sparse ? 2 : 1) * tile.k * columns; ++n)
            f.b[n] = finite->b[n], powers.b[n] = power(f.b[n], least);
        sum_finite<double, sparse>(tile, f, powers, t.picks, from, to, sums);
    }
    if (plain) return;
    for (int i = 0; i < tile.rows; ++i) {
        for (int j = 0; j < columns; ++j) {
            double sum = before[i * columns + j];
            for (int k = from; k < to; ++k)
                sum += double(t.f.a[i * most_k + k]) * t.f.b[(sparse ? t.picks.at[i][k] : k) * columns + j];
            if (sum - sum != 0) sums[i * columns + j] = canonical(float(sum));
        }
    }
}

void load_powers(const Tile& tile, FloatTile& t) {
    const float least = tile.a_type == Element::bf16 || tile.a_type == Element::tf32 ? 0x1p-126f : 0x1p-14f;
    uint32_t low = bits_of(1.0f), high = low;  // of powers, whose bits have their order
    auto note = [&](const float* x, float* powers, int n) {
        for (int i = 0; i < n; ++i) {
            powers[i] = power(x[i], least);
            const uint32_t bits = bits_of(powers[i]), known = bits ? bits : bits_of(1.0f);
            low = known < low ? known : low;
            high = known > high ? known : high;
        }
    };
    for (int i = 0; i < tile.rows; ++i) note(t.f.a + i * most_k, t.powers.a + i * most_k, tile.k);
    const int depth = tile.sparsity == Sparsity::none ? tile.k : 2 * tile.k;
    note(t.f.b, t.powers.b, depth * columns);
    t.finite = high < 0x7f800000u;
    t.moderate = low >= bits_of(0x1p-50f) && high <= bits_of(0x1p50f);
}

template <bool sparse>
void compute_floats(Warp& warp, const Tile& tile, Words& out) {
    FloatTile t;
    alignas(64) Sums sums;
    load_factors(warp, tile, t.f);
    if constexpr (sparse) load_picks(warp, tile, t.picks);
    if (is_float8(tile.a_type)) {
        // Columns 0 and 1 of every four first, then 2 and 3; C at the end.
        FloatTile turned;
        for (int k = 0; k < tile.k; ++k) {
            const int to = k / 4 * 2 + k % 2 + (k % 4 < 2 ? 0 : tile.k / 2);
            for (int i = 0; i < tile.rows; ++i) {
                turned.f.a[i * most_k + to] = t.f.a[i * most_k + k];
                if constexpr (sparse) turned.picks.at[i][to] = t.picks.at[i][k];
            }
            if constexpr (!sparse) std::memcpy(turned.f.b + to * columns, t.f.b + k * columns, columns * sizeof(float));
        }
        if constexpr (sparse) std::memcpy(turned.f.b, t.f.b, sizeof t.f.b);
        load_powers(tile, turned);
        std::memset(sums, 0, sizeof sums);
        alignas(64) Sums addend;
        load_sums(warp, tile, addend);
        for (int half = 0; half < 2; ++half) {
            sum_block<sparse>(tile, turned, half * tile.k / 2, (half + 1) * tile.k / 2, sums);
            if (tile.half_result) {
                uint16_t halves[most_rows * columns];
                F16::round(sums, halves, tile.rows * columns);
                F16::widen(halves, sums, tile.rows * columns);
            }
        }
        for (int n = 0; n < tile.rows * columns; ++n) sums[n] += addend[n];
    } else {
        load_powers(tile, t);
        load_sums(warp, tile, sums);
        for (int k = 0; k < tile.k; k += tile.step()) sum_block<sparse>(tile, t, k, k + tile.step(), sums);
    }
    store_sums(tile, sums, out);
}

// --- integers: sums of products stay below 2^24, which float keeps
template <bool sparse>
void compute_integers(Warp& warp, const Tile& tile, Words& out) {
    Factors<float> f;
    Picks picks;
    alignas(64) Sums sums = {};
    load_factors(warp, tile, f);
    if constexpr (sparse) load_picks(warp, tile, picks);
    for (int k = 0; k < tile.k; ++k) {
        for (int i = 0; i < tile.rows; ++i) {
            const float x = f.a[i * most_k + k];
            const float* b = f.b + (sparse ? picks.at[i][k] : k) * columns;
            for (int j = 0; j < columns; ++j) sums[i * columns + j] += x * b[j];
        }
    }
    for (int r = 0; r < tile.results(); ++r) {
        const auto* c = warp.row<int32_t>(tile.c[size_t(r)]);
        const float* block = sums + 8 * columns * (r / 2) + r % 2;
        for (int lane = 0; lane < warp_size; ++lane) {
            const int32_t product = int32_t(block[2 * lane]), plain = int32_t(uint32_t(product) + uint32_t(c[lane]));
            const bool over = ((product ^ plain) & (c[lane] ^ plain)) < 0;
            const int32_t limit = c[lane] < 0 ? INT32_MIN : INT32_MAX;
            out.w32[r][lane] = uint32_t(tile.saturate && over ? limit : plain);
        }
    }
}

// --- bits: how many pairs differ, or are both one
void compute_bits(Warp& warp, const Tile& tile, Words& out) {
    const int halves = tile.rows / 8, words = tile.k / 32;
    uint32_t a[most_rows][8], b[columns][8];
    for (int r = 0; r < tile.a_registers(); ++r)
        for (int lane = 0; lane < warp_size; ++lane)
            a[lane / 4 + 8 * (r % halves)][lane % 4 + 4 * (r / halves)] = warp.row<uint32_t>(tile.a[size_t(r)])[lane];
    for (int r = 0; r < tile.b_registers(); ++r)
        for (int lane = 0; lane < warp_size; ++lane)
            b[lane / 4][lane % 4 + 4 * r] = warp.row<uint32_t>(tile.b[size_t(r)])[lane];
    for (int r = 0; r < tile.results(); ++r) {
        for (int lane = 0; lane < warp_size; ++lane) {
            const uint32_t *x = a[lane / 4 + 8 * (r / 2)], *y = b[2 * (lane % 4) + r % 2];
            uint32_t count = warp.row<uint32_t>(tile.c[size_t(r)])[lane];
            for (int w = 0; w < words; ++w)
                count += uint32_t(std::popcount(tile.exclusive ? x[w] ^ y[w] : x[w] & y[w]));
            out.w32[r][lane] = count;
        }
    }
}

// --- doubles
double fused_double(double a, double b, double c) { return prefer(b, prefer(c, prefer(a, std::fma(a, b, c)))); }
void compute_doubles(Warp& warp, const Tile& tile, Words& out) {
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    const int halves = tile.rows / 8, before = std::fegetround();
    if (tile.rounding) std::fesetround(modes[tile.rounding]);
    for (int r = 0; r < tile.results(); ++r) {
        for (int lane = 0; lane < warp_size; ++lane) {
            volatile double sum = warp.row<double>(tile.c[size_t(r)])[lane];  // volatile: nothing crosses fesetround
            for (int k = 0; k < tile.k; ++k) {
                const double a = warp.row<double>(tile.a[size_t(k / 4 * halves + r / 2)])[lane / 4 * 4 + k % 4];
                const double b = warp.row<double>(tile.b[size_t(k / 4)])[4 * (2 * (lane % 4) + r % 2) + k % 4];
                sum = fused_double(a, b, sum);
            }
            out.w64[r][lane] = bits_of(double(sum));
        }
    }
    if (tile.rounding) std::fesetround(before);
}

void run_tiles(Warp& warp, const Op& op, uint32_t lanes) {
    const auto& tiles = *reinterpret_cast<const std::vector<Tile>*>(op.imm);
    if (lanes != all_lanes)
        warp.fault(FaultKind::illegal_instruction, op, std::countr_zero(lanes), "a matrix product needs all 32 lanes");
    Words out[2];
    for (size_t i = 0; i < tiles.size(); ++i) {
        const Tile& tile = tiles[i];
        const bool sparse = tile.sparsity != Sparsity::none;
        if (tile.a_type == Element::f64)
            compute_doubles(warp, tile, out[i]);
        else if (tile.a_type == Element::b1)
            compute_bits(warp, tile, out[i]);
        else if (is_integer(tile.a_type))
            (sparse ? compute_integers<true> : compute_integers<false>)(warp, tile, out[i]);
        else
            (sparse ? compute_floats<true> : compute_floats<false>)(warp, tile, out[i]);
    }
    for (size_t i = 0; i < tiles.size(); ++i) {
        const Tile& tile = tiles[i];
        for (int r = 0; r < tile.results(); ++r) {
            if (tile.a_type == Element::f64)
                std::memcpy(warp.row<uint64_t>(tile.d[size_t(r)]), out[i].w64[r], sizeof out[i].w64[r]);
            else
                std::memcpy(warp.row<uint32_t>(tile.d[size_t(r)]), out[i].w32[r], sizeof out[i].w32[r]);
        }
    }
}

}  // namespace

void emit_tiles(Decoder& decoder, std::vector<Tile> tiles) {
    auto data = std::make_shared<const std::vector<Tile>>(std::move(tiles));
    const void* extra = decoder.keep(data);
    Op& op = decoder.emit(run_tiles);
    op.flow = Flow::meet;                         // op.d is 0: all lanes of the warp
    op.imm = reinterpret_cast<uintptr_t>(extra);  // not op.extra: there `meet` looks for a MeetShape
}

}  // namespace softcuda::SOFTCUDA_LEVEL
