// Circular convolution as it is written down, one plane a block. REAL is float or double; STRIP divides W.
#ifndef REAL
#define REAL float
#endif
#ifndef STRIP
#define STRIP 8
#endif
using Index = long long;

constexpr int AT_ONCE = STRIP;  // a pragma reads no macros

extern __shared__ __align__(16) char memory[];

// --8<-- [start:direct]
// y[h, w] = Σ k[u, v] x[h - u, w - v], indices modulo H and W. Block: one plane; planes of one channel have
// one filter. A thread computes strips of STRIP neighbours of a row; STRIP divides W.
extern "C" __global__ void direct(const REAL* x, const REAL* taps, REAL* y, int channels, int H, int W) {
    int pitch = 2 * W + 1;  // rows are kept twice, so that w - v needs no modulo; + 1 for the banks
    REAL* plane = (REAL*)memory;
    REAL* k = plane + H * pitch;
    x += (Index)blockIdx.x * H * W, y += (Index)blockIdx.x * H * W;
    taps += (Index)(blockIdx.x % channels) * H * W;
    for (int i = threadIdx.x; i < H * W; i += blockDim.x) {
        plane[i / W * pitch + i % W] = plane[i / W * pitch + i % W + W] = x[i];
        k[i] = taps[i];
    }
    __syncthreads();
    for (int s = threadIdx.x; s < H * (W / STRIP); s += blockDim.x) {
        int h = s % H, left = s / H * STRIP;
        REAL sum[STRIP] = {};
        for (int u = 0; u < H; ++u) {
            const REAL* row = plane + (h < u ? h - u + H : h - u) * pitch + left + W;  // row[j - v]
            REAL near[STRIP];
#pragma unroll
            for (int j = 0; j < STRIP; ++j) near[j] = row[j];
#pragma unroll AT_ONCE
            for (int v = 0; v < W; ++v) {
                REAL tap = k[u * W + v];
#pragma unroll
                for (int j = 0; j < STRIP; ++j) sum[j] += tap * near[j];
#pragma unroll
                for (int j = STRIP - 1; j > 0; --j) near[j] = near[j - 1];  // renamed, not moved: the loop is unrolled
                near[0] = row[-v - 1];
            }
        }
        for (int j = 0; j < STRIP; ++j) y[h * W + left + j] = sum[j];
    }
}
// --8<-- [end:direct]
