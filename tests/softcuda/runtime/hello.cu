#include "require.h"

__global__ void hello(int number) { printf("hello %d from thread %d\n", number, int(threadIdx.x)); }

int main(int count, char** words) {
    hello<<<1, 3>>>(7);
    OK(cudaGetLastError());
    if (count > 1) return 0;  // without waiting: what the kernel prints is lost
    OK(cudaDeviceSynchronize());
    return 3;
}
