// C = alpha A B + beta C in fp32 on the CUDA cores, row-major, A: M x K, B: K x N; K and N multiples of 4.
//
// tune.py sets the parameters: a block computes BM x BN of C, a warp WM x WN of it, a thread TM x TN, in steps of BK along K;
// STAGES tiles of A and B are in flight (cp.async); at least MINB blocks fit a multiprocessor; GROUP rows of tiles are taken
// together, so that they share columns of B in the L2.
constexpr int WARPS = (BM / WM) * (BN / WN), THREADS = WARPS * 32;
constexpr int LR = WM / TM, LC = WN / TN;
static_assert(LR * LC == 32, "lanes");
constexpr int LDA = BM + 4;  // the A tile is transposed on its way
constexpr int A_TILE = BK * LDA, B_TILE = BK * BN;

template <bool B>
struct Constant {
    static constexpr bool value = B;
};
__device__ __forceinline__ void copy16(float* to, const float* from, bool in) {
    unsigned s = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(s), "l"(from), "r"(in ? 16 : 0) : "memory");
}
__device__ __forceinline__ void copy4(float* to, const float* from, bool in) {
    unsigned s = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(s), "l"(from), "r"(in ? 4 : 0) : "memory");
}
__device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS, MINB)
    sgemm(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K,
          float alpha, float beta) {
    extern __shared__ float4 shared_[];
    float* As = (float*)shared_;
    float* Bs = As + STAGES * A_TILE;
    const int tid = threadIdx.x, warp = tid / 32, lane = tid % 32;
    const int wr = warp / (BN / WN) * WM, wc = warp % (BN / WN) * WN;
    // quads of lanes stay close in both directions
    const int lr = (lane >> 1) % LR, lc = (lane & 1) | ((lane / (2 * LR)) << 1);
    // tiles in groups of GROUP rows
    const int tiles_m = (M + BM - 1) / BM, tiles_n = (N + BN - 1) / BN;
    int t = blockIdx.x, per = GROUP * tiles_n, g = t / per, first = g * GROUP, rows = min(GROUP, tiles_m - first);
    const int m0 = (first + (t % per) % rows) * BM, n0 = ((t % per) / rows) * BN;

    const float* const a_from = A + (size_t)(m0 + tid / 8) * K + tid % 8;
    const float* const b_from = B + (size_t)(tid / (BN / 4)) * N + n0 + tid % (BN / 4) * 4;
    const size_t a_step = (size_t)(THREADS / 8) * K, b_step = (size_t)(THREADS / (BN / 4)) * N;
    const bool whole_tile = m0 + BM <= M && n0 + BN <= N && K % BK == 0;
    auto load = [&](auto whole, int stage, int k0) {
        constexpr int AV = BM * BK, BV = BK * BN / 4, ROWS = THREADS / 8;
        if constexpr (whole.value) {
            float* sa = As + stage * A_TILE + tid % 8 * LDA + tid / 8;
            float* sb = Bs + stage * B_TILE + tid * 4;
            const float* ga = a_from + k0;
            const float* gb = b_from + (size_t)k0 * N;
#pragma unroll
            for (int i = 0; i < BM / ROWS; i++, ga += a_step)
#pragma unroll
                for (int c = 0; c < BK; c += 8) copy4(sa + i * ROWS + c * LDA, ga + c, true);
#pragma unroll
            for (int i = 0; i < BV / THREADS; i++, gb += b_step) copy16(sb + i * THREADS * 4, gb, true);
            return;
        }
#pragma unroll
        for (int i = 0; i < AV / THREADS; i++) {
            int v = tid + i * THREADS, c = v % 8 + v / (8 * BM) * 8, r = v / 8 % BM;
            bool in = m0 + r < M && k0 + c < K;
            copy4(As + stage * A_TILE + c * LDA + r, in ? A + (size_t)(m0 + r) * K + k0 + c : A, in);
        }
#pragma unroll
        for (int i = 0; i < (BV + THREADS - 1) / THREADS; i++) {
            int v = tid + i * THREADS;
            if (BV % THREADS == 0 || v < BV) {
                int r = v / (BN / 4), c = v % (BN / 4) * 4;
                bool in = k0 + r < K && n0 + c < N;
                copy16(Bs + stage * B_TILE + r * BN + c, in ? B + (size_t)(k0 + r) * N + n0 + c : B, in);
            }
        }
    };
    float acc[TM][TN] = {};
    const int steps = (K + BK - 1) / BK;
    auto multiply = [&](auto whole) {
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) {
            if (s < steps) load(whole, s, s * BK);
            commit();
        }
        int use = 0, fill = STAGES - 1;
        for (int step = 0; step < steps; step++) {
            wait<STAGES - 2>();
            __syncthreads();
            if (step + STAGES - 1 < steps) load(whole, fill, (step + STAGES - 1) * BK);
            commit();
            const float* a0 = As + use * A_TILE + wr + lr * 4;
            const float* b0 = Bs + use * B_TILE + wc + lc * 4;
#pragma unroll
            for (int k = 0; k < BK; k++) {
                float a[TM], b[TN];
#pragma unroll
                for (int i = 0; i < TM; i += 4) *(float4*)(a + i) = *(const float4*)(a0 + k * LDA + i * LR);
#pragma unroll
                for (int j = 0; j < TN; j += 4) *(float4*)(b + j) = *(const float4*)(b0 + k * BN + j * LC);
#pragma unroll
                for (int i = 0; i < TM; i++)
#pragma unroll
                    for (int j = 0; j < TN; j++)
                        acc[i][(i & 1) ? TN - 1 - j : j] =
                            fmaf(a[i], b[(i & 1) ? TN - 1 - j : j], acc[i][(i & 1) ? TN - 1 - j : j]);
            }
            use = use + 1 == STAGES ? 0 : use + 1;
            fill = fill + 1 == STAGES ? 0 : fill + 1;
        }
    };
    if (whole_tile)
        multiply(Constant<true>{});
    else
        multiply(Constant<false>{});
#pragma unroll
    for (int i = 0; i < TM; i++) {
        int r = m0 + wr + lr * 4 + (i / 4) * 4 * LR + i % 4;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            int c = n0 + wc + lc * 4 + j * LC;
            if (r < M && c < N) {
                float4* p = (float4*)(C + (size_t)r * N + c);
                float4 o = {alpha * acc[i][j], alpha * acc[i][j + 1], alpha * acc[i][j + 2], alpha * acc[i][j + 3]};
                if (beta != 0) {
                    float4 q = *p;
                    o.x += beta * q.x;
                    o.y += beta * q.y;
                    o.z += beta * q.z;
                    o.w += beta * q.w;
                }
                *p = o;
            }
        }
    }
}
