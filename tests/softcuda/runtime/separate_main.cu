// Separate compilation (-rdc=true): a kernel that calls a function and reads a variable of another file.
#include "require.h"

extern __device__ int factor;
__device__ int scaled(int);
__global__ void fill(int* out) { out[threadIdx.x] = scaled(threadIdx.x) + factor; }

int main() {
    int *out, ten = 10;
    OK(cudaMallocManaged(&out, 128));
    OK(cudaMemcpyToSymbol(factor, &ten, 4));
    fill<<<1, 32>>>(out);
    OK(cudaDeviceSynchronize());
    REQUIRE(out[3] == 40);
    std::puts("ok");
}
