// What a grid-stride sum can vary: how a block's loads lie in memory, how many are in flight, and what they tell the
// caches. Appended to this file, sweep.py makes one kernel of each combination.
using Index = long long;

enum Pattern {
    TILES,   // a block's loads of one step are neighbours: a tile of UNROLL * blockDim.x packs
    GRIDS,   // each load of one step is a whole grid further
    CHUNKS,  // a block owns one contiguous part of the input
};

template <int HINT>
__device__ float4 load(const float4* p) {
    float4 v;
    if (HINT == 0) return *p;
    if (HINT == 1) return __ldcs(p);  // evict first
    if (HINT == 2)
        asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
            : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
            : "l"(p));
    if (HINT == 3)  // and let the L2 fetch 256 bytes at a time
        asm("ld.global.nc.L1::no_allocate.L2::256B.v4.f32 {%0, %1, %2, %3}, [%4];"
            : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
            : "l"(p));
    return v;
}

__device__ float block_sum(float x) {
    __shared__ float warps[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int s = 16; s > 0; s /= 2) x += __shfl_down_sync(0xffffffff, x, s);
    if (lane == 0) warps[warp] = x;
    __syncthreads();
    x = lane < blockDim.x / 32 ? warps[lane] : 0.0f;
    for (int s = 16; s > 0; s /= 2) x += __shfl_down_sync(0xffffffff, x, s);
    return x;
}

// n must be a multiple of 4.
template <int UNROLL, int PATTERN, int HINT>
__device__ void sweep(const float* data, float* partial, unsigned* arrived, float* out, Index n) {
    const float4* packs = reinterpret_cast<const float4*>(data);
    Index end = n / 4, apart, step, i;  // between the loads of one step; between steps; the first
    if (PATTERN == TILES) {
        apart = blockDim.x;
        step = apart * UNROLL * gridDim.x;
        i = apart * UNROLL * blockIdx.x + threadIdx.x;
    } else if (PATTERN == GRIDS) {
        apart = (Index)blockDim.x * gridDim.x;
        step = apart * UNROLL;
        i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    } else {
        apart = blockDim.x;
        step = apart * UNROLL;
        Index chunk = (end + gridDim.x - 1) / gridDim.x;
        i = chunk * blockIdx.x + threadIdx.x;
        end = min(end, chunk * (blockIdx.x + 1));
    }
    float sum[4] = {0, 0, 0, 0};
    for (; i + (UNROLL - 1) * apart < end; i += step) {
        float4 p[UNROLL];
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) p[k] = load<HINT>(packs + i + k * apart);
#pragma unroll
        for (int k = 0; k < UNROLL; ++k) sum[0] += p[k].x, sum[1] += p[k].y, sum[2] += p[k].z, sum[3] += p[k].w;
    }
    for (int k = 0; k < UNROLL && i < end; ++k, i += apart)
        sum[0] += packs[i].x, sum[1] += packs[i].y, sum[2] += packs[i].z, sum[3] += packs[i].w;

    __shared__ bool last;
    float x = block_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = x;
        __threadfence();
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    x = 0;
    for (int k = threadIdx.x; k < gridDim.x; k += blockDim.x) x += partial[k];
    x = block_sum(x);
    if (threadIdx.x == 0) *out = x;
}
