// v10: v9 with its sizes as parameters, set by the program that compiles it (see _gemm.py):
//   BM x BN  of C per block          BK      steps along K per tile       STAGES  tiles of A and B in flight
//   WM x WN  of C per warp           TM x TN of C per thread              MINB    blocks that must fit an SM
//   GROUP    rows of blocks that are taken together, so that they share columns of B in the L2

constexpr int WARPS = (BM / WM) * (BN / WN), THREADS = WARPS * 32;
constexpr int LANE_ROWS = WM / TM, LANE_COLUMNS = WN / TN;
constexpr int PITCH = BM + 4;  // of the transposed tile of A
constexpr int A_TILE = BK * PITCH, B_TILE = BK * BN;
static_assert(LANE_ROWS * LANE_COLUMNS == 32 && LANE_COLUMNS % 2 == 0 && TM % 4 == 0 && TN % 4 == 0, "32 lanes");
static_assert(THREADS % 8 == 0 && BM % (THREADS / 8) == 0 && BK % 8 == 0 && BK * BN % (4 * THREADS) == 0, "copies");
static_assert(THREADS % BN == 0 && STAGES >= 2, "copies");

// --8<-- [start:async]
__device__ __forceinline__ void async4(float* to, const float* from, bool in) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(in ? 4 : 0)
                 : "memory");
}
__device__ __forceinline__ void async16(float* to, const float* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
}
__device__ __forceinline__ void async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING>
__device__ __forceinline__ void async_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
// --8<-- [end:async]

enum Copies { TESTED, INSIDE, ALIGNED };  // each element tested; none outside C's rows and columns; also whole along K
template <Copies C>
struct Constant {
    static constexpr Copies value = C;
};

