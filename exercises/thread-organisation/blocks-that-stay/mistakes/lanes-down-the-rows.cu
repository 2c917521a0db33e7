// slow: bytes-strided
__global__ void encrypt(const unsigned* a, const unsigned* key, unsigned* out, int rows, int cols) {
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    for (int r = blockIdx.y * blockDim.y + t % 8; r < rows; r += gridDim.y * blockDim.y)
        for (int c = blockIdx.x * blockDim.x + t / 8; c < cols; c += gridDim.x * blockDim.x)
            out[r * cols + c] = a[r * cols + c] ^ key[r];  // <-- here
}
