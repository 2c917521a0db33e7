// The arithmetic of wgmma.mma_async, bit for bit as an H200 computes it (tests/softcuda/hopper/arithmetic.py).
//
// Integers and bits are exact.  Of floats, all products of an instruction and its addend are one sum: each is cut off, toward
// zero, at 2^-25 of the largest one's power of two (a product's being that of its factors, not normalised), and the sum is cut
// off to f32, or rounded to f16.  Of eight-bit floats it is 2^-13, and an f32 result keeps 13 bits of its fraction.
#include <cmath>
#include <memory>

#include "machine/half.h"
#include "machine/wgmma.h"

namespace softcuda::SOFTCUDA_LEVEL {
namespace {

constexpr int rows = WgmmaOperands::rows, most_n = WgmmaOperands::most_columns;
constexpr int most_k = 32, most_depth = 64;
constexpr int together = 4;  // rows, so that their chains overlap

template <class T>
struct Vectors;
#ifdef __AVX512F__
constexpr int vector_bytes = 64;
#else
constexpr int vector_bytes = 32;
#endif
template <>
struct Vectors<float> {
    static constexpr int count = vector_bytes / 4;
    typedef float Numbers __attribute__((vector_size(4 * count), aligned(4), may_alias));
    typedef uint32_t Bits __attribute__((vector_size(4 * count), aligned(4), may_alias));
    typedef int32_t Counts __attribute__((vector_size(4 * count), aligned(4), may_alias));
    static constexpr int fraction = 23, bias = 127;
    static constexpr float floor = 0x1p-100f;
};
template <>
struct Vectors<double> {
    static constexpr int count = vector_bytes / 8;
    typedef double Numbers __attribute__((vector_size(8 * count), aligned(8), may_alias));
    typedef uint64_t Bits __attribute__((vector_size(8 * count), aligned(8), may_alias));
    typedef int32_t Counts __attribute__((vector_size(4 * count), aligned(4), may_alias));
    static constexpr int fraction = 52, bias = 1023;
    static constexpr double floor = 0x1p-300;
};

// Element (i, k) of A at i * most_k + k, (k, j) of B at k * most_n + j; and their powers of two.
template <class T>
struct Factors {
    alignas(64) T a[rows * most_k], b[most_depth * most_n];
    alignas(64) T a_power[rows * most_k], b_power[most_depth * most_n];
};
// For each row of A, the row of B that meets its k-th element.
struct Picks {
    uint8_t at[rows][most_k];
};
struct Work {
    Factors<float> f;
    Picks picks;
    alignas(64) float sums[rows * most_n];  // element (i, j) at i * most_n + j
    bool finite, moderate;                  // of the factors; moderate: float holds every product
};

int padded(int n) { return (n + 15) / 16 * 16; }

// The power of two of a number, at least the format's least normal one; 0 for zero.
inline float power(float x, float least) {
    const float p = float_of(bits_of(x) & 0x7f800000u);
    return x == 0 ? 0.0f : p < least ? least : p;
}
inline double power(double x, double least) {
    const double p = double_of(bits_of(x) & 0x7ff0000000000000ull);
    return x == 0 ? 0.0 : p < least ? least : p;
}
float least_power(Element type) {
    switch (type) {
        case Element::bf16:
        case Element::tf32: return 0x1p-126f;
        case Element::e4m3: return 0x1p-6f;
        default: return 0x1p-14f;
    }
}

// --- operands

void load_factors(const Wgmma& product, const WgmmaOperands& operands, Work& work) {
    alignas(64) float wide[most_n * most_depth];
    const int depth = product.depth(), columns = padded(product.n);
    widen(product.a_type, operands.a, rows * 8, wide);
    const float sign = product.negative ? -1 : 1;
    for (int i = 0; i < rows; ++i)
        for (int k = 0; k < product.k; ++k) work.f.a[i * most_k + k] = sign * wide[i * product.k + k];
    widen(product.b_type, operands.b, product.n * (product.sparse ? 16 : 8), wide);
    for (int k = 0; k < depth; ++k) {
        for (int j = 0; j < product.n; ++j) work.f.b[k * most_n + j] = wide[j * depth + k];
        for (int j = product.n; j < columns; ++j) work.f.b[k * most_n + j] = 0;
    }
}

// Four bits of indices serve two elements (tf32: one).  Elements of 16 bits and more: of each four lanes, two have 16 bits each
// for row g, and above them 16 for row g + 8; the selector says which two.  Smaller ones: an even lane has 32 for row g, the odd
// one behind it for row g + 8.
void load_picks(const Wgmma& product, const WgmmaOperands& operands, Picks& picks) {
    const bool small = element_bits(product.a_type) == 8, single = product.a_type == Element::tf32;
    const int nibbles = product.k / (single ? 1 : 2), in_lane = small ? 8 : 4;
    for (int row = 0; row < rows; ++row) {
        const auto* words = row_in<uint32_t>(operands.frames[size_t(row / 16)], product.indices);
        const int g = row % 8, upper = row / 8 % 2;
        for (int n = 0; n < nibbles; ++n) {
            const int lane = 4 * g + (small ? n / in_lane * 2 + upper : 2 * int(product.selector) + n / in_lane);
            const uint32_t nibble = words[lane] >> (4 * (n % in_lane) + (small ? 0 : 16 * upper));
            const uint32_t low = nibble & 3, high = (nibble >> 2) & 3;
            if (single) {
                picks.at[row][n] = uint8_t(2 * n + int(low >> 1));
                continue;
            }
            picks.at[row][2 * n] = uint8_t(4 * n + int(low));
            picks.at[row][2 * n + 1] = uint8_t(4 * n + int(high));
        }
    }
}

void load_powers(const Wgmma& product, Work& work) {
    uint32_t low = bits_of(1.0f), high = low;  // of powers, whose bits have their order
    auto note = [&](const float* x, float* powers, int n, float least) {
        for (int i = 0; i < n; ++i) {
            powers[i] = power(x[i], least);
            const uint32_t bits = bits_of(powers[i]), known = bits ? bits : bits_of(1.0f);
            low = known < low ? known : low;
            high = known > high ? known : high;
        }
    };
    const float least_a = least_power(product.a_type), least_b = least_power(product.b_type);
    for (int i = 0; i < rows; ++i) note(work.f.a + i * most_k, work.f.a_power + i * most_k, product.k, least_a);
    for (int k = 0; k < product.depth(); ++k)
        note(work.f.b + k * most_n, work.f.b_power + k * most_n, padded(product.n), least_b);
    work.finite = high < 0x7f800000u;
    work.moderate = low >= bits_of(0x1p-50f) && high <= bits_of(0x1p50f);
}

// --- sums

// Two registers hold neighbours of one row, as one register of halves does.
template <class T>
using Four __attribute__((vector_size(16), aligned(4), may_alias)) = T;
typedef int32_t Picked __attribute__((vector_size(16)));
template <class T>
void load_words(const Wgmma& product, const WgmmaOperands& operands, T* sums) {
    for (int w = 0; w < 4; ++w) {
        for (int j = 0; j < product.n / 8; ++j) {
            for (int h = 0; h < 2; ++h) {
                const uint32_t* rows_of_d = &product.d[size_t(4 * j + 2 * h)];
                const T *even = row_in<T>(operands.frames[size_t(w)], rows_of_d[0]),
                        *odd = row_in<T>(operands.frames[size_t(w)], rows_of_d[1]);
                for (int g = 0; g < 8; ++g) {
                    const Four<T> a = *reinterpret_cast<const Four<T>*>(even + 4 * g),
                                  b = *reinterpret_cast<const Four<T>*>(odd + 4 * g);
                    T* to = sums + (16 * w + 8 * h + g) * most_n + 8 * j;
                    *reinterpret_cast<Four<T>*>(to) = __builtin_shuffle(a, b, Picked{0, 4, 1, 5});
                    *reinterpret_cast<Four<T>*>(to + 4) = __builtin_shuffle(a, b, Picked{2, 6, 3, 7});
                }
            }
        }
    }
}
template <class T>
void store_words(const Wgmma& product, const WgmmaOperands& operands, const T* sums) {
    for (int w = 0; w < 4; ++w) {
        for (int j = 0; j < product.n / 8; ++j) {
            for (int h = 0; h < 2; ++h) {
                const uint32_t* rows_of_d = &product.d[size_t(4 * j + 2 * h)];
                T *even = row_in<T>(operands.frames[size_t(w)], rows_of_d[0]),
                  *odd = row_in<T>(operands.frames[size_t(w)], rows_of_d[1]);
                for (int g = 0; g < 8; ++g) {
                    const T* from = sums + (16 * w + 8 * h + g) * most_n + 8 * j;
                    const Four<T> a = *reinterpret_cast<const Four<T>*>(from),
                                  b = *reinterpret_cast<const Four<T>*>(from + 4);
                    *reinterpret_cast<Four<T>*>(even + 4 * g) = __builtin_shuffle(a, b, Picked{0, 2, 4, 6});
                    *reinterpret_cast<Four<T>*>(odd + 4 * g) = __builtin_shuffle(a, b, Picked{1, 3, 5, 7});
                }
            }
        }
    }
}
template <bool store>
void move_halves(const Wgmma& product, const WgmmaOperands& operands, float* sums) {
    for (int w = 0; w < 4; ++w) {
        for (int j = 0; j < product.n / 8; ++j) {
            for (int h = 0; h < 2; ++h) {
                auto* halves = row_in<uint16_t>(operands.frames[size_t(w)], product.d[size_t(2 * j + h)]);
                float* first = sums + (16 * w + 8 * h) * most_n + 8 * j;
                for (int g = 0; g < 8; ++g) {
                    if constexpr (store)
                        F16::round(first + g * most_n, halves + 8 * g, 8);
                    else
                        F16::widen(halves + 8 * g, first + g * most_n, 8);
                }
            }
        }
    }
}

// --- floats

// What is in a row beside the products, added and cut off to f32; what f16 will be rounded from keeps a mark of what was
// cut off.  Eight columns at a time.
template <class T>
void finish_row(const T* top, const T* most, const int32_t* totals, int count, bool half, int columns, float* row) {
    constexpr int n = 8;
    typedef T Sizes __attribute__((vector_size(sizeof(T) * n), aligned(sizeof(T)), may_alias));
    typedef float Floats __attribute__((vector_size(4 * n), aligned(4), may_alias));
    typedef int32_t Words __attribute__((vector_size(4 * n), aligned(4), may_alias));
    typedef double Doubles __attribute__((vector_size(8 * n), may_alias));
    typedef int64_t Longs __attribute__((vector_size(8 * n), may_alias));
    const double unit_of_one = std::ldexp(1.0, -count);
    const Longs magnitude = Longs{} + INT64_MAX;
    const Words mark = Words{} + int32_t(half), kept = Words{} + (count < 25 && !half ? ~0x3ff : ~0);
    for (int j = 0; j < columns; j += n) {
        const Floats c = *reinterpret_cast<const Floats*>(row + j);
        const Sizes products = *reinterpret_cast<const Sizes*>(most + j);
        const Doubles unit =
            __builtin_convertvector(*reinterpret_cast<const Sizes*>(top + j), Doubles) * (Doubles{} + unit_of_one);
        const Doubles scale = (Doubles)((Longs{} + (int64_t(2 * 1023) << 52)) - (Longs)unit);
        const Words addend = __builtin_convertvector(__builtin_convertvector(c, Doubles) * scale, Words);
        const Doubles x = (__builtin_convertvector(*reinterpret_cast<const Words*>(totals + j), Doubles) +
                           __builtin_convertvector(addend, Doubles)) *
                          unit;
        const Floats nearest = __builtin_convertvector(x, Floats);
        const Doubles size = (Doubles)((Longs)x & magnitude);
        const Doubles above = (Doubles)((Longs) __builtin_convertvector(nearest, Doubles) & magnitude);
        const Longs over = (above > size) & (size < 0x1p128);
        Words cut = (Words)nearest + __builtin_convertvector(over, Words);
        const Longs lost = __builtin_convertvector((Floats)cut, Doubles) != x;
        cut |= mark & __builtin_convertvector(lost, Words);
        cut &= kept;
        // Nothing but zeros gives +0; what is cut off to nothing keeps its sign where there were products.
        const Words none = __builtin_convertvector(x == 0, Words);
        const Words alone = (Words)c & kept, empty = (alone & 0x7fffffff) == 0;
        const Words any = __builtin_convertvector(products > 0, Words);
        *reinterpret_cast<Words*>(row + j) = (any & cut & ~none) | (~any & alone & ~empty);
    }
}

template <class T, bool sparse>
void sum_finite(const Wgmma& product, const Factors<T>& f, const Picks& picks, float* sums) {
    using V = Vectors<T>;
    using Numbers = typename V::Numbers;
    using Bits = typename V::Bits;
    using Counts = typename V::Counts;
    using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const bool small = element_bits(product.a_type) == 8, half = product.half_result;
    const int count = small ? 13 : 25, columns = padded(product.n), k_end = product.k;
    const T least = half ? T(0x1p-14f) : T(0x1p-126f);
    const Word units = Word(2 * V::bias + count) << V::fraction;
    alignas(64) T top[together * most_n], most_of[together * most_n];
    alignas(64) int32_t totals[together * most_n];
    for (int first = 0; first < rows; first += together) {
        for (int r = 0; r < together; ++r)
            for (int j = 0; j < columns; ++j) top[r * most_n + j] = power(T(sums[(first + r) * most_n + j]), least);
        const T *a = f.a + first * most_k, *a_power = f.a_power + first * most_k;
        for (int j = 0; j < columns; j += V::count) {
            Numbers most[together] = {};
            for (int k = 0; k < k_end; ++k) {
#pragma GCC unroll 4
                for (int r = 0; r < together; ++r) {
                    const int meets = sparse ? picks.at[first + r][k] : k;
                    const Numbers p =
                        a_power[r * most_k + k] * *reinterpret_cast<const Numbers*>(f.b_power + meets * most_n + j);
                    most[r] = most[r] > p ? most[r] : p;
                }
            }
            Numbers scale[together];
            Counts total[together] = {};  // up to 16 products below 2^27, or 32 below 2^15
#pragma GCC unroll 4
            for (int r = 0; r < together; ++r) {
                Numbers& largest = *reinterpret_cast<Numbers*>(top + r * most_n + j);
                const Numbers known = largest > most[r] ? largest : most[r], floor = Numbers{} + V::floor;
                const Numbers used = known > floor ? known : floor;  // where there are no products, any will do
                scale[r] = (Numbers)(units - (Bits)used);
                largest = used;
                *reinterpret_cast<Numbers*>(most_of + r * most_n + j) = most[r];
            }
            for (int k = 0; k < k_end; ++k) {
#pragma GCC unroll 4
                for (int r = 0; r < together; ++r) {
                    const int meets = sparse ? picks.at[first + r][k] : k;
                    const Numbers p = a[r * most_k + k] * *reinterpret_cast<const Numbers*>(f.b + meets * most_n + j);
                    total[r] += __builtin_convertvector(p * scale[r], Counts);
                }
            }
            for (int r = 0; r < together; ++r) *reinterpret_cast<Counts*>(totals + r * most_n + j) = total[r];
        }
        for (int r = 0; r < together; ++r)
            finish_row(top + r * most_n, most_of + r * most_n, totals + r * most_n, count, half, columns,
                       sums + (first + r) * most_n);
    }
}

bool all_finite(const Wgmma& product, const float* sums) {
    uint32_t bad = 0;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < product.n; ++j)
            bad |= uint32_t((bits_of(sums[i * most_n + j]) & 0x7f800000u) == 0x7f800000u);
    return !bad;
}

template <bool sparse>
void sum_widely(const Wgmma& product, const Factors<float>& f, const Picks& picks, float* sums) {
    const auto wide = std::make_unique<Factors<double>>();
    const double least_a = least_power(product.a_type), least_b = least_power(product.b_type);
    for (int i = 0; i < rows; ++i) {
        for (int n = i * most_k; n < i * most_k + product.k; ++n)
            wide->a[n] = f.a[n], wide->a_power[n] = power(wide->a[n], least_a);
    }
    for (int k = 0; k < product.depth(); ++k) {
        for (int n = k * most_n; n < k * most_n + padded(product.n); ++n)
            wide->b[n] = f.b[n], wide->b_power[n] = power(wide->b[n], least_b);
    }
    sum_finite<double, sparse>(product, *wide, picks, sums);
}

template <bool sparse>
void sum_floats(const Wgmma& product, Work& work) {
    float* const sums = work.sums;
    if (work.finite && all_finite(product, sums)) {
        if (work.moderate)
            sum_finite<float, sparse>(product, work.f, work.picks, sums);
        else
            sum_widely<sparse>(product, work.f, work.picks, sums);
        return;
    }
    // Sum without what is infinite or NaN; the results of that replace it.
    const auto before = std::make_unique<Work>(work);
    auto clean = [](float& x) { x = x - x == 0 ? x : 0.0f; };
    for (float& x : work.f.a) clean(x);
    for (int k = 0; k < product.depth(); ++k)
        for (int j = 0; j < padded(product.n); ++j) clean(work.f.b[k * most_n + j]);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < padded(product.n); ++j) clean(sums[i * most_n + j]);
    sum_widely<sparse>(product, work.f, work.picks, sums);
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < product.n; ++j) {
            double sum = before->sums[i * most_n + j];
            for (int k = 0; k < product.k; ++k)
                sum +=
                    double(before->f.a[i * most_k + k]) * before->f.b[(sparse ? work.picks.at[i][k] : k) * most_n + j];
            if (sum - sum != 0) sums[i * most_n + j] = canonical(float(sum));
        }
    }
}

