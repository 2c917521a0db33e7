// wrong: not-padded, no line
__global__ void conv(const float* x, const float* w, float* y, int rows, int columns, int d) {
    __shared__ float tile[32][32];  // d is at most 8
    int top = blockIdx.y * 16, left = blockIdx.x * 16, side = 16 + 2 * d;
    for (int i = threadIdx.y; i < side; i += 16)
        for (int j = threadIdx.x; j < side; j += 16) {
            int row = top + i, column = left + j;
            bool in = row >= 0 && row < rows && column >= 0 && column < columns;
            tile[i][j] = in ? x[row * columns + column] : 0;
        }
    __syncthreads();
    float sum = 0;
    for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++) sum += w[r * 3 + s] * tile[threadIdx.y + r * d][threadIdx.x + s * d];
    int row = top + threadIdx.y, column = left + threadIdx.x;
    if (row < rows && column < columns) y[row * columns + column] = sum;
}
