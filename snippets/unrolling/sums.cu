// Sums of integers: how often the loop is unrolled, and whether its bounds are known at compile time.
// Each block of BLOCK threads writes one partial sum; the caller adds these up.
constexpr int BLOCK = 256;

// --8<-- [start:finish]
// The sum over the block, from one number per thread, into out[blockIdx.x].
__device__ void finish(int sum, int* out) {
    __shared__ int warps[BLOCK / 32];
    for (int s = 16; s > 0; s /= 2) sum += __shfl_down_sync(0xffffffff, sum, s);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < BLOCK / 32; ++w) sum += warps[w];
        out[blockIdx.x] = sum;
    }
}
// --8<-- [end:finish]

// --8<-- [start:stride]
template <int UNROLL>
__device__ void stride_sum(const int* data, int* out, int n) {
    int step = gridDim.x * BLOCK, sum = 0;
#pragma unroll UNROLL
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += step) sum += data[i];
    finish(sum, out);
}
// --8<-- [end:stride]

extern "C" {
__global__ void sum_1(const int* data, int* out, int n) { stride_sum<1>(data, out, n); }
__global__ void sum_2(const int* data, int* out, int n) { stride_sum<2>(data, out, n); }
__global__ void sum_4(const int* data, int* out, int n) { stride_sum<4>(data, out, n); }
__global__ void sum_8(const int* data, int* out, int n) { stride_sum<8>(data, out, n); }

// --8<-- [start:plain]
__global__ void sum_plain(const int* data, int* out, int n) {
    int step = gridDim.x * BLOCK, sum = 0;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += step) sum += data[i];
    finish(sum, out);
}
// --8<-- [end:plain]

// --8<-- [start:unsigned]
__global__ void sum_unsigned(const int* data, int* out, unsigned n) {
    unsigned step = gridDim.x * BLOCK;
    int sum = 0;
    for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += step) sum += data[i];
    finish(sum, out);
}
// --8<-- [end:unsigned]

// --8<-- [start:pragma]
__global__ void sum_unsigned_4(const int* data, int* out, unsigned n) {
    unsigned step = gridDim.x * BLOCK;
    int sum = 0;
#pragma unroll 4
    for (unsigned i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += step) sum += data[i];
    finish(sum, out);
}
// --8<-- [end:pragma]

// --8<-- [start:work]
// One number per thread …
__global__ void sum_one(const int* data, int* out, int n) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    finish(i < n ? data[i] : 0, out);
}

// … and eight, BLOCK apart, with an eighth of the blocks: the "unroll8" of older tutorials.
__global__ void sum_eight(const int* data, int* out, int n) {
    int i = blockIdx.x * BLOCK * 8 + threadIdx.x, sum = 0;
    for (int k = 0; k < 8; ++k)
        if (i + k * BLOCK < n) sum += data[i + k * BLOCK];
    finish(sum, out);
}
// --8<-- [end:work]

}  // extern "C"

// --8<-- [start:tree]
// A tree in shared memory over THREADS threads. 0: as many as the launch says, so that the compiler does not know how
// often the loop over s runs.
template <int THREADS>
__device__ void tree(const int* data, int* out, int n) {
    extern __shared__ int tile[];
    int threads = THREADS ? THREADS : blockDim.x, t = threadIdx.x;
    int step = gridDim.x * threads, sum = 0;
    for (int i = blockIdx.x * threads + t; i < n; i += step) sum += data[i];
    tile[t] = sum;
    for (int s = threads / 2; s > 0; s /= 2) {
        __syncthreads();
        if (t < s) tile[t] += tile[t + s];
    }
    if (t == 0) out[blockIdx.x] = tile[0];
}
// --8<-- [end:tree]
extern "C" __global__ void tree_run_time(const int* data, int* out, int n) { tree<0>(data, out, n); }
extern "C" __global__ void tree_template(const int* data, int* out, int n) { tree<BLOCK>(data, out, n); }