// --- integers: sums of products stay below 2^24, which float keeps

template <bool sparse>
void sum_integers(const Wgmma& product, const Work& work, const WgmmaOperands& operands, bool adds) {
    const auto words = std::make_unique<std::array<int32_t, rows * most_n>>();
    int32_t* const sums = words->data();
    if (adds) load_words(product, operands, sums);
    alignas(64) float row[most_n];
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < padded(product.n); ++j) row[j] = 0;
        for (int k = 0; k < product.k; ++k) {
            const float x = work.f.a[i * most_k + k];
            const float* b = work.f.b + (sparse ? work.picks.at[i][k] : k) * most_n;
            for (int j = 0; j < padded(product.n); ++j) row[j] += x * b[j];
        }
        for (int j = 0; j < product.n; ++j) {
            int32_t& c = sums[i * most_n + j];
            const int32_t made = int32_t(row[j]), plain = int32_t(uint32_t(made) + uint32_t(c));
            const bool over = ((made ^ plain) & (c ^ plain)) < 0;
            c = product.saturate && over ? (c < 0 ? INT32_MIN : INT32_MAX) : plain;
        }
    }
    store_words(product, operands, sums);
}

// --- bits: how many pairs are both one

void sum_bits(const Wgmma& product, const WgmmaOperands& operands, bool adds) {
    const auto words = std::make_unique<std::array<uint32_t, rows * most_n>>();
    uint32_t* const sums = words->data();
    if (adds) load_words(product, operands, sums);
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < product.n; ++j) {
            uint64_t a[4], b[4];
            std::memcpy(a, operands.a + 32 * i, sizeof a);
            std::memcpy(b, operands.b + 32 * j, sizeof b);
            for (int w = 0; w < 4; ++w) sums[i * most_n + j] += uint32_t(std::popcount(a[w] & b[w]));
        }
    }
    store_words(product, operands, sums);
}

template <bool sparse>
void sum(const Wgmma& product, const WgmmaOperands& operands, Work& work, bool adds) {
    load_factors(product, operands, work);
    if constexpr (sparse) load_picks(product, operands, work.picks);
    if (product.whole()) return sum_integers<sparse>(product, work, operands, adds);
    load_powers(product, work);
    for (int i = 0; i < rows; ++i) std::memset(work.sums + i * most_n, 0, size_t(padded(product.n)) * sizeof(float));
    if (adds && product.half_result) move_halves<false>(product, operands, work.sums);
    if (adds && !product.half_result) load_words(product, operands, work.sums);
    sum_floats<sparse>(product, work);
    if (product.half_result)
        move_halves<true>(product, operands, work.sums);
    else
        store_words(product, operands, work.sums);
}

}  // namespace

void multiply(const Wgmma& product, const WgmmaOperands& operands, bool adds) {
    if (product.a_type == Element::b1) return sum_bits(product, operands, adds);
    static thread_local const std::unique_ptr<Work> work = std::make_unique<Work>();
    if (product.sparse)
        sum<true>(product, operands, *work, adds);
    else
        sum<false>(product, operands, *work, adds);
}

}  // namespace softcuda::SOFTCUDA_LEVEL
