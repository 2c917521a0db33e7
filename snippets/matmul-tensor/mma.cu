// C = A Bᵀ in bf16 with sums in fp32, by mma.sync, which every GPU since Ampere has. A is M x K, B is N x K, C is M x N, all
// row-major; K and N are multiples of 8.
#include <cuda_bf16.h>
typedef __nv_bfloat16 bf16;

// --8<-- [start:mma]
// d += a bᵀ: 16 x 8 sums, 16 products each. Lane l has, as pairs of neighbours along K, rows l/4 and l/4 + 8 of a and row l/4
// of b; and of d, rows l/4 and l/4 + 8, columns l%4*2 and the next.
__device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, "
        "%2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// --8<-- [end:mma]
__device__ __forceinline__ void store(bf16* C, int M, int N, int row, int column, const float (&d)[4]) {
    const int r = row + threadIdx.x % 32 / 4, c = column + threadIdx.x % 4 * 2;
    if (c >= N) return;
    if (r < M) *(__nv_bfloat162*)(C + (size_t)r * N + c) = __floats2bfloat162_rn(d[0], d[1]);
    if (r + 8 < M) *(__nv_bfloat162*)(C + (size_t)(r + 8) * N + c) = __floats2bfloat162_rn(d[2], d[3]);
}

// --8<-- [start:v0]
// Two neighbours along K of a row, or zeros outside of the matrix.
__device__ __forceinline__ unsigned pair(const bf16* x, int rows, int K, int row, int k) {
    return row < rows && k < K ? *(const unsigned*)(x + (size_t)row * K + k) : 0;
}
// 8 warps, 2 x 4, each 16 x 8 of C
extern "C" __global__ void __launch_bounds__(256) gemm_v0(const bf16* A, const bf16* B, bf16* C, int M, int N, int K) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = blockIdx.y * 32 + warp / 4 * 16, column = blockIdx.x * 32 + warp % 4 * 8;
    float d[4] = {};
    for (int k = 0; k < K; k += 16) {
        const int r = row + lane / 4, n = column + lane / 4, c = k + lane % 4 * 2;
        const unsigned a[4] = {pair(A, M, K, r, c), pair(A, M, K, r + 8, c), pair(A, M, K, r, c + 8),
                               pair(A, M, K, r + 8, c + 8)};
        mma(d, a, pair(B, N, K, n, c), pair(B, N, K, n, c + 8));
    }
    store(C, M, N, row, column, d);
}
// --8<-- [end:v0]

constexpr int BM = 128, BN = 128, BK = 64, THREADS = 256;  // a row of a tile is 128 bytes, 8 chunks of 16
constexpr int A_BYTES = BM * BK * 2, B_BYTES = BN * BK * 2;

