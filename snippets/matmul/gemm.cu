// C = alpha A B + beta C in fp32 on the CUDA cores, row-major: A is M x K, B is K x N, C is M x N, for any M, N, K >= 1.
// Each kernel differs from the one before it by one change. --8<-- marks the sections that the pages show.

// --8<-- [start:helpers]
__device__ size_t at(int row, int column, int columns) { return (size_t)row * columns + column; }

__device__ float update(float alpha, float sum, float beta, const float* c) {
    return beta == 0 ? alpha * sum : alpha * sum + beta * *c;  // with beta = 0, C may hold anything, also NaN
}
// --8<-- [end:helpers]

// --8<-- [start:vectors]
__device__ void copy4(float* to, const float* from) { *(float4*)to = *(const float4*)from; }

// Four neighbours in a row of X; zeros outside. One load of 16 bytes where the row allows it.
__device__ float4 load4(const float* X, int rows, int columns, int row, int column) {
    const float* p = X + at(row, column, columns);
    if (row < rows && column + 3 < columns && columns % 4 == 0) return *(const float4*)p;
    float v[4];
    for (int i = 0; i < 4; i++) v[i] = row < rows && column + i < columns ? p[i] : 0;
    return {v[0], v[1], v[2], v[3]};
}

__device__ void store4(float* C, int M, int N, int row, int column, float alpha, const float* sum, float beta) {
    float* p = C + at(row, column, N);
    if (row < M && column + 3 < N && N % 4 == 0) {
        float4 old = beta == 0 ? float4{} : *(float4*)p;
        *(float4*)p = {update(alpha, sum[0], beta, &old.x), update(alpha, sum[1], beta, &old.y),
                       update(alpha, sum[2], beta, &old.z), update(alpha, sum[3], beta, &old.w)};
        return;
    }
    for (int i = 0; i < 4; i++)
        if (row < M && column + i < N) p[i] = update(alpha, sum[i], beta, p + i);
}
// --8<-- [end:vectors]

// --8<-- [start:async]
// Copies global -> shared memory that need no register and go on in the background; zeros where `in` is false.
__device__ void async4(float* to, const float* from, bool in) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(in ? 4 : 0)
                 : "memory");
}
__device__ void async16(float* to, const float* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
                 : "memory");
}
__device__ void async_copy4(float* to, const float* X, int rows, int columns, int row, int column) {  // like load4
    const float* from = X + at(row, column, columns);
    if (row < rows && column + 3 < columns && columns % 4 == 0) return async16(to, from);
    for (int i = 0; i < 4; i++) {
        bool in = row < rows && column + i < columns;
        async4(to + i, in ? from + i : X, in);
    }
}
__device__ void async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int PENDING>
__device__ void async_wait() {  // until at most PENDING of this thread's groups are still on their way
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}
// --8<-- [end:async]

extern "C" {

// --8<-- [start:v0]
__global__ void gemm_v0(int M, int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B,
                        float beta, float* C) {
    int row = blockIdx.y * 32 + threadIdx.x, column = blockIdx.x * 32 + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; k++) sum += A[at(row, k, K)] * B[at(k, column, N)];
    float* c = C + at(row, column, N);
    *c = update(alpha, sum, beta, c);
}
// --8<-- [end:v0]

// --8<-- [start:v1]
__global__ void gemm_v1(int M, int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B,
                        float beta, float* C) {
    int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;  // x and y exchanged
    if (row >= M || column >= N) return;
    float sum = 0;
    for (int k = 0; k < K; k++) sum += A[at(row, k, K)] * B[at(k, column, N)];
    float* c = C + at(row, column, N);
    *c = update(alpha, sum, beta, c);
}
// --8<-- [end:v1]

