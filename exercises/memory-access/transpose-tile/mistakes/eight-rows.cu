// wrong: part-not-written
__global__ void transpose(const float* a, float* out, int rows, int cols) {
    __shared__ float tile[32][33];
    int x = threadIdx.x, left = blockIdx.x * 32, top = blockIdx.y * 32;
    int y = threadIdx.y;
    if (top + y < rows && left + x < cols) tile[y][x] = a[(top + y) * cols + left + x];
    __syncthreads();
    if (left + y < cols && top + x < rows) out[(left + y) * rows + top + x] = tile[x][y];  // <-- here
}
