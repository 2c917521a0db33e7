// Convolution in fp32 with channels last: x[n][h][w][c], weights w[r][s][c][k], y[n][p][q][k]. With groups, c counts within
// a group and k through all of them.

// --8<-- [start:shape]
struct Shape {
    int N, H, W, C, K, R, S, P, Q;  // images, input, channels in and out, filter, output
    int stride, pad_h, pad_w, dilation, groups;
    int spread;  // input row i counts as row i * spread, with zeros between: for the gradient of a stride
    int whole;   // whether rows and taps are whole multiples of what is copied at once, so that nothing need be tested
};

// Where tap r of output p reads: a row (or column) of the input, or -1 for a zero.
__device__ __forceinline__ int source(int first, int r, int dilation, int spread, int size) {
    int at = first + r * dilation;
    if (spread > 1) {
        if (at % spread) return -1;
        at /= spread;
    }
    return at >= 0 && at < size ? at : -1;
}
// --8<-- [end:shape]

// --8<-- [start:direct]
extern "C" __global__ void conv_direct(Shape s, const float* x, const float* w, float* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;  // a thread per output; neighbours differ in k
    if (i >= (unsigned)s.N * s.P * s.Q * s.K) return;
    int k = i % s.K, q = i / s.K % s.Q, p = i / s.K / s.Q % s.P, n = i / s.K / s.Q / s.P;
    int channels = s.C / s.groups, group = k / (s.K / s.groups);
    float sum = 0;
    for (int r = 0; r < s.R; r++)
        for (int t = 0; t < s.S; t++) {
            int row = source(p * s.stride - s.pad_h, r, s.dilation, s.spread, s.H);
            int column = source(q * s.stride - s.pad_w, t, s.dilation, s.spread, s.W);
            if (row < 0 || column < 0) continue;
            const float* from = x + ((size_t)(n * s.H + row) * s.W + column) * s.C + group * channels;
            const float* weight = w + (size_t)(r * s.S + t) * channels * s.K + k;
            for (int c = 0; c < channels; c++) sum += from[c] * weight[(size_t)c * s.K];
        }
    y[i] = sum;
}
// --8<-- [end:direct]

// --8<-- [start:im2col]
extern "C" __global__ void im2col(Shape s, const float* x, float* matrix) {
    int channels = s.C / s.groups, depth = s.R * s.S * channels;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // a thread per element: [output][group][r][t][c]
    if (i >= (size_t)s.N * s.P * s.Q * s.groups * depth) return;
    int column = i % (s.groups * depth), m = i / (s.groups * depth), group = column / depth, k = column % depth;
    int c = k % channels, t = k / channels % s.S, r = k / channels / s.S;
    int q = m % s.Q, p = m / s.Q % s.P, n = m / s.Q / s.P;
    int row = source(p * s.stride - s.pad_h, r, s.dilation, s.spread, s.H);
    int v = source(q * s.stride - s.pad_w, t, s.dilation, s.spread, s.W);
    matrix[i] = row < 0 || v < 0 ? 0 : x[((size_t)(n * s.H + row) * s.W + v) * s.C + group * channels + c];
}
// --8<-- [end:im2col]

// The tiles of the matrix product: BM outputs x BN channels per block, BK products per step; as v10 of the matmul article.
#ifndef BM
#define BM 128
#define BN 64
#define BK 32
#define WM 32
#define WN 64
#define STAGES 2
#define MINB 4
#endif
constexpr int TM = 8, TN = 8, THREADS = BM / WM * (BN / WN) * 32;
constexpr int LANE_ROWS = WM / TM, LANE_COLUMNS = WN / TN, PITCH = BM + 4, A_TILE = BK * PITCH, B_TILE = BK * BN;
static_assert(LANE_ROWS * LANE_COLUMNS == 32 && BK % 8 == 0 && BM % (THREADS / 8) == 0, "tiles");
static_assert(BK * BN % (4 * THREADS) == 0 && BK * BM % (4 * THREADS) == 0 && STAGES >= 2, "copies");

__device__ __forceinline__ void async4(float* to, const float* from, bool in) {  // a zero where nothing is `in`
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(in ? 4 : 0)
                 : "memory");
}
__device__ __forceinline__ void async16(float* to, const float* from, bool in) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(from), "r"(in ? 16 : 0)
                 : "memory");
}

// Four neighbours in a row of a matrix, zeros from `columns` on.
__device__ __forceinline__ void copy_four(float* to, const float* from, int column, int columns, bool in, bool whole) {
    if (whole) return async16(to, in && column < columns ? from + column : from, in && column < columns);
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        bool inside = in && column + i < columns;
        async4(to + i, inside ? from + column + i : from, inside);
    }
}