// --8<-- [start:v2]
__global__ void gemm_v2(int M, int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B,
                        float beta, float* C) {
    __shared__ float As[32][32], Bs[32][32];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 32) {
        As[y][x] = row < M && k0 + x < K ? A[at(row, k0 + x, K)] : 0;
        Bs[y][x] = k0 + y < K && column < N ? B[at(k0 + y, column, N)] : 0;
        __syncthreads();  // the tiles are complete
        for (int k = 0; k < 32; k++) sum += As[y][k] * Bs[k][x];
        __syncthreads();  // all threads are done with them
    }
    float* c = C + at(row, column, N);
    if (row < M && column < N) *c = update(alpha, sum, beta, c);
}
// --8<-- [end:v2]

// --8<-- [start:v3]
__global__ void gemm_v3(int M, int N, int K, float alpha, const float* __restrict__ A, const float* __restrict__ B,
                        float beta, float* C) {
    constexpr int BM = 64, BN = 64, BK = 8, TM = 8;  // of a block: BM x BN of C; of a thread: TM rows of one column
    __shared__ float As[BM][BK], Bs[BK][BN];
    int t = threadIdx.x, x = t % BN, y = t / BN * TM, top = blockIdx.y * BM, left = blockIdx.x * BN;
    int ar = t / BK, ac = t % BK, br = t / BN, bc = t % BN;  // the one element of each tile that this thread loads
    float sum[TM] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        As[ar][ac] = top + ar < M && k0 + ac < K ? A[at(top + ar, k0 + ac, K)] : 0;
        Bs[br][bc] = k0 + br < K && left + bc < N ? B[at(k0 + br, left + bc, N)] : 0;
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            float b = Bs[k][x];  // read once, used TM times
            for (int i = 0; i < TM; i++) sum[i] += As[y + i][k] * b;
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++) {
        float* c = C + at(top + y + i, left + x, N);
        if (top + y + i < M && left + x < N) *c = update(alpha, sum[i], beta, c);
    }
}
// --8<-- [end:v3]

// --8<-- [start:v4]
__global__ void __launch_bounds__(256) gemm_v4(int M, int N, int K, float alpha, const float* __restrict__ A,
                                               const float* __restrict__ B, float beta, float* C) {
    constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8, THREADS = 256;
    __shared__ float As[BM][BK], Bs[BK][BN];
    int t = threadIdx.x, x = t % 16 * TN, y = t / 16 * TM, top = blockIdx.y * BM, left = blockIdx.x * BN;
    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int i = t; i < BM * BK; i += THREADS) {
            int r = i / BK, c = i % BK;
            As[r][c] = top + r < M && k0 + c < K ? A[at(top + r, k0 + c, K)] : 0;
        }
        for (int i = t; i < BK * BN; i += THREADS) {
            int r = i / BN, c = i % BN;
            Bs[r][c] = k0 + r < K && left + c < N ? B[at(k0 + r, left + c, N)] : 0;
        }
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; i++) a[i] = As[y + i][k];
            for (int j = 0; j < TN; j++) b[j] = Bs[k][x + j];
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++) sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j++) {
            float* c = C + at(top + y + i, left + x + j, N);
            if (top + y + i < M && left + x + j < N) *c = update(alpha, sum[i][j], beta, c);
        }
}
// --8<-- [end:v4]

// --8<-- [start:v5]
__global__ void __launch_bounds__(256) gemm_v5(int M, int N, int K, float alpha, const float* __restrict__ A,
                                               const float* __restrict__ B, float beta, float* C) {
    constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    __shared__ __align__(16) float As[BK][BM], Bs[BK][BN];  // As is transposed: a thread's rows are neighbours
    int t = threadIdx.x, x = t % 16 * TN, y = t / 16 * TM, top = blockIdx.y * BM, left = blockIdx.x * BN;
    int ar = t / 2, ac = t % 2 * 4, br = t / 32, bc = t % 32 * 4;
    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        float4 four = load4(A, M, K, top + ar, k0 + ac);
        As[ac][ar] = four.x, As[ac + 1][ar] = four.y, As[ac + 2][ar] = four.z, As[ac + 3][ar] = four.w;
        *(float4*)&Bs[br][bc] = load4(B, K, N, k0 + br, left + bc);
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; i += 4) copy4(a + i, &As[k][y + i]);
            for (int j = 0; j < TN; j += 4) copy4(b + j, &Bs[k][x + j]);
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++) sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j += 4) store4(C, M, N, top + y + i, left + x + j, alpha, &sum[i][j], beta);
}
// --8<-- [end:v5]

