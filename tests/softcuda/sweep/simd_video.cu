// SIMD video intrinsics: two halves or four bytes of a word at once, each against the same sum lane by lane.
#include "check.h"

__device__ unsigned input(unsigned i) {
    const unsigned corner[] = {0u,          0x80008000u, 0x7fff7fffu, 0xffffffffu,
                               0x80808080u, 0x7f7f7f7fu, 0x0001ff80u, 0xff00017fu};
    return i < 8 ? corner[i] : (i * 2654435761u) ^ (i << 27 | i >> 3);
}

__device__ int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

template <class Lane, class Function>
__device__ unsigned by_lane(unsigned a, unsigned b, Function function) {
    unsigned result = 0;
    constexpr int bits = sizeof(Lane) * 8;
    for (int at = 0; at < 32; at += bits) {
        const unsigned lane = unsigned(function(int(Lane(a >> at)), int(Lane(b >> at))));
        result |= (lane & (0xffffffffu >> (32 - bits))) << at;
    }
    return result;
}

#define LANES(intrinsic, Lane, formula) \
    SAME(intrinsic(a, b), by_lane<Lane>(a, b, [](int x, int y) -> int { return formula; }))

TEST(halves_arithmetic, 1, 64) {
    const unsigned a = hide(input(threadIdx.x)), b = hide(input((threadIdx.x * 5 + 3) % 64));
    LANES(__vadd2, unsigned short, x + y);
    LANES(__vaddss2, short, clamp(x + y, -32768, 32767));
    LANES(__vaddus2, unsigned short, clamp(x + y, 0, 65535));
    LANES(__vsub2, unsigned short, x - y);
    LANES(__vsubss2, short, clamp(x - y, -32768, 32767));
    LANES(__vsubus2, unsigned short, clamp(x - y, 0, 65535));
    LANES(__vavgu2, unsigned short, (x + y + 1) >> 1);
    LANES(__vhaddu2, unsigned short, (x + y) >> 1);
    LANES(__vmaxs2, short, x > y ? x : y);
    LANES(__vmaxu2, unsigned short, x > y ? x : y);
    LANES(__vmins2, short, x < y ? x : y);
    LANES(__vminu2, unsigned short, x < y ? x : y);
    LANES(__vabsdiffs2, short, x > y ? x - y : y - x);
    LANES(__vabsdiffu2, unsigned short, x > y ? x - y : y - x);
}

TEST(halves_compare, 1, 64) {
    const unsigned a = hide(input(threadIdx.x)), b = hide(input((threadIdx.x * 5 + 3) % 64));
    LANES(__vcmpeq2, short, x == y ? -1 : 0);
    LANES(__vseteq2, short, x == y);
    LANES(__vcmpne2, short, x != y ? -1 : 0);
    LANES(__vsetne2, short, x != y);
    LANES(__vcmpgts2, short, x > y ? -1 : 0);
    LANES(__vsetgts2, short, x > y);
    LANES(__vcmpgtu2, unsigned short, x > y ? -1 : 0);
    LANES(__vsetgtu2, unsigned short, x > y);
    LANES(__vcmpges2, short, x >= y ? -1 : 0);
    LANES(__vsetges2, short, x >= y);
    LANES(__vcmpgeu2, unsigned short, x >= y ? -1 : 0);
    LANES(__vsetgeu2, unsigned short, x >= y);
    LANES(__vcmplts2, short, x < y ? -1 : 0);
    LANES(__vsetlts2, short, x < y);
    LANES(__vcmpltu2, unsigned short, x < y ? -1 : 0);
    LANES(__vsetltu2, unsigned short, x < y);
    LANES(__vcmples2, short, x <= y ? -1 : 0);
    LANES(__vsetles2, short, x <= y);
    LANES(__vcmpleu2, unsigned short, x <= y ? -1 : 0);
    LANES(__vsetleu2, unsigned short, x <= y);
}

TEST(bytes_arithmetic, 1, 64) {
    const unsigned a = hide(input(threadIdx.x)), b = hide(input((threadIdx.x * 5 + 3) % 64));
    LANES(__vadd4, unsigned char, x + y);
    LANES(__vaddss4, signed char, clamp(x + y, -128, 127));
    LANES(__vaddus4, unsigned char, clamp(x + y, 0, 255));
    LANES(__vsub4, unsigned char, x - y);
    LANES(__vsubss4, signed char, clamp(x - y, -128, 127));
    LANES(__vsubus4, unsigned char, clamp(x - y, 0, 255));
    LANES(__vavgu4, unsigned char, (x + y + 1) >> 1);
    LANES(__vhaddu4, unsigned char, (x + y) >> 1);
    LANES(__vmaxs4, signed char, x > y ? x : y);
    LANES(__vmaxu4, unsigned char, x > y ? x : y);
    LANES(__vmins4, signed char, x < y ? x : y);
    LANES(__vminu4, unsigned char, x < y ? x : y);
    LANES(__vabsdiffs4, signed char, x > y ? x - y : y - x);
    LANES(__vabsdiffu4, unsigned char, x > y ? x - y : y - x);
}

