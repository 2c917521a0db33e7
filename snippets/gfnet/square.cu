// The global filter layer on planes of SIDE × SIDE, a power of two up to 64, in one launch. Two images at once, as the
// real and the imaginary part of one, so K is the whole spectrum of real taps.
#ifndef SIDE
#define SIDE 64
#endif
using Index = long long;

__device__ float2 operator+(float2 a, float2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ float2 operator-(float2 a, float2 b) { return {a.x - b.x, a.y - b.y}; }
__device__ float2 operator*(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }
__device__ float2 conj(float2 a) { return {a.x, -a.y}; }

// --8<-- [start:square]
// x, y: [images][channels][SIDE][SIDE]; K: [channels][SIDE][SIDE], divided by SIDE², both indices with their bits
// reversed. A lane has a line of its own: a stage asks all lanes for the same element of neighbouring lines, and one
// turn serves them all. Rows are SIDE + 1 apart, so there are no conflicts in either direction.
// Block: THREADS threads, two images of one channel.
constexpr int THREADS = SIDE * SIDE / 2 < 512 ? SIDE * SIDE / 2 : 512, PITCH = SIDE + 1;

// Stages with pairs SIDE / 2 … 1 apart leave the frequencies in the order of reversed bits; no sorting, for the filter is
// kept in that order too.
__device__ void lines_forward(float2* t, const float2* w, int line, int item) {
    for (int s = SIDE / 2; s >= 1; s /= 2) {
        for (int e = threadIdx.x; e < SIDE * SIDE / 2; e += THREADS) {
            int p = e / SIDE, k = p % s, i = e % SIDE * line + (2 * p - k) * item;
            float2 a = t[i], b = t[i + s * item];
            t[i] = a + b;
            t[i + s * item] = (a - b) * w[k * (SIDE / 2 / s)];
        }
        __syncthreads();
    }
}

__device__ void lines_back(float2* t, const float2* w, int line, int item) {
    for (int s = 1; s < SIDE; s *= 2) {
        for (int e = threadIdx.x; e < SIDE * SIDE / 2; e += THREADS) {
            int p = e / SIDE, k = p % s, i = e % SIDE * line + (2 * p - k) * item;
            float2 a = t[i], b = t[i + s * item] * conj(w[k * (SIDE / 2 / s)]);
            t[i] = a + b;
            t[i + s * item] = a - b;
        }
        __syncthreads();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
    square(const float* x, const float2* K, float* y, const float2* w, int images, int channels) {
    __shared__ float2 t[SIDE * PITCH], turn[SIDE / 2];
    int pair = blockIdx.x / channels, c = blockIdx.x % channels;
    bool second = 2 * pair + 1 < images;
    Index step = (Index)channels * SIDE * SIDE, at = 2 * pair * step + (Index)c * SIDE * SIDE;
    for (int e = threadIdx.x; e < SIDE * SIDE; e += THREADS)
        t[e / SIDE * PITCH + e % SIDE] = {x[at + e], second ? x[at + e + step] : 0};
    for (int k = threadIdx.x; k < SIDE / 2; k += THREADS) turn[k] = w[k];
    __syncthreads();
    lines_forward(t, turn, PITCH, 1);
    lines_forward(t, turn, 1, PITCH);
    for (int e = threadIdx.x; e < SIDE * SIDE; e += THREADS) {
        float2& value = t[e / SIDE * PITCH + e % SIDE];
        value = value * K[(Index)c * SIDE * SIDE + e];
    }
    __syncthreads();
    lines_back(t, turn, 1, PITCH);
    lines_back(t, turn, PITCH, 1);
    for (int e = threadIdx.x; e < SIDE * SIDE; e += THREADS) {
        float2 value = t[e / SIDE * PITCH + e % SIDE];
        y[at + e] = value.x;
        if (second) y[at + e + step] = value.y;
    }
}
// --8<-- [end:square]
