// A tensor core's instruction: one warp multiplies a 16 × 16 tile by a 16 × 8 tile.
#include <cuda_fp16.h>

// --8<-- [start:mma]
// D += A * B for tiles of 16 × 16 and 16 × 8. No lane has a tile: A lies in four registers of each of the 32 lanes,
// two halves in each; B in two; D in four floats.
__device__ void mma(float (&d)[4], const __half2 (&a)[4], const __half2 (&b)[2]) {
    const unsigned* x = reinterpret_cast<const unsigned*>(a);
    const unsigned* y = reinterpret_cast<const unsigned*>(b);
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
}
// --8<-- [end:mma]

__device__ __half at(const __half* matrix, int row, int column, int rows, int columns) {
    return row < rows && column < columns ? matrix[row * columns + column] : __half(0);
}

// --8<-- [start:matmul]
// C = A * B, of m × k and k × n. A warp makes a 16 × 8 tile of C; what lies outside the matrices is zero.
extern "C" __global__ void matmul(const __half* A, const __half* B, float* C, int m, int n, int k) {
    int lane = threadIdx.x, group = lane / 4, pair = lane % 4 * 2;
    int row = blockIdx.y * 16 + group, column = blockIdx.x * 8;
    float d[4] = {0, 0, 0, 0};
    for (int s = 0; s < k; s += 16) {
        __half2 a[4], b[2];
        for (int r = 0; r < 4; ++r) {  // rows 0-7 and 8-15, columns 0-7 and 8-15
            int i = row + r % 2 * 8, j = s + r / 2 * 8 + pair;
            a[r] = __halves2half2(at(A, i, j, m, k), at(A, i, j + 1, m, k));
        }
        for (int r = 0; r < 2; ++r) {
            int i = s + r * 8 + pair;
            b[r] = __halves2half2(at(B, i, column + group, k, n), at(B, i + 1, column + group, k, n));
        }
        mma(d, a, b);
    }
    for (int r = 0; r < 4; ++r) {
        int i = row + r / 2 * 8, j = column + pair + r % 2;
        if (i < m && j < n) C[i * n + j] = d[r];
    }
}
// --8<-- [end:matmul]
