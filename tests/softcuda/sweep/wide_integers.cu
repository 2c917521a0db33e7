// 128-bit integers, which the compiler builds from carries, wide products and calls of its own division.
#include "check.h"

using Wide = unsigned __int128;
using Signed = __int128;

__device__ Wide input(unsigned i) {
    const unsigned long long a = i * 0x9e3779b97f4a7c15ull, b = (i + 1) * 0xc2b2ae3d27d4eb4full;
    return (Wide)(a ^ b >> 7) << 64 | b;
}

TEST(sums, 1, 64) {
    const Wide x = hide(input(threadIdx.x)), y = hide(input(threadIdx.x + 9));
    const Wide sum = x + y, product = x * y;
    SAME(sum - y, x);
    SAME(sum - x, y);
    SAME(Wide(-x) + x, Wide(0));
    SAME((unsigned long long)product, (unsigned long long)x * (unsigned long long)y);
    SAME((x + 1) * y, product + y);
    SAME((Wide)(unsigned long long)x * (unsigned long long)y >> 64, Wide(__umul64hi(x, y)));
    SAME(x ^ y ^ y, x);
    SAME((x & y) + (x | y), sum);
}

TEST(shifts, 1, 128) {
    const Wide x = hide(input(3));
    const int n = threadIdx.x;
    Wide left = x, right = x;
    Signed arithmetic = Signed(x | (Wide)1 << 127);
    for (int i = 0; i < n; ++i) left += left, right /= 2, arithmetic = (arithmetic - (arithmetic & 1)) / 2;
    SAME(x << n, left);
    SAME(x >> n, right);
    SAME(Signed(x | (Wide)1 << 127) >> n, arithmetic);
}

TEST(quotients, 1, 64) {
    const Wide x = hide(input(threadIdx.x)), y = hide(input(threadIdx.x + 9)) >> (2 * threadIdx.x) | 1;
    SAME(x / y * y + x % y, x);
    CHECK(x % y < y);
    const Signed s = Signed(x), t = Signed(y) >> 1 | 1;
    SAME(s / t * t + s % t, s);
    CHECK(s < 0 ? s % t <= 0 : s % t >= 0);
    const unsigned long long a = (unsigned long long)x, b = (unsigned long long)y | 1;
    SAME(a / b * b + a % b, a);
    const long long c = (long long)a, d = (long long)(b >> 20 | 1);
    SAME(c / d * d + c % d, c);
    const unsigned e = unsigned(a), f = unsigned(b >> 12 | 1);
    SAME(e / f * f + e % f, e);
    SAME(e / 7 * 7 + e % 7, e);
    SAME(int(e) / -10 * -10 + int(e) % -10, int(e));
    SAME(a / 1000000007ull * 1000000007ull + a % 1000000007ull, a);
    SAME((unsigned short)(e) / 11 * 11 + (unsigned short)(e) % 11, (unsigned short)e);
}

TEST(conversions, 1, 64) {
    const Wide x = hide(input(threadIdx.x)) >> threadIdx.x;
    NEAR(double(x), double((unsigned long long)(x >> 64)) * 18446744073709551616.0 + double((unsigned long long)x),
         1e-15);
    NEAR(float(x), double(x), 1e-7);
    SAME((Wide)12345678.75, Wide(12345678));
    SAME((Signed)hide(-3.5e30f), (Signed)hide(-(double)3.5e30f));
    SAME((unsigned long long)((Wide)hide(1e30) >> 40), (unsigned long long)(hide(1e30) / 1099511627776.0));
}

TEST(comparisons, 1, 64) {
    const Wide x = hide(input(threadIdx.x)), y = threadIdx.x % 3 ? hide(input(threadIdx.x + 1)) : x;
    CHECK((x < y) + (x == y) + (x > y) == 1);
    CHECK((x <= y) == !(y < x));
    CHECK((Signed(x) < Signed(y)) == ((x ^ (Wide)1 << 127) < (y ^ (Wide)1 << 127)));
}
