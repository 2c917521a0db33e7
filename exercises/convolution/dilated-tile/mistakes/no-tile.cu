// slow: bytes
__global__ void conv(const float* x, const float* w, float* y, int rows, int columns, int d) {
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= rows || column >= columns) return;
    float sum = 0;
    for (int r = 0; r < 3; r++)
        for (int s = 0; s < 3; s++) {
            int i = row + (r - 1) * d, j = column + (s - 1) * d;
            if (i >= 0 && i < rows && j >= 0 && j < columns) sum += w[r * 3 + s] * x[i * columns + j];  // <-- here
        }
    y[row * columns + column] = sum;
}
