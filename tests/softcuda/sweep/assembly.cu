// Inline PTX as programs use it: carries, predicates, packed words, special registers, operations without an intrinsic.
#include "check.h"

TEST(carries, 1, 64) {
    const unsigned a = hide(threadIdx.x * 0x9e3779b9u), b = hide(~a + (threadIdx.x & 3));
    unsigned low, high;
    asm("{add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, %2, 7;}" : "=&r"(low), "=r"(high) : "r"(a), "r"(b));
    SAME(low, a + b);
    SAME(high, a + 7 + ((unsigned long long)a + b >> 32));
    asm("{sub.cc.u32 %0, %2, %3;\n\tsubc.u32 %1, 9, 0;}" : "=&r"(low), "=r"(high) : "r"(a), "r"(b));
    SAME(low, a - b);
    SAME(high, a < b ? 8u : 9u);
    asm("{mad.lo.cc.u32 %0, %2, %3, %2;\n\tmadc.hi.u32 %1, %2, %3, 0;}" : "=&r"(low), "=r"(high) : "r"(a), "r"(b));
    SAME((unsigned long long)high << 32 | low, (unsigned long long)a * b + a);
    unsigned long long wide;
    asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(wide) : "r"(a), "r"(b), "l"(1ull << 50));
    SAME(wide, (unsigned long long)a * b + (1ull << 50));
}

TEST(bit_fields, 1, 64) {
    const unsigned x = hide(threadIdx.x * 0x9e3779b9u), n = threadIdx.x % 24;
    unsigned y;
    asm("bfe.u32 %0, %1, %2, 7;" : "=r"(y) : "r"(x), "r"(n));
    SAME(y, x >> n & 127);
    asm("bfe.s32 %0, %1, %2, 7;" : "=r"(y) : "r"(x), "r"(n));
    SAME(y, int(x << (25 - n)) >> 25);
    asm("bfi.b32 %0, %1, %2, %3, 5;" : "=r"(y) : "r"(x), "r"(~x), "r"(n));
    SAME(y, (~x & ~(31u << n)) | (x & 31) << n);
    asm("bfind.u32 %0, %1;" : "=r"(y) : "r"(x));
    SAME(y, x ? 31u - __clz(x) : ~0u);
    asm("bfind.shiftamt.s32 %0, %1;" : "=r"(y) : "r"(x | 1));
    SAME(y, int(x) < 0 ? (unsigned)__clz(~(x | 1)) : (unsigned)__clz(x | 1));
    asm("szext.clamp.s32 %0, %1, %2;" : "=r"(y) : "r"(x), "r"(9));
    SAME(y, int(x << 23) >> 23);
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(y) : "r"(n), "r"(6));
    SAME(y, 63u << n);
    asm("lop3.b32 %0, %1, %2, %3, 0x6a;" : "=r"(y) : "r"(x), "r"(x >> 3), "r"(x >> 9));
    SAME(y, ((x & (x >> 3)) ^ (x >> 9)));
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(y) : "r"(x), "r"(~x), "r"(1));
    SAME(y, ((unsigned long long)~x << 32 | x) >> 8);
    asm("prmt.b32.b4e %0, %1, %2, 0;" : "=r"(y) : "r"(x), "r"(~x));
    SAME(y & 0xff, x & 0xff);
    asm("prmt.b32.rc8 %0, %1, 0, 2;" : "=r"(y) : "r"(x));
    SAME(y, (x >> 16 & 255) * 0x01010101u);
    asm("prmt.b32.rc16 %0, %1, 0, 1;" : "=r"(y) : "r"(x));
    SAME(y, (x >> 16) * 0x10001u);
}

