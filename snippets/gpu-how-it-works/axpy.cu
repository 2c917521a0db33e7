// y <- a x + y, one float a thread and four floats a thread; a stream that only moves the same bytes; and the same
// bytes with ever more arithmetic.  All work on n floats, whatever n is.

typedef long long Index;

__device__ float4 axpy_of(float a, float4 x, float4 y) {
    return make_float4(a * x.x + y.x, a * x.y + y.y, a * x.z + y.z, a * x.w + y.w);
}

extern "C" {

// --8<-- [start:scalar]
__global__ void axpy(float a, const float* x, float* y, Index n) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
// --8<-- [end:scalar]

// --8<-- [start:wide]
__global__ void axpy4(float a, const float* x, float* y, Index n) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x, packs = n / 4;
    const float4* x4 = (const float4*)x;
    float4* y4 = (float4*)y;
    if (i < packs) y4[i] = axpy_of(a, x4[i], y4[i]);
    if (i < n % 4) y[4 * packs + i] = a * x[4 * packs + i] + y[4 * packs + i];  // what is left, three at most
}
// --8<-- [end:wide]

}  // extern "C"

// --8<-- [start:several]
// UNROLL packs a thread, all of them loaded before the first is stored.
template <int UNROLL>
__device__ void axpy_several(float a, const float* x, float* y, Index n) {
    Index first = (Index)blockIdx.x * UNROLL * blockDim.x + threadIdx.x, packs = n / 4;
    float4 u[UNROLL], v[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        Index i = first + k * blockDim.x;
        if (i < packs) u[k] = ((const float4*)x)[i], v[k] = ((float4*)y)[i];
    }
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        Index i = first + k * blockDim.x;
        if (i < packs) ((float4*)y)[i] = axpy_of(a, u[k], v[k]);
    }
    if (first < n % 4) y[4 * packs + first] = a * x[4 * packs + first] + y[4 * packs + first];
}
// --8<-- [end:several]

// --8<-- [start:triad]
// The yardstick: reads two arrays and writes a third, and computes nothing worth the name.
template <int UNROLL>
__device__ void triad_several(const unsigned* x, const unsigned* y, unsigned* z, Index n) {
    Index first = (Index)blockIdx.x * UNROLL * blockDim.x + threadIdx.x, packs = n / 4;
    uint4 u[UNROLL], v[UNROLL];
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        Index i = first + k * blockDim.x;
        if (i < packs) u[k] = ((const uint4*)x)[i], v[k] = ((const uint4*)y)[i];
    }
#pragma unroll
    for (int k = 0; k < UNROLL; ++k) {
        Index i = first + k * blockDim.x;
        uint4 w = make_uint4(u[k].x ^ v[k].x, u[k].y ^ v[k].y, u[k].z ^ v[k].z, u[k].w ^ v[k].w);
        if (i < packs) ((uint4*)z)[i] = w;
    }
    if (first < n % 4) z[4 * packs + first] = x[4 * packs + first] ^ y[4 * packs + first];
}
// --8<-- [end:triad]

// --8<-- [start:steps]
// K times y <- a y + x: the bytes of AXPY, and K times its arithmetic.
template <int K>
__device__ void steps_of(float a, const float* x, float* y, Index n) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x, packs = n / 4;
    if (i < packs) {
        float4 u = ((const float4*)x)[i], v = ((float4*)y)[i];
#pragma unroll 16
        for (int k = 0; k < K; ++k) v = axpy_of(a, v, u);
        ((float4*)y)[i] = v;
    }
    if (i < n % 4) {
        float u = x[4 * packs + i], v = y[4 * packs + i];
        for (int k = 0; k < K; ++k) v = a * v + u;
        y[4 * packs + i] = v;
    }
}
// --8<-- [end:steps]

extern "C" {

__global__ void axpy4x2(float a, const float* x, float* y, Index n) { axpy_several<2>(a, x, y, n); }
__global__ void axpy4x4(float a, const float* x, float* y, Index n) { axpy_several<4>(a, x, y, n); }

__global__ void triad4(const unsigned* x, const unsigned* y, unsigned* z, Index n) { triad_several<1>(x, y, z, n); }
__global__ void triad4x2(const unsigned* x, const unsigned* y, unsigned* z, Index n) { triad_several<2>(x, y, z, n); }
__global__ void triad4x4(const unsigned* x, const unsigned* y, unsigned* z, Index n) { triad_several<4>(x, y, z, n); }

__global__ void steps1(float a, const float* x, float* y, Index n) { steps_of<1>(a, x, y, n); }
__global__ void steps8(float a, const float* x, float* y, Index n) { steps_of<8>(a, x, y, n); }
__global__ void steps32(float a, const float* x, float* y, Index n) { steps_of<32>(a, x, y, n); }
__global__ void steps128(float a, const float* x, float* y, Index n) { steps_of<128>(a, x, y, n); }
__global__ void steps512(float a, const float* x, float* y, Index n) { steps_of<512>(a, x, y, n); }

}  // extern "C"
