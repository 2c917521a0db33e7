// First kernels: every thread says who it is.

#include <cstdio>

extern "C" {

// --8<-- [start:hello]
__global__ void hello() { printf("Hello from a thread of the GPU\n"); }
// --8<-- [end:hello]

// --8<-- [start:whoami]
// Each thread writes one row: its block, its thread within the block, its number in the whole grid.
__global__ void whoami(int3* rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    rows[i] = make_int3(blockIdx.x, threadIdx.x, i);
}
// --8<-- [end:whoami]

// --8<-- [start:arrival]
// The same, but rows are taken in order of arrival: who comes first is not promised.
__global__ void arrival(int* rows, int* taken) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int row = atomicAdd(taken, 1);
    rows[row] = i;
}
// --8<-- [end:arrival]
}