TEST(predicates, 1, 64) {
    const int x = hide((int)threadIdx.x);
    int y;
    asm("{\n\t.reg .pred p, q, r;\n\tsetp.lt.and.s32 p|q, %1, 20, 1;\n\tsetp.gt.or.s32 r, %1, 50, !p;\n\t"
        "selp.s32 %0, 5, 6, p;\n\t@q add.s32 %0, %0, 10;\n\t@!r add.s32 %0, %0, 100;\n\t}"
        : "=r"(y)
        : "r"(x));
    SAME(y, x < 20 ? 105 : 16);
    asm("slct.s32.s32 %0, 3, 4, %1;" : "=r"(y) : "r"(x - 30));
    SAME(y, x >= 30 ? 3 : 4);
    float f;
    asm("slct.f32.f32 %0, 0f40400000, 0f40800000, %1;" : "=f"(f) : "f"(x - 30.5f));
    SAME(f, x > 30 ? 3.0f : 4.0f);
    asm("set.gt.u32.s32 %0, %1, 40;" : "=r"(y) : "r"(x));
    SAME(y, x > 40 ? -1 : 0);
    asm("set.le.f32.s32 %0, %1, 40;" : "=f"(f) : "r"(x));
    SAME(f, x <= 40 ? 1.0f : 0.0f);
}

TEST(packing, 1, 64) {
    const unsigned x = hide(threadIdx.x * 0x9e3779b9u);
    unsigned short a, b;
    asm("mov.b32 {%0, %1}, %2;" : "=h"(a), "=h"(b) : "r"(x));
    SAME(a, x & 0xffff);
    SAME(b, x >> 16);
    unsigned long long wide;
    asm("mov.b64 %0, {%1, %2};" : "=l"(wide) : "r"(x), "r"(~x));
    SAME(wide, (unsigned long long)~x << 32 | x);
    unsigned short c, d, e, f;
    asm("mov.b64 {%0, %1, %2, %3}, %4;" : "=h"(c), "=h"(d), "=h"(e), "=h"(f) : "l"(wide));
    SAME(d, x >> 16);
    SAME(f, ~x >> 16);
    unsigned y;
    asm("{\n\t.reg .b8 p, q, r, s;\n\tmov.b32 {p, q, r, s}, %1;\n\tmov.b32 %0, {s, r, q, p};\n\t}" : "=r"(y) : "r"(x));
    SAME(y, __byte_perm(x, 0, 0x0123));
    asm("mov.b32 {_, %0}, %1;" : "=h"(a) : "r"(x));
    SAME(a, x >> 16);
    asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(y) : "r"(70000), "r"(-5));
    SAME(y, 0x7ffffffbu);
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, 0;" : "=r"(y) : "r"(300), "r"(7));
    SAME(y & 0xffff, 0xff07u);
}

TEST(numbers, 1, 64) {
    const float x = hide(threadIdx.x * 0.37f - 5);
    float y;
    asm("add.rm.f32 %0, %1, 0f3DCCCCCD;" : "=f"(y) : "f"(x));
    SAME(y, __fadd_rd(x, 0.1f));
    asm("fma.rp.sat.f32 %0, %1, %1, %1;" : "=f"(y) : "f"(x));
    SAME(y, __saturatef(__fmaf_ru(x, x, x)));
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    NEAR(y, exp2((double)x), 1e-6);
    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(fabsf(x) + 2));
    NEAR(y, log2((double)(fabsf(x) + 2)), 1e-5);
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    CHECK(fabsf(y - tanhf(x)) < 2e-3f);
    asm("copysign.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(3.0f));
    SAME(y, copysignf(3.0f, x));
    double d;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(d) : "d"((double)x));
    NEAR(d, 1.0 / x, 1e-5);
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(d) : "d"(fabs((double)x)));
    NEAR(d, 1 / sqrt(fabs((double)x)), 1e-5);
    asm("cvt.rni.f32.f32 %0, %1;" : "=f"(y) : "f"(x));
    SAME(y, rintf(x));
#if __CUDA_ARCH__ >= 800
    unsigned tf32;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(tf32) : "f"(x));
    SAME(tf32 & 0xffffe000u, (__float_as_uint(x) + 0x1000) & 0xffffe000u);
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(0.0f));
    SAME(y, fminf(x, 0.0f));
    asm("max.xorsign.abs.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(-1.0f));
    SAME(fabsf(y), fmaxf(fabsf(x), 1.0f));
#endif
}
