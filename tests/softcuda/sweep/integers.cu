// Integer intrinsics, each against a loop or a formula over plain operators.
#include "check.h"

__device__ unsigned input(unsigned i) {
    const unsigned corner[] = {0u, 1u, 2u, 0x7fffffffu, 0x80000000u, 0x80000001u, 0xffffffffu, 0xfffffffeu};
    return i < 8 ? corner[i] : (i * 2654435761u) ^ (i << 27 | i >> 3);
}

TEST(bits, 1, 64) {
    const unsigned x = hide(input(threadIdx.x));
    const unsigned long long w = (unsigned long long)x << 32 | input(threadIdx.x + 7);
    unsigned reversed = 0, set = 0, leading = 0;
    for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i), set += x >> i & 1;
    while (leading < 32 && !(x >> (31 - leading) & 1)) ++leading;
    SAME(__brev(x), reversed);
    SAME(__popc(x), set);
    SAME(__clz((int)x), leading);
    SAME(__ffs((int)x), x ? 32 - __clz((int)(x & (0u - x))) : 0);
    unsigned long long wide = 0;
    int wide_set = 0, wide_leading = 0;
    for (int i = 0; i < 64; ++i) wide |= (w >> i & 1) << (63 - i), wide_set += int(w >> i & 1);
    while (wide_leading < 64 && !(w >> (63 - wide_leading) & 1)) ++wide_leading;
    SAME(__brevll(w), wide);
    SAME(__popcll(w), wide_set);
    SAME(__clzll((long long)w), wide_leading);
    SAME(__ffsll((long long)w), w ? 64 - __clzll((long long)(w & (0ull - w))) : 0);
    int found = -1, offset = 3;
    for (int i = 5; i < 32 && offset; ++i)
        if (x >> i & 1 && --offset == 0) found = i;
    SAME(__fns(x, 5, 3), found);
}

TEST(bytes, 1, 64) {
    const unsigned x = hide(input(threadIdx.x)), y = hide(input(threadIdx.x + 11)), s = hide(input(threadIdx.x + 23));
    unsigned permuted = 0;
    for (int i = 0; i < 4; ++i) {
        const unsigned at = s >> 4 * i & 7, byte = ((unsigned long long)y << 32 | x) >> 8 * at & 255;
        permuted |= byte << 8 * i;
    }
    SAME(__byte_perm(x, y, s & 0x7777), permuted);
    const unsigned long long both = (unsigned long long)y << 32 | x;
    SAME(__funnelshift_l(x, y, s), both << (s & 31) >> 32);
    SAME(__funnelshift_r(x, y, s), both >> (s & 31));
    SAME(__funnelshift_lc(x, y, s), s >= 32 ? x : both << s >> 32);
    SAME(__funnelshift_rc(x, y, s), s >= 32 ? y : both >> s);
    SAME(__funnelshift_l(x, y, 5), both << 5 >> 32);
    SAME(__funnelshift_r(x, x, 9), x >> 9 | x << 23);
}

TEST(products, 1, 64) {
    const unsigned x = hide(input(threadIdx.x)), y = hide(input(threadIdx.x + 5));
    const int a = int(x), b = int(y);
    const unsigned long long p = (unsigned long long)x << 32 | y, q = (unsigned long long)y * 0x9e3779b97f4a7c15ull;
    SAME(__umulhi(x, y), (unsigned long long)x * y >> 32);
    SAME(__mulhi(a, b), (long long)a * b >> 32);
    SAME(__umul24(x, y), (x & 0xffffff) * (y & 0xffffff));
    SAME(__mul24(a, b), (unsigned)(a << 8 >> 8) * (unsigned)(b << 8 >> 8));
    const unsigned long long low = (p & 0xffffffff) * (q & 0xffffffff), m1 = (p >> 32) * (q & 0xffffffff) + (low >> 32);
    const unsigned long long m2 = (p & 0xffffffff) * (q >> 32) + (m1 & 0xffffffff);
    const unsigned long long high = (p >> 32) * (q >> 32) + (m1 >> 32) + (m2 >> 32);
    SAME(__umul64hi(p, q), high);
    SAME(__mul64hi((long long)p, (long long)q), high - ((long long)p < 0 ? q : 0) - ((long long)q < 0 ? p : 0));
    SAME(__sad(a, b, 7u), (a > b ? x - y : y - x) + 7u);
    SAME(__usad(x, y, 7u), (x > y ? x - y : y - x) + 7u);
    SAME(__hadd(a, b), ((long long)a + b) >> 1);
    SAME(__rhadd(a, b), ((long long)a + b + 1) >> 1);
    SAME(__uhadd(x, y), ((unsigned long long)x + y) >> 1);
    SAME(__urhadd(x, y), ((unsigned long long)x + y + 1) >> 1);
    SAME(x * y + 3, (unsigned)((unsigned long long)x * y + 3));
    SAME((long long)a * b + (long long)q, (long long)((unsigned long long)((long long)a * b) + q));
}

