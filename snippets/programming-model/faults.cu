// Kernels that go wrong, and one that does not.

#include <cassert>

extern "C" {

// --8<-- [start:faults]
__global__ void store(int* out, int value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value; }

__global__ void give_up(int* out) {
    out[threadIdx.x] = 1;
    __trap();
}

__global__ void insist(int* out, int n) {
    assert(threadIdx.x < n);
    out[threadIdx.x] = 1;
}
// --8<-- [end:faults]
}