struct Tile {  // of this block: its place in the product, and this thread's place in it
    int rows, columns, pitch, whole, top, left, y, x;
    __device__ Tile(const Shape& s, int rows) : rows(rows), columns(s.K / s.groups), pitch(s.K), whole(s.whole) {
        int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        top = blockIdx.x * BM, left = blockIdx.y * BN;
        y = warp / (BN / WN) * WM + lane / 2 % LANE_ROWS * 4;
        x = warp % (BN / WN) * WN + (lane % 2 + lane / (2 * LANE_ROWS) * 2) * 4;
    }
};

// --8<-- [start:multiply]
template <class Fetch>
__device__ __forceinline__ void multiply(const Tile& at, float* to, int steps, Fetch fetch) {
    extern __shared__ float4 shared_[];
    float *As = (float*)shared_, *Bs = As + STAGES * A_TILE;
    float sum[TM][TN] = {};
    auto start = [&](int step) {
        if (step < steps) fetch(As + step % STAGES * A_TILE, Bs + step % STAGES * B_TILE, step * BK);
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
#pragma unroll
    for (int step = 0; step < STAGES - 1; step++) start(step);
    for (int step = 0; step < steps; step++) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
        __syncthreads();  // this step's tiles are there, and nobody reads those of the step before
        start(step + STAGES - 1);
        const float *as = As + step % STAGES * A_TILE + at.y, *bs = Bs + step % STAGES * B_TILE + at.x;
#pragma unroll 8
        for (int k = 0; k < BK; k++) {
            float a[TM], b[TN];
#pragma unroll
            for (int i = 0; i < TM; i += 4) *(float4*)(a + i) = *(const float4*)(as + k * PITCH + i * LANE_ROWS);
#pragma unroll
            for (int j = 0; j < TN; j += 4) *(float4*)(b + j) = *(const float4*)(bs + k * BN + j * LANE_COLUMNS);
#pragma unroll
            for (int i = 0; i < TM; i++)
#pragma unroll
                for (int j = 0; j < TN; j++) {
                    int jj = i % 2 ? TN - 1 - j : j;
                    sum[i][jj] = fmaf(a[i], b[jj], sum[i][jj]);
                }
        }
    }
#pragma unroll
    for (int i = 0; i < TM; i++) {
        int row = at.top + at.y + i / 4 * 4 * LANE_ROWS + i % 4;
        if (row >= at.rows) continue;
#pragma unroll
        for (int j = 0; j < TN; j += 4) {
            int column = at.left + at.x + j * LANE_COLUMNS;
            float *y = to + (size_t)row * at.pitch + column, *v = &sum[i][j];
            if (at.whole) {
                if (column < at.columns) *(float4*)y = {v[0], v[1], v[2], v[3]};
            } else
                for (int e = 0; e < 4; e++)
                    if (column + e < at.columns) y[e] = v[e];
        }
    }
}
// --8<-- [end:multiply]

// --8<-- [start:implicit]
// Rows of A are outputs, columns are (r, t, c). If `whole`, a step stays within one tap, and rows of B begin at multiples of
// 16 bytes.
__device__ __forceinline__ void implicit_gemm(const Shape& s, const float* x, const float* w, float* y) {
    __shared__ int2 place[BM];  // of each output: its image, and where tap (0, 0) reads, as two halves
    const int channels = s.C / s.groups, depth = s.R * s.S * channels, t = threadIdx.x, group = blockIdx.z;
    const Tile tile(s, s.N * s.P * s.Q);
    for (int i = t; i < BM; i += THREADS) {
        int m = tile.top + i, q = m % s.Q, p = m / s.Q % s.P;
        place[i] = {m < tile.rows ? m / s.Q / s.P : -1,
                    (p * s.stride - s.pad_h) << 16 | ((q * s.stride - s.pad_w) & 0xffff)};
    }
    __syncthreads();
    x += group * channels, w += group * tile.columns, y += group * tile.columns;

    auto address = [&](int i, int r, int tap) -> const float* {  // of channel 0, or null for zeros
        int2 at = place[i];
        int row = source(at.y >> 16, r, s.dilation, s.spread, s.H);
        int column = source((short)at.y, tap, s.dilation, s.spread, s.W);
        return at.x < 0 || row < 0 || column < 0 ? nullptr : x + (size_t)((at.x * s.H + row) * s.W + column) * s.C;
    };
    multiply(tile, y, (depth + BK - 1) / BK, [&](float* as, float* bs, int k0) {
        if (s.whole) {  // neighbouring threads copy neighbouring channels of one tap
            int tap = k0 / channels, c = k0 % channels + t % 8, r = tap / s.S, v = tap % s.S;
#pragma unroll
            for (int i = 0; i < BM; i += THREADS / 8) {
                const float* from = address(t / 8 + i, r, v);
#pragma unroll
                for (int j = 0; j < BK; j += 8)
                    async4(as + (t % 8 + j) * PITCH + t / 8 + i, from ? from + c + j : x, from);
            }
        } else {
#pragma unroll 1
            for (int e = t; e < BM * BK; e += THREADS) {
                int k = k0 + e % BK, tap = k / channels;
                const float* from = k < depth ? address(e / BK, tap / s.S, tap % s.S) : nullptr;
                async4(as + e % BK * PITCH + e / BK, from ? from + k % channels : x, from);
            }
        }
#pragma unroll
        for (int e = 4 * t; e < BK * BN; e += 4 * THREADS) {
            int k = k0 + e / BN;
            copy_four(bs + e, k < depth ? w + (size_t)k * s.K : w, tile.left + e % BN, tile.columns, k < depth,
                      s.whole);
        }
    });
}

