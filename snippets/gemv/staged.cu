// Appended to tensor.cu: v9, whose blocks bring x to shared memory, and whose warps always have loads of W in flight.

// --8<-- [start:stage]
constexpr int DEEP = 8;                       // steps whose loads a warp has in flight
constexpr int SPAN = DEEP * STEP, SPANS = 3;  // elements of x per row that are staged together, and such buffers
constexpr int LINE = SPAN + 32;               // rows begin 64 bytes apart in the banks: no conflicts
using Span = Bf16[8 * GROUPS][LINE];

// Starts to copy elements k to k + SPAN of all rows of x; zeros instead of what is not there, or beyond `to`.
__device__ void stage(Span& copy, const Bf16* __restrict__ x, int pitch, int k, int to) {
    for (int e = threadIdx.x; e < 8 * GROUPS * SPAN / 8; e += 32 * WARPS) {
        const int m = e / (SPAN / 8), inside = e % (SPAN / 8) * 8;
        const bool there = m < M && k + inside < to;
        asm volatile(
            "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(&copy[m][inside])),
            "l"(there ? x + (size_t)m * pitch + k + inside : x), "r"(there ? 16 : 0)
            : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}
// --8<-- [end:stage]

// --8<-- [start:staged]
// As multiply, for rows that are multiples of 16 bytes. All warps of the block must call it.
__device__ Sums multiply_staged(const Bf16* __restrict__ W, const Bf16* __restrict__ x, int N, int K, int pitch,
                                int top, int from, int to) {
    __shared__ alignas(16) Span spans[SPANS];
    const int row = threadIdx.x % 32 / 4, eight = threadIdx.x % 4 * 8;
    const Bf16* w[2];
    for (int i = 0; i < 2; i++) w[i] = W + (size_t)min(top + row + 8 * i, N - 1) * K + eight;
    uint4 a[DEEP][2];
    auto load = [&](int d, int k) {
        for (int i = 0; i < 2; i++) a[d][i] = k + eight < to ? *(const uint4*)(w[i] + k) : uint4{};
    };
    stage(spans[0], x, pitch, from, to);
    stage(spans[1], x, pitch, from + SPAN, to);
#pragma unroll
    for (int d = 0; d < DEEP; d++) load(d, from + d * STEP);
    Sums sums = {};
    for (int k0 = from, now = 0; k0 < to; k0 += SPAN, now = now == SPANS - 1 ? 0 : now + 1) {
        asm volatile("cp.async.wait_group 1;" ::: "memory");  // all but the newest: this span is here
        __syncthreads();                                      // … for all warps, which are done with the one before it
        stage(spans[now ? now - 1 : SPANS - 1], x, pitch, k0 + 2 * SPAN, to);
#pragma unroll
        for (int d = 0; d < DEEP; d++) {
            for (int g = 0; g < GROUPS; g++) {
                const uint4 b = *(const uint4*)&spans[now][row + 8 * g][d * STEP + eight];
                mma(sums.of[g], a[d][0].x, a[d][1].x, a[d][0].y, a[d][1].y, b.x, b.y);
                mma(sums.of[g], a[d][0].z, a[d][1].z, a[d][0].w, a[d][1].w, b.z, b.w);
            }
            load(d, k0 + SPAN + d * STEP);  // the same step of the next span
        }
    }
    return sums;
}
// --8<-- [end:staged]

// --8<-- [start:v9]
extern "C" __global__ void __launch_bounds__(32 * WARPS, 2)
    gemv_v9(const Bf16* __restrict__ W, const Bf16* __restrict__ x, float* parts, int N, int K, int pitch) {
    const int top = blockIdx.x * ROWS + threadIdx.x / 32 * 16, i = blockIdx.y, splits = gridDim.y;
    const int from = part(K, splits, i), to = part(K, splits, i + 1);
    each(K % 8 == 0 && pitch % 8 == 0 ? multiply_staged(W, x, N, K, pitch, top, from, to)
                                      : multiply(W, x, N, K, pitch, top, from, to),
         N, top, [&](int m, int n, float sum) { parts[((size_t)i * M + m) * N + n] = sum; });
}
// --8<-- [end:v9]
