// slow: instructions
__global__ void dots(const float* x, const float* y, float* out, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma unroll 1
    for (int r = 0; r < rows; r++) {          // <-- here
        float p = x[r * columns + c] * y[r];  // <-- here
        if (r % 4 == 0) s0 += p;              // <-- here
        if (r % 4 == 1) s1 += p;              // <-- here
        if (r % 4 == 2) s2 += p;              // <-- here
        if (r % 4 == 3) s3 += p;              // <-- here
    }
    out[c] = (s0 + s1) + (s2 + s3);
}