extern "C" __global__ void __launch_bounds__(THREADS, MINB)
    conv_implicit(Shape s, const float* x, const float* w, float* y) {
    implicit_gemm(s, x, w, y);
}
// --8<-- [end:implicit]

// --8<-- [start:data]
// Weights for the way back: both axes turned round, channels in and out exchanged. shape: that of the forward pass.
extern "C" __global__ void flip(Shape s, const float* w, float* flipped) {
    int channels = s.C / s.groups, filters = s.K / s.groups, taps = s.R * s.S;
    int i = blockIdx.x * blockDim.x + threadIdx.x;  // [r][t][k of a group][c of all]
    if (i >= taps * filters * s.C) return;
    int c = i % s.C, k = i / s.C % filters, tap = i / s.C / filters, group = c / channels;
    flipped[i] = w[((size_t)(taps - 1 - tap) * channels + c % channels) * s.K + group * filters + k];
}

// dx is a convolution of dy. shape: N, P, Q, K, C, R, S, H, W, stride 1, and the forward pass's stride as spread.
extern "C" __global__ void __launch_bounds__(THREADS, MINB)
    data_backward(Shape s, const float* dy, const float* flipped, float* dx) {
    implicit_gemm(s, dy, flipped, dx);
}
// --8<-- [end:data]

// --8<-- [start:weights]
// dw = (columns of x)ᵀ dy: rows are (r, t, c), and the products run over all outputs, of which a slice has `share`.
extern "C" __global__ void __launch_bounds__(THREADS, MINB)
    weights_backward(Shape s, const float* x, const float* dy, float* partial, int share) {
    const int channels = s.C / s.groups, outputs = s.N * s.P * s.Q, t = threadIdx.x;
    const int group = blockIdx.z % s.groups, slice = blockIdx.z / s.groups;
    const int first = slice * share, last = min(first + share, outputs);
    const Tile tile(s, s.R * s.S * channels);
    x += group * channels, dy += group * tile.columns;
    partial += (size_t)slice * tile.rows * s.K + group * tile.columns;
    const int row = tile.top + t % (BM / 4) * 4;  // this thread copies four neighbouring rows (r, t, c) of the product

    multiply(tile, partial, (last - first + BK - 1) / BK, [&](float* as, float* bs, int k0) {
#pragma unroll
        for (int i = t / (BM / 4); i < BK; i += THREADS / (BM / 4)) {
            int m = first + k0 + i, q = m % s.Q, p = m / s.Q % s.P, n = m / s.Q / s.P;
            auto copy = [&](float* to, int row, auto copy_some) {
                int tap = row / channels;
                int h = source(p * s.stride - s.pad_h, tap / s.S, s.dilation, s.spread, s.H);
                int v = source(q * s.stride - s.pad_w, tap % s.S, s.dilation, s.spread, s.W);
                bool in = m < last && row < tile.rows && h >= 0 && v >= 0;
                copy_some(to, in ? x + (size_t)((n * s.H + h) * s.W + v) * s.C + row % channels : x, in);
            };
            float* to = as + i * PITCH + row - tile.top;
            if (s.whole)
                copy(to, row, async16);
            else
#pragma unroll 1
                for (int j = 0; j < 4; j++) copy(to + j, row + j, async4);
        }
#pragma unroll
        for (int e = 4 * t; e < BK * BN; e += 4 * THREADS) {
            int m = first + k0 + e / BN;
            copy_four(bs + e, m < last ? dy + (size_t)m * s.K : dy, tile.left + e % BN, tile.columns, m < last,
                      s.whole);
        }
    });
}

// Adds up the slices, in a fixed order.
extern "C" __global__ void add_slices(const float* partial, float* dw, int count, int slices) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float sum = 0;
    for (int slice = 0; slice < slices; slice++) sum += partial[(size_t)slice * count + i];
    dw[i] = sum;
}
// --8<-- [end:weights]
