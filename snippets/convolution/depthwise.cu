// Depthwise convolution in fp32: each channel has its own filter. x[n][h][w][c], weights w[r][s][c], y[n][p][q][c]; C is a
// multiple of 4, and a thread has four neighbouring channels.
#ifndef TAPS
#define TAPS 3  // the filter is TAPS x TAPS
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef DILATION
#define DILATION 1
#endif
constexpr int ACROSS = 4, DOWN = 16;                                     // outputs per thread: of a row, and rows
constexpr int SEEN = (ACROSS - 1) * STRIDE + (TAPS - 1) * DILATION + 1;  // inputs of a row that ACROSS outputs need

struct Plane {
    int N, H, W, C, P, Q, pad;
};

__device__ __forceinline__ void add(float4& sum, float4 a, float4 b) {
    sum.x += a.x * b.x, sum.y += a.y * b.y, sum.z += a.z * b.z, sum.w += a.w * b.w;
}
__device__ __forceinline__ float4 load(const float4* row, int column, int columns, int channels) {
    return column >= 0 && column < columns ? row[(size_t)column * channels] : float4{};
}

// --8<-- [start:each]
extern "C" __global__ void depthwise_each(Plane s, const float4* x, const float4* w, float4* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, channels = s.C / 4;
    if (i >= (unsigned)s.N * s.P * s.Q * channels) return;
    int c = i % channels, q = i / channels % s.Q, p = i / channels / s.Q % s.P, n = i / channels / s.Q / s.P;
    float4 sum = {};
    for (int r = 0; r < TAPS; r++)
        for (int t = 0; t < TAPS; t++) {
            int h = p * STRIDE - s.pad + r * DILATION, v = q * STRIDE - s.pad + t * DILATION;
            if (h < 0 || h >= s.H || v < 0 || v >= s.W) continue;
            add(sum, x[((size_t)(n * s.H + h) * s.W + v) * channels + c], w[(r * TAPS + t) * channels + c]);
        }
    y[i] = sum;
}
// --8<-- [end:each]

// --8<-- [start:strip]
// ACROSS outputs of a row per thread: an input column is loaded once for all of them.
extern "C" __global__ void depthwise_strip(Plane s, const float4* x, const float4* w, float4* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, channels = s.C / 4, strips = (s.Q + ACROSS - 1) / ACROSS;
    if (i >= (unsigned)s.N * s.P * strips * channels) return;
    int c = i % channels, q = i / channels % strips * ACROSS, p = i / channels / strips % s.P;
    int n = i / channels / strips / s.P;
    float4 sum[ACROSS] = {};
    for (int r = 0; r < TAPS; r++) {
        int h = p * STRIDE - s.pad + r * DILATION;
        if (h < 0 || h >= s.H) continue;
        const float4* row = x + (size_t)(n * s.H + h) * s.W * channels + c;
#pragma unroll
        for (int e = 0; e < SEEN; e++) {
            float4 value = load(row, q * STRIDE - s.pad + e, s.W, channels);
#pragma unroll
            for (int j = 0; j < ACROSS; j++) {
                int t = e - j * STRIDE;  // which is tap t / DILATION of output j, if it is one
                if (t >= 0 && t % DILATION == 0 && t / DILATION < TAPS)
                    add(sum[j], value, w[(r * TAPS + t / DILATION) * channels + c]);
            }
        }
    }
    for (int j = 0; j < ACROSS; j++)
        if (q + j < s.Q) y[((size_t)(n * s.P + p) * s.Q + q + j) * channels + c] = sum[j];
}
// --8<-- [end:strip]

#if TAPS == 3 && STRIDE == 1 && DILATION == 1
// --8<-- [start:roll]
// DOWN x ACROSS outputs per thread. Each input row is loaded once, and added to the sums of the three outputs that need it.
// Every other band goes upwards: neighbours load their shared rows at the same time, while L2 has them.
extern "C" __global__ void __launch_bounds__(256, 2)
    depthwise_roll(Plane s, const float4* x, const float4* w, float4* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, channels = s.C / 4;
    unsigned strips = (s.Q + ACROSS - 1) / ACROSS, bands = (s.P + DOWN - 1) / DOWN;
    if (i >= (unsigned)s.N * bands * strips * channels) return;
    int c = i % channels, q = i / channels % strips * ACROSS, band = i / channels / strips % bands, p0 = band * DOWN;
    int n = i / channels / strips / bands;
    bool up = band % 2;  // then the filter, too, is read from below
    float4 weight[TAPS * TAPS], sum[TAPS][ACROSS] = {};
#pragma unroll
    for (int r = 0; r < TAPS; r++)
#pragma unroll
        for (int t = 0; t < TAPS; t++) weight[r * TAPS + t] = w[((up ? TAPS - 1 - r : r) * TAPS + t) * channels + c];
    for (int first = 0; first < DOWN + TAPS - 1; first += TAPS) {
#pragma unroll
        for (int step = 0; step < TAPS; step++) {  // unrolled, so that `sum` has constant indices
            int at = up ? DOWN + TAPS - 2 - first - step : first + step;  // of the input rows that this band needs
            int h = p0 - s.pad + at, p = p0 + at - (up ? 0 : TAPS - 1);   // the output that row h completes
            float4 value[SEEN];
            const float4* row = x + (size_t)(n * s.H + h) * s.W * channels + c;
            bool in = h >= 0 && h < s.H;
#pragma unroll
            for (int e = 0; e < SEEN; e++) value[e] = load(row, in ? q - s.pad + e : -1, s.W, channels);
#pragma unroll
            for (int r = 0; r < TAPS; r++)  // downwards, row h is tap r of output p + TAPS - 1 - r
#pragma unroll
                for (int j = 0; j < ACROSS; j++)
#pragma unroll
                    for (int t = 0; t < TAPS; t++)
                        add(sum[(step + 2 * TAPS - r) % TAPS][j], value[j + t], weight[r * TAPS + t]);
            float4* done = sum[(step + 1) % TAPS];
#pragma unroll
            for (int j = 0; j < ACROSS; j++) {
                if (first + step >= TAPS - 1 && p < s.P && q + j < s.Q)
                    y[((size_t)(n * s.P + p) * s.Q + q + j) * channels + c] = done[j];
                done[j] = float4{};
            }
        }
    }
}
// --8<-- [end:roll]
#endif
