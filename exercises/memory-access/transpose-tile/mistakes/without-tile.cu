// slow: bytes-strided
__global__ void transpose(const float* a, float* out, int rows, int cols) {
    int c = blockIdx.x * 32 + threadIdx.x;
    for (int y = threadIdx.y; y < 32; y += 8) {
        int r = blockIdx.y * 32 + y;
        if (r < rows && c < cols) out[c * rows + r] = a[r * cols + c];  // <-- here
    }
}