// --8<-- [start:v6]
__global__ void __launch_bounds__(256) gemm_v6(int M, int N, int K, float alpha, const float* __restrict__ A,
                                               const float* __restrict__ B, float beta, float* C) {
    constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    // --8<-- [start:v6_tiles]
    __shared__ __align__(16) float As[BK][BM + 4], Bs[BK][BN];  // padded: the transposing stores meet all banks
    int t = threadIdx.x, x = t % 16 * 4, y = t / 16 * 4, top = blockIdx.y * BM, left = blockIdx.x * BN;
    int ar = t / 2, ac = t % 2 * 4, br = t / 32, bc = t % 32 * 4;
    float sum[TM][TN] = {};  // of 2 x 2 pieces of 4 x 4, 64 apart: neighbouring threads read neighbouring 16 bytes
    // --8<-- [end:v6_tiles]
    for (int k0 = 0; k0 < K; k0 += BK) {
        float4 four = load4(A, M, K, top + ar, k0 + ac);
        As[ac][ar] = four.x, As[ac + 1][ar] = four.y, As[ac + 2][ar] = four.z, As[ac + 3][ar] = four.w;
        *(float4*)&Bs[br][bc] = load4(B, K, N, k0 + br, left + bc);
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; i += 4) copy4(a + i, &As[k][y + 16 * i]);
            for (int j = 0; j < TN; j += 4) copy4(b + j, &Bs[k][x + 16 * j]);
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++) sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j += 4)
            store4(C, M, N, top + y + i / 4 * 64 + i % 4, left + x + 16 * j, alpha, &sum[i][j], beta);
}
// --8<-- [end:v6]

// --8<-- [start:v7]
__global__ void __launch_bounds__(256) gemm_v7(int M, int N, int K, float alpha, const float* __restrict__ A,
                                               const float* __restrict__ B, float beta, float* C) {
    constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    __shared__ __align__(16) float As[BK][BM + 4], Bs[BK][BN];
    // --8<-- [start:v7_place]
    int t = threadIdx.x, warp = t / 32, lane = t % 32, top = blockIdx.y * BM, left = blockIdx.x * BN;
    int y = warp / 2 * 32 + lane / 2 % 4 * 4, x = warp % 2 * 64 + (lane % 2 + lane / 8 * 2) * 4;  // a warp: 32 x 64
    // --8<-- [end:v7_place]
    int ar = t / 2, ac = t % 2 * 4, br = t / 32, bc = t % 32 * 4;
    float sum[TM][TN] = {};
    for (int k0 = 0; k0 < K; k0 += BK) {
        float4 four = load4(A, M, K, top + ar, k0 + ac);
        As[ac][ar] = four.x, As[ac + 1][ar] = four.y, As[ac + 2][ar] = four.z, As[ac + 3][ar] = four.w;
        *(float4*)&Bs[br][bc] = load4(B, K, N, k0 + br, left + bc);
        __syncthreads();
        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; i += 4) copy4(a + i, &As[k][y + 4 * i]);
            for (int j = 0; j < TN; j += 4) copy4(b + j, &Bs[k][x + 8 * j]);
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++) sum[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j += 4)
            store4(C, M, N, top + y + i / 4 * 16 + i % 4, left + x + 8 * j, alpha, &sum[i][j], beta);
}
// --8<-- [end:v7]

