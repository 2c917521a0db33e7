// slow: bytes
__global__ void encrypt(const unsigned* a, const unsigned* key, unsigned* out, int rows, int cols) {
    int all = gridDim.x * gridDim.y * blockDim.x * blockDim.y;
    int me = (blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
    for (int i = me; i < rows * cols; i += all) out[i] = a[i] ^ key[i / cols];  // <-- here
}
