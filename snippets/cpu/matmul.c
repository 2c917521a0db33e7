/* C += A B on one CPU, row-major, C of m x n and A of m x k: five versions, each one change away from the last.
   v1 and v2 are the same function: v1 is compiled without the vectoriser. */
#include <stdint.h>

/* --8<-- [start:v0] */
void ijk(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
            float sum = c[i * n + j];
            for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
            c[i * n + j] = sum;
        }
}
/* --8<-- [end:v0] */

/* --8<-- [start:v1] */
void ikj(int64_t m, int64_t n, int64_t k, const float* restrict a, const float* restrict b, float* restrict c) {
    for (int64_t i = 0; i < m; ++i)
        for (int64_t p = 0; p < k; ++p) {
            float x = a[i * k + p];
            for (int64_t j = 0; j < n; ++j) c[i * n + j] += x * b[p * n + j];
        }
}
/* --8<-- [end:v1] */

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }

/* --8<-- [start:v3] */
enum { TK = 16, TJ = 384 }; /* a tile of B: 16 x 384 floats, 24 KiB, which an L1 of 32 KiB holds */

void tiled(int64_t m, int64_t n, int64_t k, const float* restrict a, const float* restrict b, float* restrict c) {
    for (int64_t j0 = 0; j0 < n; j0 += TJ)
        for (int64_t p0 = 0; p0 < k; p0 += TK) {
            int64_t j1 = least(j0 + TJ, n), p1 = least(p0 + TK, k);
            for (int64_t i = 0; i < m; ++i) /* every row of A uses this tile */
                for (int64_t p = p0; p < p1; ++p) {
                    float x = a[i * k + p];
                    for (int64_t j = j0; j < j1; ++j) c[i * n + j] += x * b[p * n + j];
                }
        }
}
/* --8<-- [end:v3] */

/* --8<-- [start:v4] */
typedef float vector __attribute__((vector_size(32), aligned(4), may_alias)); /* eight floats, at any address */
enum { RI = 6, RJ = 2, LANES = 8 }; /* C in registers: 6 rows of 2 vectors */
#define UNROLLED _Pragma("GCC unroll 8")

static void tile(int64_t n, int64_t k, int64_t depth, const float* a, const float* b, float* c) {
    vector sum[RI][RJ];
    UNROLLED for (int i = 0; i < RI; ++i)
        UNROLLED for (int j = 0; j < RJ; ++j) sum[i][j] = *(const vector*)(c + i * n + j * LANES);
    for (int64_t p = 0; p < depth; ++p) /* 2 vectors of B and 6 numbers of A serve 12 vector FMAs */
        UNROLLED for (int i = 0; i < RI; ++i)
            UNROLLED for (int j = 0; j < RJ; ++j) sum[i][j] += a[i * k + p] * *(const vector*)(b + p * n + j * LANES);
    UNROLLED for (int i = 0; i < RI; ++i)
        UNROLLED for (int j = 0; j < RJ; ++j) *(vector*)(c + i * n + j * LANES) = sum[i][j];
}
/* --8<-- [end:v4] */

/* What is left over at the right and at the bottom: as in ikj. */
static void rest(int64_t i0, int64_t i1, int64_t j0, int64_t j1, int64_t p0, int64_t p1, int64_t n, int64_t k,
                 const float* restrict a, const float* restrict b, float* restrict c) {
    for (int64_t i = i0; i < i1; ++i)
        for (int64_t p = p0; p < p1; ++p)
            for (int64_t j = j0; j < j1; ++j) c[i * n + j] += a[i * k + p] * b[p * n + j];
}

/* --8<-- [start:v4_loop] */
void registers(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c) {
    for (int64_t j0 = 0; j0 < n; j0 += TJ)
        for (int64_t p0 = 0; p0 < k; p0 += TK) {
            int64_t j1 = least(j0 + TJ, n), p1 = least(p0 + TK, k);
            int64_t ie = m - m % RI, je = j1 - (j1 - j0) % (RJ * LANES); /* whole register tiles end here */
            for (int64_t i = 0; i < ie; i += RI)
                for (int64_t j = j0; j < je; j += RJ * LANES)
                    tile(n, k, p1 - p0, a + i * k + p0, b + p0 * n + j, c + i * n + j);
            rest(0, ie, je, j1, p0, p1, n, k, a, b, c);
            rest(ie, m, j0, j1, p0, p1, n, k, a, b, c);
        }
}
/* --8<-- [end:v4_loop] */

/* --8<-- [start:v5] */
void threads(int64_t m, int64_t n, int64_t k, const float* a, const float* b, float* c, int64_t count) {
    int64_t rows = (m + count - 1) / count;
#pragma omp parallel for num_threads(count) schedule(static, 1)
    for (int64_t t = 0; t < count; ++t) { /* each thread computes rows of its own, and shares nothing that it writes */
        int64_t first = least(t * rows, m), last = least(first + rows, m);
        registers(last - first, n, k, a + first * k, b, c + first * n);
    }
}
/* --8<-- [end:v5] */
