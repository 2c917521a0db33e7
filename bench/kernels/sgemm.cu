// C = A B, square, one thread an element, tiles of A and B in shared memory.
#define TILE 16

extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int n) {
    __shared__ float as[TILE][TILE], bs[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += as[y][i] * bs[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