TEST(dot_products, 1, 64) {
    const unsigned x = hide(input(threadIdx.x)), y = hide(input(threadIdx.x + 5));
    int dp4 = 9, lo = 9, hi = 9;
    unsigned udp4 = 9, ulo = 9, uhi = 9;
    for (int i = 0; i < 4; ++i) {
        dp4 += (signed char)(x >> 8 * i) * (signed char)(y >> 8 * i);
        udp4 += (x >> 8 * i & 255) * (y >> 8 * i & 255);
    }
    for (int i = 0; i < 2; ++i) {
        lo += (short)(x >> 16 * i) * (signed char)(y >> 8 * i);
        hi += (short)(x >> 16 * i) * (signed char)(y >> (16 + 8 * i));
        ulo += (x >> 16 * i & 0xffff) * (y >> 8 * i & 255);
        uhi += (x >> 16 * i & 0xffff) * (y >> (16 + 8 * i) & 255);
    }
    SAME(__dp4a((int)x, (int)y, 9), dp4);
    SAME(__dp4a(x, y, 9u), udp4);
    SAME(__dp2a_lo((int)x, (int)y, 9), lo);
    SAME(__dp2a_hi((int)x, (int)y, 9), hi);
    SAME(__dp2a_lo(x, y, 9u), ulo);
    SAME(__dp2a_hi(x, y, 9u), uhi);
    const char4 a = {1, -2, 3, -4}, b = {(signed char)threadIdx.x, 5, -6, 7};
    SAME(__dp4a(a, b, 1), (int)threadIdx.x - 10 - 18 - 28 + 1);
}

template <class T>
__device__ void operators(T x, T y) {
    const int n = int(y) & int(sizeof(T) * 8 - 1);
    SAME(T(x + y), T(y + x));
    SAME(T(T(x - y) + y), x);
    if (y != 0 && !(y == T(-1) && T(-1) < T(0))) {
        SAME(T(T(x / y) * y + x % y), x);
        CHECK(y < 0 || x < 0 || x % y < y);
    }
    SAME(T(T(x & y) + T(x ^ y)), T(x | y));
    SAME(T(~x), T(T(-1) - x));
    SAME(T(-x), T(T(0) - x));
    SAME(T(x << n >> n << n), T(x << n));
    CHECK((x < y) + (x == y) + (x > y) == 1);
    SAME(min(x, y), x < y ? x : y);
    SAME(max(x, y), x > y ? x : y);
    SAME(T(x * y), T(y * x));
}

TEST(types, 1, 64) {
    const unsigned x = hide(input(threadIdx.x)), y = hide(input(threadIdx.x + 3));
    operators<int>(int(x), int(y));
    operators<unsigned>(x, y);
    operators<long long>((long long)((unsigned long long)x << 32 | y), (long long)int(y));
    operators<unsigned long long>((unsigned long long)x << 32 | y, y);
    operators<long>((long)x * 77777, (long)int(y));
    const short s = short(x), t = short(y);
    const unsigned char c = (unsigned char)x, d = (unsigned char)y;
    SAME(short(s + t), short(t + s));
    SAME(short(s * t), short((int)s * t));
    SAME((unsigned char)(c - d), (unsigned char)(256 + c - d));
    SAME(s < t, (int)s < (int)t);
    SAME((signed char)c, c < 128 ? c : c - 256);
    SAME(abs((int)x), int(x) < 0 ? 0u - x : x);
    SAME(llabs((long long)int(x)), int(x) < 0 ? -(long long)int(x) : (long long)int(x));
}

TEST(bit_fields, 1, 32) {
    struct {
        unsigned a : 5, b : 11, c : 16;
        int d : 7, e : 25;
    } fields{};
    const unsigned x = hide(input(threadIdx.x + 8));
    fields.a = x, fields.b = x >> 3, fields.c = x >> 7, fields.d = int(x >> 5), fields.e = int(x);
    SAME(unsigned(fields.a), x & 31);
    SAME(unsigned(fields.b), x >> 3 & 2047);
    SAME(unsigned(fields.c), x >> 7 & 65535);
    SAME(int(fields.d), int(x >> 5 << 25) >> 25);
    SAME(int(fields.e), int(x << 7) >> 7);
    // rotations, byte swaps and masks, which compilers know
    SAME(x << 13 | x >> 19, __funnelshift_l(x, x, 13));
    SAME(x << 24 | (x & 0xff00) << 8 | (x >> 8 & 0xff00) | x >> 24, __byte_perm(x, 0, 0x0123));
    SAME((x & 0xf0f0f0f0) ^ (~x & 0x0f0f0f0f), x ^ ((~x ^ x) & 0x0f0f0f0f));
}
