// Something to do with memory that was just allocated.

// --8<-- [start:fill]
extern "C" __global__ void fill(unsigned* data, int n, unsigned seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] = (unsigned)i * 2654435761u + seed;
}
// --8<-- [end:fill]
