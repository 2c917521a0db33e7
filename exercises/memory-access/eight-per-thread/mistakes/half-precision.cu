// wrong: low-precision
#include <cuda_fp16.h>

__global__ void scale(const float* x, float* y, float a, int n) {
    int first = blockIdx.x * 8 * blockDim.x + threadIdx.x;
    for (int k = 0; k < 8; ++k) {
        int i = first + k * blockDim.x;
        if (i < n) y[i] = __half2float(__float2half(a * x[i]));  // <-- here
    }
}
