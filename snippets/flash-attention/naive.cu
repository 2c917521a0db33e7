// Attention as the formula says it: all scores into memory, a softmax of each row, a product with the values.
//
// Three launches. q, k, v, out: heads × n × HEAD floats; scores: heads × n × n floats.
#ifndef HEAD
#define HEAD 64
#endif

constexpr int TILE = 32;  // a block makes TILE × TILE numbers, a thread one

extern "C" {

// --8<-- [start:scores]
// scores[i][j] = scale * (row i of q · row j of k)
__global__ void naive_scores(const float* q, const float* k, float* scores, int n, float scale, int causal) {
    __shared__ float rows[TILE][TILE + 1], columns[TILE][TILE + 1];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * TILE + y, j = blockIdx.x * TILE + x,
        other = blockIdx.x * TILE + y;
    size_t head = (size_t)blockIdx.z * n;
    float sum = 0;
    for (int d = 0; d < HEAD; d += TILE) {
        rows[y][x] = i < n ? q[(head + i) * HEAD + d + x] : 0;
        columns[y][x] = other < n ? k[(head + other) * HEAD + d + x] : 0;
        __syncthreads();
        for (int e = 0; e < TILE; ++e) sum += rows[y][e] * columns[x][e];
        __syncthreads();
    }
    if (i < n && j < n) scores[(head + i) * n + j] = causal && j > i ? -INFINITY : scale * sum;
}
// --8<-- [end:scores]

// --8<-- [start:softmax]
// Each row becomes e^(x - its largest) / (the sum of these). One block a row: three passes over it.
__global__ void naive_softmax(float* scores, int n) {
    __shared__ float parts[32];
    float* row = scores + (size_t)blockIdx.x * n;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;

    float top = -INFINITY;
    for (int j = threadIdx.x; j < n; j += blockDim.x) top = fmaxf(top, row[j]);
    for (int step = 16; step; step /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, step));
    if (lane == 0) parts[warp] = top;
    __syncthreads();
    for (int w = 0; w < warps; ++w) top = fmaxf(top, parts[w]);
    __syncthreads();

    float sum = 0;
    for (int j = threadIdx.x; j < n; j += blockDim.x) sum += expf(row[j] - top);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0) parts[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < warps; ++w) sum += parts[w];

    for (int j = threadIdx.x; j < n; j += blockDim.x) row[j] = expf(row[j] - top) / sum;
}
// --8<-- [end:softmax]

// --8<-- [start:values]
// out[i][c] = Σ scores[i][j] * v[j][c]
__global__ void naive_values(const float* scores, const float* v, float* out, int n) {
    __shared__ float rows[TILE][TILE + 1], columns[TILE][TILE + 1];
    int x = threadIdx.x, y = threadIdx.y, i = blockIdx.y * TILE + y, c = blockIdx.x * TILE + x;
    size_t head = (size_t)blockIdx.z * n;
    float sum = 0;
    for (int j = 0; j < n; j += TILE) {
        rows[y][x] = i < n && j + x < n ? scores[(head + i) * n + j + x] : 0;
        columns[y][x] = j + y < n ? v[(head + j + y) * HEAD + c] : 0;
        __syncthreads();
        for (int e = 0; e < TILE; ++e) sum += rows[y][e] * columns[e][x];
        __syncthreads();
    }
    if (i < n) out[(head + i) * HEAD + c] = sum;
}
// --8<-- [end:values]
}
