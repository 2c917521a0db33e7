// C[i] = A[i] B[i] for many small products: SIZE x SIZE floats each, row-major, one after another, in fp32.
// The program that compiles this file sets SIZE, a multiple of 16.

constexpr int ELEMENTS = SIZE * SIZE;
constexpr int THREADS = 256;
constexpr int PITCH = SIZE + 4;  // of a tile in shared memory, against bank conflicts
constexpr int SIDE = SIZE / 4;   // threads per row of a product, 4 x 4 elements each
constexpr int PER_PRODUCT = SIDE * SIDE;
constexpr int TOGETHER = PER_PRODUCT < THREADS ? THREADS / PER_PRODUCT : 1;  // products per block in v2

// --8<-- [start:v0]
extern "C" __global__ void __launch_bounds__(THREADS)
    small_v0(const float* __restrict__ A, const float* __restrict__ B, float* C, int products) {
    __shared__ float As[ELEMENTS], Bs[ELEMENTS];
    const size_t at = (size_t)blockIdx.x * ELEMENTS;
    for (int e = threadIdx.x; e < ELEMENTS; e += THREADS) As[e] = A[at + e], Bs[e] = B[at + e];
    __syncthreads();
    for (int e = threadIdx.x; e < ELEMENTS; e += THREADS) {
        float sum = 0;
        for (int k = 0; k < SIZE; k++) sum += As[e / SIZE * SIZE + k] * Bs[k * SIZE + e % SIZE];
        C[at + e] = sum;
    }
}
// --8<-- [end:v0]

// --8<-- [start:tiles]
template <int PRODUCTS>  // per block
__device__ void multiply(const float* __restrict__ A, const float* __restrict__ B, float* C, int products) {
    __shared__ float4 shared[PRODUCTS][2][SIZE][PITCH / 4];
    const int mine = threadIdx.x / PER_PRODUCT, t = threadIdx.x % PER_PRODUCT, ty = t / SIDE, tx = t % SIDE;
    const int product = blockIdx.x * PRODUCTS + mine;
    const size_t at = (size_t)product * (ELEMENTS / 4) + t;  // in 16 bytes
    auto &As = shared[mine][0], &Bs = shared[mine][1];
    if (product < products)
        for (int i = 0; i < 4; i++) {
            int e = t + i * PER_PRODUCT;
            As[e / SIDE][e % SIDE] = ((const float4*)A)[at + i * PER_PRODUCT];
            Bs[e / SIDE][e % SIDE] = ((const float4*)B)[at + i * PER_PRODUCT];
        }
    __syncthreads();
    if (product >= products) return;
    float4 sum[4] = {};  // rows ty, ty + SIDE, ...: neighbouring threads read neighbouring rows
    for (int k = 0; k < SIDE; k++) {
        float4 b[4];
        for (int i = 0; i < 4; i++) b[i] = Bs[4 * k + i][tx];
        for (int i = 0; i < 4; i++) {
            const float4 a = As[ty + i * SIDE][k];
            sum[i].x += a.x * b[0].x + a.y * b[1].x + a.z * b[2].x + a.w * b[3].x;
            sum[i].y += a.x * b[0].y + a.y * b[1].y + a.z * b[2].y + a.w * b[3].y;
            sum[i].z += a.x * b[0].z + a.y * b[1].z + a.z * b[2].z + a.w * b[3].z;
            sum[i].w += a.x * b[0].w + a.y * b[1].w + a.z * b[2].w + a.w * b[3].w;
        }
    }
    for (int i = 0; i < 4; i++) ((float4*)C)[at + i * PER_PRODUCT] = sum[i];
}
// --8<-- [end:tiles]

// --8<-- [start:v1]
extern "C" __global__ void __launch_bounds__(PER_PRODUCT)
    small_v1(const float* __restrict__ A, const float* __restrict__ B, float* C, int products) {
    multiply<1>(A, B, C, products);
}
// --8<-- [end:v1]

// --8<-- [start:v2]
extern "C" __global__ void __launch_bounds__(PER_PRODUCT* TOGETHER)
    small_v2(const float* __restrict__ A, const float* __restrict__ B, float* C, int products) {
    multiply<TOGETHER>(A, B, C, products);
}
// --8<-- [end:v2]
