// Narrow types, matrix instructions, textures and surfaces.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void halves(__half2* h, __nv_bfloat162* b, float* f) {
    int i = threadIdx.x;
    h[i] = __hfma2(h[i], h[i + 1], __float2half2_rn(f[i])) + h2exp(h[i]);
    b[i] = __hadd2(b[i], b[i + 1]) * __float2bfloat162_rn(f[i]);
    f[i] = __half2float(__low2half(h[i])) + __bfloat162float(__high2bfloat16(b[i])) +
           __half2float(hsqrt(__low2half(h[i])));
    if (__hgt(__low2half(h[i]), __high2half(h[i]))) atomicAdd((__half*)h, __low2half(h[1]));
    __nv_fp8_e4m3 tiny(f[i]);
    f[i + 1] = float(tiny);
    atomicAdd(b, b[2]);
}

extern "C" __global__ void matrix(half* a, half* b, float* c) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, a, 16);
    wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

extern "C" __global__ void tensor_cores(unsigned* x, float* c) {
    __shared__ unsigned s[256];
    unsigned a[4], address = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * 4);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
                 : "r"(address));
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(x[0]), "r"(x[1]));
#endif
    x[threadIdx.x] = a[0];
}

extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4* out) {
    int i = threadIdx.x;
    float4 v = tex1Dfetch<float4>(t, i);
    float4 w = tex2D<float4>(t, i * 0.5f, 2.0f);
    float4 z = tex3D<float4>(t, i * 0.5f, 2.0f, 1.0f);
    float4 l = tex2DLayered<float4>(t, 0.5f, 0.25f, 3);
    out[i] = make_float4(v.x + w.x, v.y + z.y, w.z + l.z, surf2Dread<float>(s, 4, i));
    surf2Dwrite(v.x, s, i * 4, 2);
}
