// slow: bytes
__global__ void advance(const unsigned* x, unsigned* y, unsigned a, unsigned c, int rounds, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = x[i];
    for (int k = 0; k < rounds; ++k) *(volatile unsigned*)(y + i) = a * *(volatile unsigned*)(y + i) + c;  // <-- here
}
