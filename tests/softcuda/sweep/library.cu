// C++20 and the device standard library: concepts, spans, optionals, tuples, algorithms, complex numbers.
#if __has_include(<cuda/std/algorithm>)
#include <cuda/std/algorithm>
#else
#include <cuda/std/__algorithm_>
#endif
#include <cuda/std/array>
#include <cuda/std/bit>
#include <cuda/std/cmath>
#include <cuda/std/complex>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <cuda/std/numeric>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/type_traits>
#include <cuda/std/utility>
#include <cuda/std/variant>

#include "check.h"

template <class T>
concept Number = cuda::std::is_arithmetic_v<T>;

template <Number T, Number... Rest>
__device__ auto total(T first, Rest... rest) {
    if constexpr (sizeof...(rest) == 0)
        return first;
    else
        return first + total(rest...);
}

template <class T>
    requires(sizeof(T) == 8)
__device__ int width(T) {
    return 8;
}
template <class T>
    requires(sizeof(T) < 8)
__device__ int width(T) {
    return int(sizeof(T));
}

TEST(concepts, 1, 32) {
    const int i = hide((int)threadIdx.x);
    SAME(total(i, 2.5f, 3ull, (char)1), i + 6.5f);
    SAME(width(1.0) + width(1.0f) + width('c'), 13);
    constexpr auto squares = [] {
        cuda::std::array<int, 16> made{};
        for (int i = 0; i < 16; ++i) made[i] = i * i;
        return made;
    }();
    SAME(squares[i % 16], (i % 16) * (i % 16));
    const auto [a, b] = cuda::std::pair{i, i * 2.0};
    SAME(a + b, 3.0 * i);
}

TEST(containers, 1, 32) {
    const int i = hide((int)threadIdx.x);
    cuda::std::array<int, 8> x{5, 3, 8, 1, i, 9, 2, 7};
    cuda::std::span<int> view(x.data() + 1, 5);
    SAME(cuda::std::accumulate(view.begin(), view.end(), 0), 21 + i);
    SAME(*cuda::std::max_element(x.begin(), x.end()), i > 9 ? i : 9);
    SAME(cuda::std::find(x.begin(), x.end(), 9) - x.begin(), i == 9 ? 4 : 5);
    for (int k = 1; k < 8; ++k)
        for (int j = k; j && x[j] < x[j - 1]; --j) cuda::std::swap(x[j], x[j - 1]);
    CHECK(cuda::std::is_sorted(x.begin(), x.end()));
    SAME(*cuda::std::lower_bound(x.begin(), x.end(), 6), i == 6 ? 6 : 7);
    const auto none = i % 2 ? cuda::std::optional<int>() : cuda::std::optional<int>(i);
    SAME(none.value_or(-1), i % 2 ? -1 : i);
    const auto three = cuda::std::make_tuple(i, 2.0f, 'x');
    SAME(cuda::std::get<0>(three) * cuda::std::get<1>(three), 2.0f * i);
    SAME(cuda::std::apply([](int a, float b, char c) { return a + b + c; }, three), i + 122.0f);
}

TEST(variants, 1, 32) {
    const int i = hide((int)threadIdx.x);
    cuda::std::variant<int, float, double> v;
    if (i % 3 == 0) v = i;
    if (i % 3 == 1) v = i * 0.5f;
    if (i % 3 == 2) v = i * 0.25;
    SAME(cuda::std::visit([](auto x) { return double(x); }, v), i % 3 == 0 ? i : i % 3 == 1 ? i * 0.5 : i * 0.25);
    SAME(v.index(), i % 3);
}

TEST(bits, 1, 32) {
    const unsigned x = hide(threadIdx.x * 0x9e3779b9u | 1);
    SAME(cuda::std::popcount(x), __popc(x));
    SAME(cuda::std::countl_zero(x), __clz(x));
    SAME(cuda::std::countr_zero(x << 3), 3);
    SAME(cuda::std::rotl(x, 7), x << 7 | x >> 25);
    SAME(cuda::std::rotr(x, 7), x >> 7 | x << 25);
    SAME(cuda::std::bit_cast<float>(0x3f800000u), 1.0f);
    SAME(cuda::std::bit_ceil(x >> 8), x >> 8 <= 1 ? 1u : 1u << (32 - __clz((x >> 8) - 1)));
    SAME(cuda::std::has_single_bit(x & 0u - x), true);
    SAME(cuda::std::numeric_limits<int>::max(), 0x7fffffff);
    SAME(cuda::std::gcd(x % 1000 * 6, 42u) % 6, 0u);
    SAME(cuda::std::clamp((int)x, -5, 5), (int)x < -5 ? -5 : (int)x > 5 ? 5 : (int)x);
    SAME(cuda::std::midpoint(2, 10), 6);
}

template <class T>
__device__ void complex(T tolerance) {
    using Complex = cuda::std::complex<T>;
    const Complex z(hide(T(threadIdx.x) / 16 - 1), hide(T(0.75))), w(T(1.5), T(-2));
    const Complex product = z * w;
    CHECK(cuda::std::abs(product / w - z) < tolerance);
    CHECK(cuda::std::abs(cuda::std::exp(cuda::std::log(z)) - z) < tolerance);
    CHECK(cuda::std::abs(cuda::std::sqrt(z) * cuda::std::sqrt(z) - z) < tolerance);
    CHECK(cuda::std::abs(cuda::std::polar(cuda::std::abs(z), cuda::std::arg(z)) - z) < tolerance);
    CHECK(cuda::std::abs(cuda::std::norm(z) - z.real() * z.real() - z.imag() * z.imag()) < tolerance);
    CHECK(cuda::std::abs(cuda::std::pow(z, T(2)) - z * z) < 4 * tolerance);
    SAME(cuda::std::conj(z).imag(), -z.imag());
}

TEST(complex_numbers, 1, 32) {
    complex<float>(1e-5f);
    complex<double>(1e-13);
    SAME(cuda::std::isnan(hide(0.0f) / hide(0.0f)), true);
    SAME(cuda::std::fmax(hide(1.0f), 2.0f), 2.0f);
    NEAR(cuda::std::hypot(hide(3.0), 4.0), 5.0, 1e-15);
    NEAR(cuda::std::lerp(hide(1.0), 3.0, 0.25), 1.5, 1e-15);
}