// --8<-- [start:v10]
extern "C" __global__ void __launch_bounds__(THREADS, MINB)
    gemm_v10(int M, int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B, float beta,
             float* C) {
    extern __shared__ float4 shared_[];
    float *As = (float*)shared_, *Bs = As + STAGES * A_TILE;
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int y = warp / (BN / WN) * WM + lane / 2 % LANE_ROWS * 4;
    const int x = warp % (BN / WN) * WN + (lane % 2 + lane / (2 * LANE_ROWS) * 2) * 4;

    // blocks in groups of GROUP rows, column by column
    const int tiles_m = (M + BM - 1) / BM, tiles_n = (N + BN - 1) / BN, per_group = GROUP * tiles_n;
    const int first = blockIdx.x / per_group * GROUP, rows = min(GROUP, tiles_m - first), i = blockIdx.x % per_group;
    const int own_top = (first + i % rows) * BM, own_left = i / rows * BN;

    // whole: no row and no column of this block's tile lies outside. At the edges a tile moves back and overlaps its neighbour.
    const bool whole = M >= BM && N >= BN, vectors = N % 4 == 0;  // then rows of B begin at multiples of 16 bytes
    const int top = whole ? min(own_top, M - BM) : own_top, left = whole ? min(own_left, N - BN) : own_left;
    const float* const a_from = A + (size_t)(top + t / 8) * K + t % 8;
    const float* const b_from = B + (size_t)(t / (BN / 4)) * N + left + t % (BN / 4) * 4;
    const float* const b_from_4 = B + (size_t)(t / BN) * N + left + t % BN;

    auto fetch = [&](auto how, int stage, int k0) {
        float *as = As + stage * A_TILE, *bs = Bs + stage * B_TILE;
        if (how.value == ALIGNED || (how.value == INSIDE && k0 + BK <= K)) {
            const float* a = a_from + k0;
#pragma unroll
            for (int r = 0; r < BM; r += THREADS / 8)
#pragma unroll
                for (int c = 0; c < BK; c += 8)
                    async4(as + (t % 8 + c) * PITCH + t / 8 + r, a + (size_t)r * K + c, true);
            if (how.value == ALIGNED || vectors) {
                const float* b = b_from + (size_t)k0 * N;
#pragma unroll
                for (int r = 0; r < BK; r += THREADS / (BN / 4)) async16(bs + r * BN + t * 4, b + (size_t)r * N);
            } else {
                const float* b = b_from_4 + (size_t)k0 * N;
#pragma unroll
                for (int r = 0; r < BK; r += THREADS / BN) async4(bs + r * BN + t, b + (size_t)r * N, true);
            }
        } else {
#pragma unroll 1
            for (int e = t; e < BM * BK; e += THREADS) {
                int r = e / BK, c = e % BK;
                bool in = top + r < M && k0 + c < K;
                async4(as + c * PITCH + r, in ? A + (size_t)(top + r) * K + k0 + c : A, in);
            }
#pragma unroll 1
            for (int e = t; e < BK * BN; e += THREADS) {
                int r = e / BN, c = e % BN;
                bool in = k0 + r < K && left + c < N;
                async4(bs + e, in ? B + (size_t)(k0 + r) * N + left + c : B, in);
            }
        }
    };

    float sum[TM][TN] = {};
    auto multiply = [&](auto how) {
        const int tiles = (K + BK - 1) / BK;
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
            if (s < tiles) fetch(how, s, s * BK);
            async_commit();
        }
        int use = 0, fill = STAGES - 1;
        for (int tile = 0; tile < tiles; tile++) {
            async_wait<STAGES - 2>();
            __syncthreads();
            if (tile + STAGES - 1 < tiles) fetch(how, fill, (tile + STAGES - 1) * BK);
            async_commit();
            const float *as = As + use * A_TILE + y, *bs = Bs + use * B_TILE + x;
#pragma unroll
            for (int k = 0; k < BK; k++) {
                float a[TM], b[TN];
#pragma unroll
                for (int i = 0; i < TM; i += 4) *(float4*)(a + i) = *(const float4*)(as + k * PITCH + i * LANE_ROWS);
#pragma unroll
                for (int j = 0; j < TN; j += 4) *(float4*)(b + j) = *(const float4*)(bs + k * BN + j * LANE_COLUMNS);
#pragma unroll
                for (int i = 0; i < TM; i++)
#pragma unroll
                    for (int j = 0; j < TN; j++) {  // to and fro: the last b of a row is the first of the next
                        int jj = i % 2 ? TN - 1 - j : j;
                        sum[i][jj] = fmaf(a[i], b[jj], sum[i][jj]);
                    }
            }
            use = use + 1 == STAGES ? 0 : use + 1;
            fill = fill + 1 == STAGES ? 0 : fill + 1;
        }
    };
    if (whole && vectors && K % BK == 0)
        multiply(Constant<ALIGNED>{});
    else if (whole)
        multiply(Constant<INSIDE>{});
    else
        multiply(Constant<TESTED>{});

#pragma unroll
    for (int i = 0; i < TM; i++) {
        int row = top + y + i / 4 * 4 * LANE_ROWS + i % 4;
        if (row < own_top || row >= M) continue;  // a neighbour's, or none
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            int column = left + x + j * LANE_COLUMNS;
            float *c = C + (size_t)row * N + column, *s = &sum[i][j];
            if (vectors) {
                if (column < own_left || column >= N) continue;
                float4 old = beta == 0 ? float4{} : *(float4*)c;
                float4 now = {alpha * s[0], alpha * s[1], alpha * s[2], alpha * s[3]};
                if (beta != 0)
                    now.x += beta * old.x, now.y += beta * old.y, now.z += beta * old.z, now.w += beta * old.w;
                *(float4*)c = now;
            } else {
                for (int n = 0; n < 4; n++)
                    if (column + n >= own_left && column + n < N)
                        c[n] = beta == 0 ? alpha * s[n] : alpha * s[n] + beta * c[n];
            }
        }
    }
}
// --8<-- [end:v10]
