// mma.sync, ldmatrix and stmatrix in inline PTX.
#include <cuda_fp16.h>

#include "check.h"

__device__ float a_at(int i, int k) { return float((i * 3 + k * 5) % 7 - 3); }
__device__ float b_at(int k, int j) { return float((k * 2 + j * 11) % 5 - 2); }
__device__ unsigned two(float x, float y) {
    const __half2 h = __floats2half2_rn(x, y);
    return *reinterpret_cast<const unsigned*>(&h);
}

// Which rows and columns of D a lane holds: the same for all shapes with m16n8.
__device__ void check_16_by_8(const float (&d)[4], int depth) {
    const int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    for (int i = 0; i < 4; ++i) {
        float want = 0;
        for (int k = 0; k < depth; ++k) want += a_at(row + i / 2 * 8, k) * b_at(k, column + i % 2);
        SAME(d[i], want);
    }
}

TEST(loads, 1, 32) {
    __shared__ alignas(16) unsigned short held[4][8][8];
    for (int i = threadIdx.x; i < 256; i += 32) (&held[0][0][0])[i] = (unsigned short)i;
    __syncwarp();
    unsigned r[4];
    const auto at = (unsigned)__cvta_generic_to_shared(&held[threadIdx.x / 8][threadIdx.x % 8][0]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(at));
    for (int i = 0; i < 4; ++i) {
        const unsigned first = i * 64 + threadIdx.x / 4 * 8 + threadIdx.x % 4 * 2;
        SAME(r[i], first | (first + 1) << 16);
    }
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at));
    const unsigned first = threadIdx.x % 4 * 16 + threadIdx.x / 4;
    SAME(r[0], first | (first + 8) << 16);
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at));
    SAME(r[0], (threadIdx.x * 2) | (threadIdx.x * 2 + 1) << 16);
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(at), "r"(r[0]) : "memory");
    __syncwarp();
    SAME(held[0][threadIdx.x % 8][threadIdx.x / 8], threadIdx.x / 8 * 8 + threadIdx.x % 8);
#endif
}

TEST(halves, 1, 32) {
    const int row = threadIdx.x / 4, k = threadIdx.x % 4 * 2, n = threadIdx.x / 4;
    float d[4] = {};
    unsigned a[4], b[2];
    for (int i = 0; i < 4; ++i) {
        const int r = row + i % 2 * 8, c = k + i / 2 * 8;
        a[i] = two(a_at(r, c), a_at(r, c + 1));
    }
    for (int i = 0; i < 2; ++i) b[i] = two(b_at(k + 8 * i, n), b_at(k + 8 * i + 1, n));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    check_16_by_8(d, 8);
#if __CUDA_ARCH__ >= 800
    float e[4] = {};
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(e[0]), "+f"(e[1]), "+f"(e[2]), "+f"(e[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    check_16_by_8(e, 16);
#endif
}

TEST(tensor_floats, 1, 32, since = 80) {
#if __CUDA_ARCH__ >= 800
    const int row = threadIdx.x / 4, k = threadIdx.x % 4, n = threadIdx.x / 4;
    float d[4] = {};
    unsigned a[4], b[2];
    for (int i = 0; i < 4; ++i) a[i] = __float_as_uint(a_at(row + i % 2 * 8, k + i / 2 * 4));
    for (int i = 0; i < 2; ++i) b[i] = __float_as_uint(b_at(k + 4 * i, n));
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    check_16_by_8(d, 8);
#endif
}

TEST(bytes, 1, 32) {
    const int row = threadIdx.x / 4, k = threadIdx.x % 4 * 4, n = threadIdx.x / 4;
    unsigned a = 0, b = 0;
    for (int i = 0; i < 4; ++i) {
        a |= unsigned(int(a_at(row, k + i)) & 255) << 8 * i;
        b |= unsigned(int(b_at(k + i, n)) & 255) << 8 * i;
    }
    int d[2] = {};
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a), "r"(b));
    for (int j = 0; j < 2; ++j) {
        float want = 0;
        for (int i = 0; i < 16; ++i) want += a_at(row, i) * b_at(i, threadIdx.x % 4 * 2 + j);
        SAME(d[j], int(want));
    }
}