// --8<-- [start:v8]
__global__ void __launch_bounds__(256) gemm_v8(int M, int N, int K, float alpha, const float* __restrict__ A,
                                               const float* __restrict__ B, float beta, float* C) {
    constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8;
    __shared__ __align__(16) float As[2][BK][BM + 4], Bs[2][BK][BN];  // one pair is read while the other is filled
    int t = threadIdx.x, warp = t / 32, lane = t % 32, top = blockIdx.y * BM, left = blockIdx.x * BN;
    int y = warp / 2 * 32 + lane / 2 % 4 * 4, x = warp % 2 * 64 + (lane % 2 + lane / 8 * 2) * 4;
    int ar = t / 2, ac = t % 2 * 4, br = t / 32, bc = t % 32 * 4;
    float sum[TM][TN] = {};
    // --8<-- [start:v8_loop]
    float4 next_a = load4(A, M, K, top + ar, ac), next_b = load4(B, K, N, br, left + bc);
    for (int k0 = 0, s = 0; k0 < K; k0 += BK, s ^= 1) {
        As[s][ac][ar] = next_a.x, As[s][ac + 1][ar] = next_a.y;
        As[s][ac + 2][ar] = next_a.z, As[s][ac + 3][ar] = next_a.w;
        *(float4*)&Bs[s][br][bc] = next_b;
        __syncthreads();  // one per tile: all threads are done with the other pair
        next_a = load4(A, M, K, top + ar, k0 + BK + ac), next_b = load4(B, K, N, k0 + BK + br, left + bc);
        // --8<-- [end:v8_loop]
        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; i += 4) copy4(a + i, &As[s][k][y + 4 * i]);
            for (int j = 0; j < TN; j += 4) copy4(b + j, &Bs[s][k][x + 8 * j]);
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++) sum[i][j] += a[i] * b[j];
        }
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j += 4)
            store4(C, M, N, top + y + i / 4 * 16 + i % 4, left + x + 8 * j, alpha, &sum[i][j], beta);
}
// --8<-- [end:v8]

// --8<-- [start:v9]
__global__ void __launch_bounds__(256) gemm_v9(int M, int N, int K, float alpha, const float* __restrict__ A,
                                               const float* __restrict__ B, float beta, float* C) {
    constexpr int BM = 128, BN = 128, BK = 8, TM = 8, TN = 8, STAGES = 4, THREADS = 256;
    __shared__ __align__(16) float As[STAGES][BK][BM + 4], Bs[STAGES][BK][BN];
    int t = threadIdx.x, warp = t / 32, lane = t % 32, top = blockIdx.y * BM, left = blockIdx.x * BN;
    int y = warp / 2 * 32 + lane / 2 % 4 * 4, x = warp % 2 * 64 + (lane % 2 + lane / 8 * 2) * 4;
    int ar = t / BK, ac = t % BK, br = t / 32, bc = t % 32 * 4;
    // --8<-- [start:v9_fetch]
    auto fetch = [&](int tile) {  // starts the copies of a tile; past the last tile they fill in zeros
        int s = tile % STAGES, k0 = tile * BK;
        for (int i = 0; i < BM; i += THREADS / BK) {  // transposing, so 4 bytes at a time
            bool in = top + ar + i < M && k0 + ac < K;
            async4(&As[s][ac][ar + i], in ? A + at(top + ar + i, k0 + ac, K) : A, in);
        }
        async_copy4(&Bs[s][br][bc], B, K, N, k0 + br, left + bc);
        async_commit();
    };
    // --8<-- [end:v9_fetch]
    // --8<-- [start:v9_loop]
    for (int tile = 0; tile < STAGES - 1; tile++) fetch(tile);
    float sum[TM][TN] = {};
    for (int tile = 0; tile * BK < K; tile++) {
        int s = tile % STAGES;
        async_wait<STAGES - 2>();
        __syncthreads();
        fetch(tile + STAGES - 1);  // into the stage that all threads have read

        // --8<-- [end:v9_loop]
        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; i += 4) copy4(a + i, &As[s][k][y + 4 * i]);
            for (int j = 0; j < TN; j += 4) copy4(b + j, &Bs[s][k][x + 8 * j]);
            for (int i = 0; i < TM; i++)
                for (int j = 0; j < TN; j++) sum[i][j] += a[i] * b[j];
        }
    }
    for (int i = 0; i < TM; i++)
        for (int j = 0; j < TN; j += 4)
            store4(C, M, N, top + y + i / 4 * 16 + i % 4, left + x + 8 * j, alpha, &sum[i][j], beta);
}
// --8<-- [end:v9]

}  // extern "C"
