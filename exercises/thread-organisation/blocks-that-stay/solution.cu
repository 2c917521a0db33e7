// out[r][c] = a[r][c] ^ key[r]; the grid has 2 x 3 blocks of 32 x 8 threads, whatever the matrix.
__global__ void encrypt(const unsigned* a, const unsigned* key, unsigned* out, int rows, int cols) {
    // your code
    for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y) {
        unsigned k = key[r];
        for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < cols; c += gridDim.x * blockDim.x)
            out[r * cols + c] = a[r * cols + c] ^ k;
    }
    // end of your code
}