// --8<-- [start:place]
template <bool SWIZZLED>  // where a tile has a chunk: 8 rows below each other, the same 4 banks or 8 different ones
__device__ __forceinline__ int place(int row, int chunk) {
    return row * 128 + (SWIZZLED ? chunk ^ row % 8 : chunk) * 16;
}
// --8<-- [end:place]
// --8<-- [start:multiply]
__device__ __forceinline__ void ldmatrix(unsigned (&to)[4], unsigned at) {  // four of 8 x 8; each lane names a row
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at)
                 : "memory");
}
// A step along K of a block: 2 x 4 warps, each 64 x 32 of C
template <bool SWIZZLED>
__device__ __forceinline__ void multiply(float (&d)[4][4][4], unsigned As, unsigned Bs) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = warp / 4 * 64, column = warp % 4 * 32;
#pragma unroll
    for (int k = 0; k < BK / 16; k++) {
        unsigned a[4][4], b[2][4];
#pragma unroll
        for (int i = 0; i < 4; i++) ldmatrix(a[i], As + place<SWIZZLED>(row + i * 16 + lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (int j = 0; j < 2; j++)
            ldmatrix(b[j], Bs + place<SWIZZLED>(column + j * 16 + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) mma(d[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
}
// --8<-- [end:multiply]
__device__ __forceinline__ void store_all(bf16* C, int M, int N, const float (&d)[4][4][4]) {
    const int warp = threadIdx.x / 32;
    const int row = blockIdx.y * BM + warp / 4 * 64, column = blockIdx.x * BN + warp % 4 * 32;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) store(C, M, N, row + i * 16, column + j * 8, d[i][j]);
}

// --8<-- [start:v1]
// 128 rows and 64 columns of a matrix to shared memory, through registers
template <bool SWIZZLED>
__device__ __forceinline__ void load_tile(unsigned char* to, const bf16* x, int rows, int K, int row, int k) {
#pragma unroll
    for (int i = 0; i < 128 * 8 / THREADS; i++) {
        const int at = i * THREADS + threadIdx.x, r = at / 8, chunk = at % 8;
        const bool inside = row + r < rows && k + chunk * 8 < K;
        *(uint4*)(to + place<SWIZZLED>(r, chunk)) =
            inside ? *(const uint4*)(x + (size_t)(row + r) * K + k + chunk * 8) : uint4{};
    }
}
template <bool SWIZZLED>
__device__ __forceinline__ void tiled(const bf16* A, const bf16* B, bf16* C, int M, int N, int K) {
    __shared__ __align__(1024) unsigned char As[A_BYTES], Bs[B_BYTES];
    float d[4][4][4] = {};
    for (int k = 0; k < K; k += BK) {
        load_tile<SWIZZLED>(As, A, M, K, blockIdx.y * BM, k);
        load_tile<SWIZZLED>(Bs, B, N, K, blockIdx.x * BN, k);
        __syncthreads();
        multiply<SWIZZLED>(d, (unsigned)__cvta_generic_to_shared(As), (unsigned)__cvta_generic_to_shared(Bs));
        __syncthreads();
    }
    store_all(C, M, N, d);
}
extern "C" __global__ void __launch_bounds__(256, 2)
    gemm_v1(const bf16* A, const bf16* B, bf16* C, int M, int N, int K) {
    tiled<false>(A, B, C, M, N, K);
}
// --8<-- [end:v1]
extern "C" __global__ void __launch_bounds__(256, 2)
    gemm_v2(const bf16* A, const bf16* B, bf16* C, int M, int N, int K) {
    tiled<true>(A, B, C, M, N, K);
}

// --8<-- [start:v3]
constexpr int STAGES = 3;
__device__ __forceinline__ void copy_tile(unsigned to, const bf16* x, int rows, int K, int row, int k) {  // starts it
#pragma unroll
    for (int i = 0; i < 128 * 8 / THREADS; i++) {
        const int at = i * THREADS + threadIdx.x, r = at / 8, chunk = at % 8;
        const int bytes = row + r < rows && k + chunk * 8 < K ? 16 : 0;  // the rest of 16 is filled with zeros
        const bf16* from = bytes ? x + (size_t)(row + r) * K + k + chunk * 8 : x;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + place<true>(r, chunk)), "l"(from),
                     "r"(bytes)
                     : "memory");
    }
}
extern "C" __global__ void __launch_bounds__(256, 2)
    gemm_v3(const bf16* A, const bf16* B, bf16* C, int M, int N, int K) {
    extern __shared__ __align__(1024) unsigned char memory[];
    const unsigned base = (unsigned)__cvta_generic_to_shared(memory);
    auto fetch = [&](int step) {
        if (step * BK < K) {
            const unsigned to = base + step % STAGES * (A_BYTES + B_BYTES);
            copy_tile(to, A, M, K, blockIdx.y * BM, step * BK);
            copy_tile(to + A_BYTES, B, N, K, blockIdx.x * BN, step * BK);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    float d[4][4][4] = {};
    // --8<-- [start:v3_loop]
    for (int step = 0; step < STAGES - 1; step++) fetch(step);
    for (int step = 0; step * BK < K; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // this step's tiles are there, and nobody reads those of the step before
        fetch(step + STAGES - 1);
        const unsigned As = base + step % STAGES * (A_BYTES + B_BYTES);
        multiply<true>(d, As, As + A_BYTES);
    }
    // --8<-- [end:v3_loop]
    store_all(C, M, N, d);
}
// --8<-- [end:v3]
