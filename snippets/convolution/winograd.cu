// Winograd's F(2 x 2, 3 x 3) with channels last, four channels per thread: stride 1, no dilation, C and K multiples of 4.
// Tile (i, j) of an image computes outputs 2i, 2i + 1 and 2j, 2j + 1 from 4 x 4 inputs. Between the transforms, 16 matrix
// products: V[tile][16][C] times U[C][16][K] is M[tile][16][K], which is a 1 x 1 convolution with 16 groups.
__device__ float4 operator+(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }
__device__ float4 operator-(float4 a, float4 b) { return {a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w}; }
__device__ float4 operator*(float f, float4 a) { return {f * a.x, f * a.y, f * a.z, f * a.w}; }

// --8<-- [start:transforms]
__device__ void transform_input(float4* d, int step) {  // Bᵀ on four numbers, `step` apart
    float4 a = d[0], b = d[step], c = d[2 * step], e = d[3 * step];
    d[0] = a - c, d[step] = b + c, d[2 * step] = c - b, d[3 * step] = b - e;
}
__device__ void transform_output(const float4* m, int step, float4& y0, float4& y1) {  // Aᵀ: four to two
    float4 a = m[0], b = m[step], c = m[2 * step], e = m[3 * step];
    y0 = a + b + c, y1 = b - c - e;
}
__device__ void transform_weights(float4 a, float4 b, float4 c, float4* u, int step) {  // G: three to four
    u[0] = a, u[step] = 0.5f * (a + b + c), u[2 * step] = 0.5f * (a - b + c), u[3 * step] = c;
}
// --8<-- [end:transforms]

struct Sizes {
    int N, H, W, C, K, P, Q, pad, rows, columns;  // rows x columns tiles per image
};

// --8<-- [start:winograd]
extern "C" __global__ void winograd_input(Sizes s, const float4* x, float4* V) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, channels = s.C / 4;
    if (i >= (unsigned)s.N * s.rows * s.columns * channels) return;
    int c = i % channels, tile = i / channels, tj = tile % s.columns, ti = tile / s.columns % s.rows;
    int n = tile / s.columns / s.rows;
    float4 d[16];
#pragma unroll
    for (int e = 0; e < 16; e++) {
        int h = 2 * ti - s.pad + e / 4, v = 2 * tj - s.pad + e % 4;
        bool in = h >= 0 && h < s.H && v >= 0 && v < s.W;
        d[e] = in ? x[((size_t)(n * s.H + h) * s.W + v) * channels + c] : float4{};
    }
#pragma unroll
    for (int e = 0; e < 4; e++) transform_input(d + e, 4);
#pragma unroll
    for (int e = 0; e < 4; e++) transform_input(d + 4 * e, 1);
#pragma unroll
    for (int e = 0; e < 16; e++) V[((size_t)tile * 16 + e) * channels + c] = d[e];
}

extern "C" __global__ void winograd_weights(Sizes s, const float4* w, float4* U) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, filters = s.K / 4;
    if (i >= s.C * filters) return;
    int k = i % filters, c = i / filters;
    float4 g[9], t[12], u[16];
    for (int e = 0; e < 9; e++) g[e] = w[((size_t)e * s.C + c) * filters + k];
    for (int e = 0; e < 3; e++) transform_weights(g[e], g[3 + e], g[6 + e], t + e, 3);
    for (int e = 0; e < 4; e++) transform_weights(t[3 * e], t[3 * e + 1], t[3 * e + 2], u + 4 * e, 1);
    for (int e = 0; e < 16; e++) U[((size_t)c * 16 + e) * filters + k] = u[e];
}

extern "C" __global__ void winograd_output(Sizes s, const float4* M, float4* y) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, filters = s.K / 4;
    if (i >= (unsigned)s.N * s.rows * s.columns * filters) return;
    int k = i % filters, tile = i / filters, tj = tile % s.columns, ti = tile / s.columns % s.rows;
    int n = tile / s.columns / s.rows;
    float4 m[16], t[8], out[4];
#pragma unroll
    for (int e = 0; e < 16; e++) m[e] = M[((size_t)tile * 16 + e) * filters + k];
#pragma unroll
    for (int e = 0; e < 4; e++) transform_output(m + e, 4, t[e], t[4 + e]);
#pragma unroll
    for (int e = 0; e < 2; e++) transform_output(t + 4 * e, 1, out[2 * e], out[2 * e + 1]);
#pragma unroll
    for (int e = 0; e < 4; e++) {
        int p = 2 * ti + e / 2, q = 2 * tj + e % 2;
        if (p < s.P && q < s.Q) y[((size_t)(n * s.P + p) * s.Q + q) * filters + k] = out[e];
    }
}
// --8<-- [end:winograd]
