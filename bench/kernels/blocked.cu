// C = A B, square, 4 x 4 elements a thread in registers: what each thread loads from a tile is used four times.
#define TILE 64
#define DEEP 8
#define EACH 4

extern "C" __global__ void blocked(const float* a, const float* b, float* c, int n) {
    __shared__ float as[TILE][DEEP + 1], bs[DEEP][TILE];
    int x = threadIdx.x, y = threadIdx.y, t = y * (TILE / EACH) + x;
    int row = blockIdx.y * TILE, column = blockIdx.x * TILE;
    float sums[EACH][EACH] = {};
    for (int k = 0; k < n; k += DEEP) {
        for (int i = t; i < TILE * DEEP; i += TILE / EACH * (TILE / EACH)) {
            as[i / DEEP][i % DEEP] = a[(row + i / DEEP) * n + k + i % DEEP];
            bs[i / TILE][i % TILE] = b[(k + i / TILE) * n + column + i % TILE];
        }
        __syncthreads();
        for (int i = 0; i < DEEP; ++i)
            for (int r = 0; r < EACH; ++r)
                for (int q = 0; q < EACH; ++q) sums[r][q] += as[y * EACH + r][i] * bs[i][x * EACH + q];
        __syncthreads();
    }
    for (int r = 0; r < EACH; ++r)
        for (int q = 0; q < EACH; ++q) c[(row + y * EACH + r) * n + column + x * EACH + q] = sums[r][q];
}