TEST(bytes_compare, 1, 64) {
    const unsigned a = hide(input(threadIdx.x)), b = hide(input((threadIdx.x * 5 + 3) % 64));
    LANES(__vcmpeq4, signed char, x == y ? -1 : 0);
    LANES(__vseteq4, signed char, x == y);
    LANES(__vcmpne4, signed char, x != y ? -1 : 0);
    LANES(__vsetne4, signed char, x != y);
    LANES(__vcmpgts4, signed char, x > y ? -1 : 0);
    LANES(__vsetgts4, signed char, x > y);
    LANES(__vcmpgtu4, unsigned char, x > y ? -1 : 0);
    LANES(__vsetgtu4, unsigned char, x > y);
    LANES(__vcmpges4, signed char, x >= y ? -1 : 0);
    LANES(__vsetges4, signed char, x >= y);
    LANES(__vcmpgeu4, unsigned char, x >= y ? -1 : 0);
    LANES(__vsetgeu4, unsigned char, x >= y);
    LANES(__vcmplts4, signed char, x < y ? -1 : 0);
    LANES(__vsetlts4, signed char, x < y);
    LANES(__vcmpltu4, unsigned char, x < y ? -1 : 0);
    LANES(__vsetltu4, unsigned char, x < y);
    LANES(__vcmples4, signed char, x <= y ? -1 : 0);
    LANES(__vsetles4, signed char, x <= y);
    LANES(__vcmpleu4, unsigned char, x <= y ? -1 : 0);
    LANES(__vsetleu4, unsigned char, x <= y);
}

TEST(halves_alone, 1, 64) {
    const unsigned a = hide(input(threadIdx.x)), b = hide(input((threadIdx.x * 5 + 3) % 64));
    SAME(__vabs2(a), by_lane<short>(a, 0, [](int x, int) { return x < 0 ? -x : x; }));
    SAME(__vabsss2(a), by_lane<short>(a, 0, [](int x, int) { return x == -32768 ? 32767 : x < 0 ? -x : x; }));
    SAME(__vneg2(a), by_lane<short>(a, 0, [](int x, int) { return -x; }));
    SAME(__vnegss2(a), by_lane<short>(a, 0, [](int x, int) { return x == -32768 ? 32767 : -x; }));
    SAME(__vavgs2(a, b), by_lane<short>(a, b, [](int x, int y) { return (x + y + (x + y >= 0)) >> 1; }));
    unsigned signed_sum = 0, unsigned_sum = 0;
    for (int at = 0; at < 32; at += 16) {
        const int x = (short)(a >> at), y = (short)(b >> at), p = (unsigned short)x, q = (unsigned short)y;
        signed_sum += x > y ? x - y : y - x, unsigned_sum += p > q ? p - q : q - p;
    }
    SAME(__vsads2(a, b), signed_sum);
    SAME(__vsadu2(a, b), unsigned_sum);
}

TEST(bytes_alone, 1, 64) {
    const unsigned a = hide(input(threadIdx.x)), b = hide(input((threadIdx.x * 5 + 3) % 64));
    SAME(__vabs4(a), by_lane<signed char>(a, 0, [](int x, int) { return x < 0 ? -x : x; }));
    SAME(__vabsss4(a), by_lane<signed char>(a, 0, [](int x, int) { return x == -128 ? 127 : x < 0 ? -x : x; }));
    SAME(__vneg4(a), by_lane<signed char>(a, 0, [](int x, int) { return -x; }));
    SAME(__vnegss4(a), by_lane<signed char>(a, 0, [](int x, int) { return x == -128 ? 127 : -x; }));
    SAME(__vavgs4(a, b), by_lane<signed char>(a, b, [](int x, int y) { return (x + y + (x + y >= 0)) >> 1; }));
    unsigned signed_sum = 0, unsigned_sum = 0;
    for (int at = 0; at < 32; at += 8) {
        const int x = (signed char)(a >> at), y = (signed char)(b >> at), p = (unsigned char)x, q = (unsigned char)y;
        signed_sum += x > y ? x - y : y - x, unsigned_sum += p > q ? p - q : q - p;
    }
    SAME(__vsads4(a, b), signed_sum);
    SAME(__vsadu4(a, b), unsigned_sum);
}

__device__ int relu(int x) { return x < 0 ? 0 : x; }

