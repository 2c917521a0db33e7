// The global filter layer, y = irfft2(rfft2(x) · K), at 14 × 14 tokens in one launch, and the gradient of its filter.
// Tokens are as the network keeps them: channels side by side.
//
// Two images are transformed at once, as the real and the imaginary part of one: a filter with real taps keeps them
// apart. So K is the whole spectrum of such a filter, 14 × 14, and no kernel knows of Hermitian symmetry.
using Index = long long;

extern __shared__ __align__(16) char memory[];

__device__ float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ float2 operator*(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ float2 operator*(float a, float2 b) { return {a * b.x, a * b.y}; }
__device__ float2 conj(float2 a) { return {a.x, -a.y}; }

// --8<-- [start:dft7]
// Seven points: elements j and 7 - j share their products.
__device__ __forceinline__ void dft7(float2 (&v)[7]) {
    constexpr float C[] = {1, 0.62348980f, -0.22252093f, -0.90096887f},
                    S[] = {0, 0.78183148f, 0.97492791f, 0.43388374f};
    float2 sum[4], difference[4], x0 = v[0];
#pragma unroll
    for (int j = 1; j < 4; ++j) sum[j] = v[j] + v[7 - j], difference[j] = v[j] - v[7 - j];
    v[0] = x0 + sum[1] + sum[2] + sum[3];
#pragma unroll
    for (int f = 1; f < 4; ++f) {
        float2 even = x0, odd = {0, 0};
#pragma unroll
        for (int j = 1; j < 4; ++j) {
            int turn = f * j % 7;  // cos(2π turn / 7) and sin, from their values up to 3
            even = even + C[turn < 4 ? turn : 7 - turn] * sum[j];
            odd = odd + (turn < 4 ? S[turn] : -S[7 - turn]) * difference[j];
        }
        v[f] = {even.x + odd.y, even.y - odd.x};  // even - i · odd
        v[7 - f] = {even.x - odd.y, even.y + odd.x};
    }
}
// --8<-- [end:dft7]

// --8<-- [start:dft14]
// Fourteen points: 14 = 2 · 7 without common factor, so two DFTs of 7 and seven of 2 suffice, with no turns in between.
__device__ __forceinline__ void dft14(float2 (&v)[14]) {
    float2 even[7], odd[7];
#pragma unroll
    for (int j = 0; j < 7; ++j) even[j] = v[2 * j], odd[j] = v[(2 * j + 7) % 14];
    dft7(even), dft7(odd);
#pragma unroll
    for (int f = 0; f < 7; ++f) {  // frequency g is g % 7 in the DFTs of 7 and g % 2 in that of 2
        int g = f % 2 == 0 ? f : f + 7;
        v[g] = even[f] + odd[f];
        v[(g + 7) % 14] = even[f] - odd[f];
    }
}

// The inverse is the forward one with real and imaginary parts exchanged before and after, times 14.
__device__ __forceinline__ void exchange_parts(float2 (&v)[14]) {
#pragma unroll
    for (int j = 0; j < 14; ++j) v[j] = {v[j].y, v[j].x};
}
// --8<-- [end:dft14]

constexpr int G = 14, LANES = 32;  // the grid of tokens; channels a block
using Tile = float2[G][G][LANES];  // 49 KiB; lanes are channels, so no two of them meet in a bank

// --8<-- [start:gf14]
// x, y: [images][14][14][channels]; K: [14][14][channels], divided by 196. Block: 32 channels × 14 lines, two images.
// With `adjoint` the gradient goes back: K is conjugated. Lanes past the last channel repeat it, and a last image without
// a partner is its own: they are computed, and not written.
extern "C" __global__ void __launch_bounds__(LANES* G, 2)
    gf14(const float* x, const float2* K, float* y, int images, int channels, int adjoint) {
    Tile& t = *(Tile*)memory;
    int own = blockIdx.x * LANES + threadIdx.x, c = min(own, channels - 1), line = threadIdx.y;
    bool second = 2 * blockIdx.y + 1 < images;
    Index image = (Index)G * G * channels, at = 2 * blockIdx.y * image + (Index)line * G * channels + c;
    Index other = second ? at + image : at;
    float2 v[G], k[G];
#pragma unroll
    for (int j = 0; j < G; ++j) v[j] = {x[at + j * channels], x[other + j * channels]};
    dft14(v);  // along the rows
#pragma unroll
    for (int j = 0; j < G; ++j) t[line][j][threadIdx.x] = v[j];
#pragma unroll
    for (int j = 0; j < G; ++j) k[j] = K[(j * G + line) * channels + c];  // on its way while the block waits
    __syncthreads();
#pragma unroll
    for (int j = 0; j < G; ++j) v[j] = t[j][line][threadIdx.x];
    dft14(v);  // down the columns
#pragma unroll
    for (int j = 0; j < G; ++j) v[j] = v[j] * (adjoint ? conj(k[j]) : k[j]);
    exchange_parts(v), dft14(v);  // and back; the parts stay exchanged
#pragma unroll
    for (int j = 0; j < G; ++j) t[j][line][threadIdx.x] = v[j];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < G; ++j) v[j] = t[line][j][threadIdx.x];
    dft14(v), exchange_parts(v);
    if (own >= channels) return;
#pragma unroll
    for (int j = 0; j < G; ++j) y[at + j * channels] = v[j].x;
    if (!second) return;
#pragma unroll
    for (int j = 0; j < G; ++j) y[other + j * channels] = v[j].y;
}
// --8<-- [end:gf14]

// --8<-- [start:gf14_dk]
// P[f] = Σ conj(X) · G over the pairs of images of this block, x and the gradient g of the output taken in pairs too.
// P: [gridDim.y][14][14][channels]. What belongs to single images is the Hermitian part of P; the rest cancels there.
extern "C" __global__ void __launch_bounds__(LANES* G)
    gf14_dk(const float* x, const float* g, float2* P, int images, int channels) {
    Tile& t = *(Tile*)memory;
    int c = blockIdx.x * LANES + threadIdx.x, line = threadIdx.y;
    Index image = (Index)G * G * channels;
    float2 sum[G] = {}, X[G], v[G];
    for (int pair = blockIdx.y; 2 * pair < images; pair += gridDim.y) {
        for (int which = 0; which < 2; ++which) {
            const float* from = (which ? g : x) + 2 * pair * image + (Index)line * G * channels + c;
            bool inside = c < channels, second = inside && 2 * pair + 1 < images;
#pragma unroll
            for (int j = 0; j < G; ++j)
                v[j] = {inside ? from[j * channels] : 0, second ? from[j * channels + image] : 0};
            dft14(v);
#pragma unroll
            for (int j = 0; j < G; ++j) t[line][j][threadIdx.x] = v[j];
            __syncthreads();
#pragma unroll
            for (int j = 0; j < G; ++j) v[j] = t[j][line][threadIdx.x];
            __syncthreads();
            dft14(v);
#pragma unroll
            for (int j = 0; j < G; ++j)
                if (which)
                    sum[j] = sum[j] + conj(X[j]) * v[j];
                else
                    X[j] = v[j];
        }
    }
    if (c < channels)
        for (int j = 0; j < G; ++j) P[((Index)blockIdx.y * G * G + j * G + line) * channels + c] = sum[j];
}
// --8<-- [end:gf14_dk]
