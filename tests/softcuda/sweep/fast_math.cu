// Fast intrinsics by name; under -use_fast_math the plain functions become these.
#include "check.h"

TEST(intrinsics, 1, 64) {
    const float x = hide((int(threadIdx.x) - 31) * 0.0625f + 0.01f), p = fabsf(x) + 0.125f;
    CHECK(fabs(__sinf(x) - sin((double)x)) < 1e-5);
    CHECK(fabs(__cosf(x) - cos((double)x)) < 1e-5);
    NEAR(__tanf(x * 0.5f), tan((double)x * 0.5), 1e-4);
    NEAR(__expf(x), exp((double)x), 1e-6);
    NEAR(__exp10f(x), exp10((double)x), 1e-5);
    CHECK(fabs(__logf(p) - log((double)p)) < 1e-5);
    CHECK(fabs(__log2f(p) - log2((double)p)) < 1e-5);
    CHECK(fabs(__log10f(p) - log10((double)p)) < 1e-5);
    NEAR(__powf(p, x), pow((double)p, (double)x), 1e-5);
    NEAR(__fdividef(x, p), (double)x / p, 1e-6);
    float s, c;
    __sincosf(x, &s, &c);
    CHECK(fabs(s - sin((double)x)) < 1e-5 && fabs(c - cos((double)x)) < 1e-5);
    NEAR(fdividef(x, p), (double)x / p, 1e-6);
    SAME(__saturatef(x * 2), fminf(fmaxf(x * 2, 0.0f), 1.0f));
}

TEST(plain, 1, 64) {
    const float x = hide((int(threadIdx.x) - 31) * 0.0625f + 0.01f), p = fabsf(x) + 0.125f;
    CHECK(fabs(sinf(x) - sin((double)x)) < 1e-5);
    CHECK(fabs(cosf(x) - cos((double)x)) < 1e-5);
    CHECK(fabs(tanf(x * 0.5f) - tan((double)x * 0.5)) < 1e-4);
    NEAR(expf(x), exp((double)x), 2e-6);
    NEAR(exp2f(x), exp2((double)x), 2e-6);
    CHECK(fabs(logf(p) - log((double)p)) < 1e-5);
    NEAR(powf(p, x), pow((double)p, (double)x), 1e-5);
    NEAR(x / p, (double)x / p, 1e-6);
    NEAR(1.0f / p, 1.0 / p, 1e-6);
    NEAR(sqrtf(p), sqrt((double)p), 1e-6);
    NEAR(rsqrtf(p), 1 / sqrt((double)p), 1e-6);
    CHECK(fabs(tanhf(x) - tanh((double)x)) < 1e-3);
    NEAR(normcdff(x), normcdf((double)x), 1e-5);
    NEAR(cbrtf(p), cbrt((double)p), 1e-5);
    NEAR(fmaf(x, p, 1.0f), (double)x * p + 1, 1e-5);
    NEAR(x * p + 1.0f, (double)x * p + 1, 1e-5);
    SAME(fmaxf(x, p), x > p ? x : p);
    SAME(x < p ? x : p, fminf(x, p));
    SAME(int(x * 100), __float2int_rz(x * 100));
}
