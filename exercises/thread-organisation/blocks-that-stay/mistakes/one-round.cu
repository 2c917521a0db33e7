// wrong: part-not-written, no line
__global__ void encrypt(const unsigned* a, const unsigned* key, unsigned* out, int rows, int cols) {
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows && c < cols) out[r * cols + c] = a[r * cols + c] ^ key[r];
}