// Three operands, and results with the predicates that say which operand won.
TEST(dpx, 1, 64) {
    const unsigned ua = hide(input(threadIdx.x)), ub = hide(input((threadIdx.x * 5 + 3) % 64)),
                   uc = hide(input(63 - threadIdx.x));
    const int a = int(ua) >> 2, b = int(ub) >> 2, c = int(uc) >> 2;  // sums do not overflow
    SAME(__vimax3_s32(a, b, c), max(max(a, b), c));
    SAME(__vimin3_s32(a, b, c), min(min(a, b), c));
    SAME(__vimax3_u32(ua, ub, uc), max(max(ua, ub), uc));
    SAME(__vimin3_u32(ua, ub, uc), min(min(ua, ub), uc));
    SAME(__vimax3_s32_relu(a, b, c), relu(max(max(a, b), c)));
    SAME(__vimin3_s32_relu(a, b, c), relu(min(min(a, b), c)));
    SAME(__viaddmax_s32(a, b, c), max(a + b, c));
    SAME(__viaddmin_s32(a, b, c), min(a + b, c));
    SAME(__viaddmax_u32(ua, ub, uc), max(ua + ub, uc));
    SAME(__viaddmin_u32(ua, ub, uc), min(ua + ub, uc));
    SAME(__viaddmax_s32_relu(a, b, c), relu(max(a + b, c)));
    SAME(__viaddmin_s32_relu(a, b, c), relu(min(a + b, c)));
    SAME(__vimax_s32_relu(a, b), relu(max(a, b)));
    SAME(__vimin_s32_relu(a, b), relu(min(a, b)));
    SAME(__vimax3_s16x2(ua, ub, uc), __vmaxs2(__vmaxs2(ua, ub), uc));
    SAME(__vimin3_s16x2(ua, ub, uc), __vmins2(__vmins2(ua, ub), uc));
    SAME(__vimax3_u16x2(ua, ub, uc), __vmaxu2(__vmaxu2(ua, ub), uc));
    SAME(__vimin3_u16x2(ua, ub, uc), __vminu2(__vminu2(ua, ub), uc));
    SAME(__vimax3_s16x2_relu(ua, ub, uc), __vmaxs2(__vmaxs2(__vmaxs2(ua, ub), uc), 0));
    SAME(__vimin3_s16x2_relu(ua, ub, uc), __vmaxs2(__vmins2(__vmins2(ua, ub), uc), 0));
    SAME(__viaddmax_s16x2(ua, ub, uc), __vmaxs2(__vadd2(ua, ub), uc));
    SAME(__viaddmin_s16x2(ua, ub, uc), __vmins2(__vadd2(ua, ub), uc));
    SAME(__viaddmax_u16x2(ua, ub, uc), __vmaxu2(__vadd2(ua, ub), uc));
    SAME(__viaddmin_u16x2(ua, ub, uc), __vminu2(__vadd2(ua, ub), uc));
    SAME(__viaddmax_s16x2_relu(ua, ub, uc), __vmaxs2(__vmaxs2(__vadd2(ua, ub), uc), 0));
    SAME(__viaddmin_s16x2_relu(ua, ub, uc), __vmaxs2(__vmins2(__vadd2(ua, ub), uc), 0));
    SAME(__vimax_s16x2_relu(ua, ub), __vmaxs2(__vmaxs2(ua, ub), 0));
    SAME(__vimin_s16x2_relu(ua, ub), __vmaxs2(__vmins2(ua, ub), 0));
    bool first, high, low;
    SAME(__vibmax_s32(a, b, &first), max(a, b));
    SAME(first, a >= b);
    SAME(__vibmin_s32(a, b, &first), min(a, b));
    SAME(first, a <= b);
    SAME(__vibmax_u32(ua, ub, &first), max(ua, ub));
    SAME(first, ua >= ub);
    SAME(__vibmin_u32(ua, ub, &first), min(ua, ub));
    SAME(first, ua <= ub);
    SAME(__vibmax_s16x2(ua, ub, &high, &low), __vmaxs2(ua, ub));
    SAME(high, short(ua >> 16) >= short(ub >> 16));
    SAME(low, short(ua) >= short(ub));
    SAME(__vibmin_s16x2(ua, ub, &high, &low), __vmins2(ua, ub));
    SAME(high, short(ua >> 16) <= short(ub >> 16));
    SAME(__vibmax_u16x2(ua, ub, &high, &low), __vmaxu2(ua, ub));
    SAME(low, (unsigned short)ua >= (unsigned short)ub);
    SAME(__vibmin_u16x2(ua, ub, &high, &low), __vminu2(ua, ub));
    SAME(low, (unsigned short)ua <= (unsigned short)ub);
}
