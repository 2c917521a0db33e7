// Scores of every query against every key, in the two families of the literature, and what is done with weights.
// Matrices are row by row: queries × d, keys × d, scores queries × keys. A block computes SIDE × SIDE scores.
//
//   score_dot       scale · q·k                (also q·Wk, once W k has been computed by `project`)
//   score_additive  v · tanh(a + b)            a = A q and b = B k computed by `project`
//   project         each row times a matrix
//   mix             each row of weights times the values
//   pair_dots       q·k of the i-th query and the i-th key
#ifndef SIDE
#define SIDE 16
#endif

using Index = long long;

constexpr int DEEP = 32;  // numbers of a row that are in shared memory at a time

extern "C" {

// --8<-- [start:dot]
__global__ void score_dot(const float* q, const float* k, float* s, int queries, int keys, int d, float scale) {
    __shared__ float of_q[SIDE][DEEP + 1], of_k[SIDE][DEEP + 1];
    int first_q = blockIdx.y * SIDE, first_k = blockIdx.x * SIDE, thread = threadIdx.y * SIDE + threadIdx.x;
    float sum = 0;
    for (int from = 0; from < d; from += DEEP) {
        for (int i = thread; i < SIDE * DEEP; i += SIDE * SIDE) {
            int r = i / DEEP, c = i % DEEP;
            of_q[r][c] = first_q + r < queries && from + c < d ? q[(Index)(first_q + r) * d + from + c] : 0;
            of_k[r][c] = first_k + r < keys && from + c < d ? k[(Index)(first_k + r) * d + from + c] : 0;
        }
        __syncthreads();
        for (int c = 0; c < DEEP; ++c) sum += of_q[threadIdx.y][c] * of_k[threadIdx.x][c];
        __syncthreads();
    }
    int i = first_q + threadIdx.y, j = first_k + threadIdx.x;
    if (i < queries && j < keys) s[(Index)i * keys + j] = scale * sum;
}
// --8<-- [end:dot]

// --8<-- [start:additive]
__global__ void score_additive(const float* a, const float* b, const float* v, float* s, int queries, int keys, int d) {
    __shared__ float of_a[SIDE][DEEP + 1], of_b[SIDE][DEEP + 1], of_v[DEEP];
    int first_q = blockIdx.y * SIDE, first_k = blockIdx.x * SIDE, thread = threadIdx.y * SIDE + threadIdx.x;
    float sum = 0;
    for (int from = 0; from < d; from += DEEP) {
        for (int i = thread; i < SIDE * DEEP; i += SIDE * SIDE) {
            int r = i / DEEP, c = i % DEEP;
            of_a[r][c] = first_q + r < queries && from + c < d ? a[(Index)(first_q + r) * d + from + c] : 0;
            of_b[r][c] = first_k + r < keys && from + c < d ? b[(Index)(first_k + r) * d + from + c] : 0;
        }
        if (thread < DEEP) of_v[thread] = from + thread < d ? v[from + thread] : 0;
        __syncthreads();
        for (int c = 0; c < DEEP; ++c) sum += of_v[c] * tanhf(of_a[threadIdx.y][c] + of_b[threadIdx.x][c]);
        __syncthreads();
    }
    int i = first_q + threadIdx.y, j = first_k + threadIdx.x;
    if (i < queries && j < keys) s[(Index)i * keys + j] = sum;
}
// --8<-- [end:additive]

// --8<-- [start:project]
__global__ void project(const float* x, const float* w, float* y, int rows, int d, int e) {  // y = x w, w of d × e
    int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows || c >= e) return;
    float sum = 0;
    for (int i = 0; i < d; ++i) sum += x[(Index)r * d + i] * w[(Index)i * e + c];
    y[(Index)r * e + c] = sum;
}
// --8<-- [end:project]

// --8<-- [start:external]
// Double normalisation: the columns have had their softmax; now each token's row is made to sum to one. s is slots ×
// tokens, out tokens × d.
__global__ void external_mix(const float* s, const float* values, float* out, int tokens, int slots, int d) {
    int token = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (token >= tokens || c >= d) return;
    float sum = 0, weight = 0;
    for (int i = 0; i < slots; ++i) {
        float w = s[(Index)i * tokens + token];
        sum += w * values[(Index)i * d + c];
        weight += w;
    }
    out[(Index)token * d + c] = sum / weight;
}
// --8<-- [end:external]

// --8<-- [start:pairs]
__global__ void pair_dots(const float* q, const float* k, float* out, int pairs, int d) {  // of d × pairs: coalesced
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= pairs) return;
    float sum = 0;
    for (int c = 0; c < d; ++c) sum += q[(Index)c * pairs + i] * k[(Index)c * pairs + i];
    out[i] = sum;
}
// --8<-- [end:pairs]

}  // extern "C"
