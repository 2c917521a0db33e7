// One loop, three accumulators: what does care cost, and what does it buy?
using Index = long long;
constexpr int BLOCK = 256;

// --8<-- [start:accumulators]
struct Plain {
    float s;
    __device__ void add(float x) { s += x; }
    __device__ void merge(Plain o) { s += o.s; }
    __device__ Plain down(int d) const { return {__shfl_down_sync(0xffffffff, s, d)}; }
    __device__ float value() const { return s; }
};

struct Kahan {
    float s, c;  // c: what the last addition to s lost
    __device__ void add(float x) {
        float y = x + c;
        float t = s + y;
        c = y - (t - s);
        s = t;
    }
    __device__ void merge(Kahan o) { add(o.s), add(o.c); }
    __device__ Kahan down(int d) const {
        return {__shfl_down_sync(0xffffffff, s, d), __shfl_down_sync(0xffffffff, c, d)};
    }
    __device__ float value() const { return s + c; }
};

struct Double {
    double s;
    __device__ void add(float x) { s += x; }
    __device__ void merge(Double o) { s += o.s; }
    __device__ Double down(int d) const { return {__shfl_down_sync(0xffffffff, s, d)}; }
    __device__ float value() const { return (float)s; }
};
// --8<-- [end:accumulators]

// The sum of a block's accumulators, in thread 0.
template <typename A>
__device__ A block_sum(A a) {
    __shared__ A warps[BLOCK / 32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int d = 16; d > 0; d /= 2) a.merge(a.down(d));
    if (lane == 0) warps[warp] = a;
    __syncthreads();
    a = lane < BLOCK / 32 ? warps[lane] : A{};
    for (int d = BLOCK / 64; d > 0; d /= 2) a.merge(a.down(d));
    return a;
}

// n must be a multiple of 4.
template <typename A>
__device__ void sum_with(const float* data, A* partial, Index n) {
    const float4* packs = reinterpret_cast<const float4*>(data);
    Index step = (Index)gridDim.x * BLOCK;
    A a[4] = {};
    for (Index i = (Index)blockIdx.x * BLOCK + threadIdx.x; i < n / 4; i += step) {
        float4 p = packs[i];
        a[0].add(p.x), a[1].add(p.y), a[2].add(p.z), a[3].add(p.w);
    }
    a[0].merge(a[1]), a[2].merge(a[3]), a[0].merge(a[2]);
    A total = block_sum(a[0]);
    if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

// One block adds the partial sums and rounds to float.
template <typename A>
__device__ void finish_with(const A* partial, float* out, int count) {
    A a = {};
    for (int i = threadIdx.x; i < count; i += BLOCK) a.merge(partial[i]);
    a = block_sum(a);
    if (threadIdx.x == 0) *out = a.value();
}

extern "C" {
__global__ void reduce_f32_plain(const float* data, Plain* partial, Index n) { sum_with(data, partial, n); }
__global__ void reduce_f32_kahan(const float* data, Kahan* partial, Index n) { sum_with(data, partial, n); }
__global__ void reduce_f32_double(const float* data, Double* partial, Index n) { sum_with(data, partial, n); }
__global__ void finish_plain(const Plain* partial, float* out, int count) { finish_with(partial, out, count); }
__global__ void finish_kahan(const Kahan* partial, float* out, int count) { finish_with(partial, out, count); }
__global__ void finish_double(const Double* partial, float* out, int count) { finish_with(partial, out, count); }
}
