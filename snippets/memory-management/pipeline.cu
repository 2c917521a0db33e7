// A kernel whose time can be chosen: each word goes through `steps` rounds of x -> a * x + c, modulo 2^32.

// --8<-- [start:step]
extern "C" __global__ void step(unsigned* data, int n, unsigned a, unsigned c, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = data[i];
#pragma unroll 8
    for (int s = 0; s < steps; ++s) x = a * x + c;  // a and c are arguments: with constants the loop would be folded
    data[i] = x;
}
// --8<-- [end:step]
