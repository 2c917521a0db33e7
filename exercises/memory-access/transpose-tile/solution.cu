// out[c][r] = a[r][c]; a has rows * cols elements. Blocks have 32 x 8 threads and turn a tile of 32 x 32 elements.
__global__ void transpose(const float* a, float* out, int rows, int cols) {
    // your code
    __shared__ float tile[32][33];
    int x = threadIdx.x, left = blockIdx.x * 32, top = blockIdx.y * 32;
    for (int y = threadIdx.y; y < 32; y += 8) {
        if (top + y < rows && left + x < cols) tile[y][x] = a[(top + y) * cols + left + x];
    }
    __syncthreads();
    for (int y = threadIdx.y; y < 32; y += 8) {
        if (left + y < cols && top + x < rows) out[(left + y) * rows + top + x] = tile[x][y];
    }
    // end of your code
}
