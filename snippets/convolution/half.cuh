// What both implicit GEMMs in fp16 share: layouts, and how a step of tiles gets into shared memory. x[n][h][w][c], weights
// w[k][r][s][c], y[n][p][q][k]. The channels of a group, in and out, are multiples of 8, so 16 bytes never cross from one tap
// to the next. BN, STAGES and MINB are defined before.
#include <cuda_fp16.h>

struct Shape {
    int N, H, W, C, K, R, S, P, Q;
    int stride, pad_h, pad_w, dilation, groups, spread, whole;
};

constexpr int BM = 128, BK = 64, THREADS = 256;  // a row of a tile is 128 bytes, 8 chunks of 16
constexpr int A_BYTES = BM * BK * 2, B_BYTES = BN * BK * 2;

__device__ __forceinline__ int chunk_at(int row, int chunk) { return row * 128 + (chunk ^ row % 8) * 16; }
__device__ __forceinline__ void async16(unsigned to, const half* from, bool in) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(in ? 16 : 0) : "memory");
}

// --8<-- [start:fetch]
struct Tiles {  // of a block; this thread's share of their copies
    const Shape& s;
    const half *x, *w;
    const unsigned base;
    const int t, chunk, left, channels, filters, depth;
    int image[4], row0[4], column0[4];  // of the four outputs whose chunks this thread copies

    __device__ __forceinline__ Tiles(const Shape& s, const half* x, const half* w, unsigned base, int top, int left)
        : s(s), x(x), w(w), base(base), t(threadIdx.x), chunk(threadIdx.x % 8), left(left), channels(s.C / s.groups),
          filters(s.K / s.groups), depth(s.R * s.S * channels) {
        const int outputs = s.N * s.P * s.Q;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int m = top + t / 8 + 32 * i;
            image[i] = m < outputs ? m / s.Q / s.P * s.H : -1;
            row0[i] = m / s.Q % s.P * s.stride - s.pad_h, column0[i] = m % s.Q * s.stride - s.pad_w;
        }
    }

    __device__ __forceinline__ void fetch(int step) const {
        const int k = step * BK + chunk * 8, tap = k / channels, c = k % channels;
        const int down = tap / s.S * s.dilation, right = tap % s.S * s.dilation;
        const unsigned to = base + step % STAGES * (A_BYTES + B_BYTES);
        if (step * BK < depth) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int h = row0[i] + down, v = column0[i] + right;
                bool in = image[i] >= 0 && k < depth && (unsigned)h < s.H && (unsigned)v < s.W;
                const half* from = in ? x + (size_t)((image[i] + h) * s.W + v) * s.C + c : x;
                async16(to + chunk_at(t / 8 + 32 * i, chunk), from, in);
            }
#pragma unroll
            for (int i = 0; i < BN / 32; i++) {
                int n = t / 8 + 32 * i;
                bool in = left + n < filters && k < depth;
                async16(to + A_BYTES + chunk_at(n, chunk), in ? w + (size_t)(left + n) * depth + k : w, in);
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
};
// --8<-- [end:fetch]
