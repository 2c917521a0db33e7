// Attention in one pass, fp32: scores live in shared memory for as long as their tile does. After tile.cu.
//
// A block has 64 query rows and goes over all keys, 64 at a time. Of each row it remembers the largest score so far, the sum
// of exponentials and the sum of values, and rescales both sums when a larger score comes.

constexpr int TILED_FLOATS = SIDE * WIDE + SIDE * (NARROW > SCORES ? NARROW : SCORES) + SIDE * HEAD;

// --8<-- [start:tiled]
extern "C" __global__ void __launch_bounds__(THREADS, HEAD == 64 ? 3 : 2)
    attention_tiled(const float* q, const float* k, const float* v, float* out, float* lse, int n, float scale,
                    int causal) {
    extern __shared__ __align__(16) float memory[];
    float *rows = memory, *keys = rows + SIDE * WIDE, *weights = keys, *values = memory + TILED_FLOATS - SIDE * HEAD;
    int first = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * SIDE;  // causal: the longest rows start first
    size_t head = (size_t)blockIdx.y * n;
    Thread t;

    float o[8][OWN] = {}, top[8], sum[8] = {}, inverse[8];
    for (float& x : top) x = -INFINITY;
    load(rows, WIDE, q + (head + first) * HEAD, n - first);
    int last = causal ? min(n, first + SIDE) : n;
    for (int start = 0; start < last; start += SIDE) {
        __syncthreads();  // the tile before has been used
        load(keys, NARROW, k + (head + start) * HEAD, n - start);
        load(values, HEAD, v + (head + start) * HEAD, n - start);
        __syncthreads();
        float s[8][4] = {};
        rows_by_rows(s, rows, keys, t);
        __syncthreads();  // the weights take the place of the keys
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            int row = first + t.y + 8 * i;
            float now = top[i];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                int column = start + t.x + 16 * j;
                bool hidden = column >= n || (causal && column > row);
                s[i][j] = hidden ? -INFINITY : s[i][j] * (scale * LOG2E);
                now = fmaxf(now, s[i][j]);
            }
#pragma unroll
            for (int step = 1; step < 16; step *= 2) now = fmaxf(now, __shfl_xor_sync(~0u, now, step));
            float shrink = exp2f(top[i] - now);  // 1 if nothing larger came
            top[i] = now;
            sum[i] *= shrink;
#pragma unroll
            for (int c = 0; c < OWN; ++c) o[i][c] *= shrink;
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                float weight = exp2f(s[i][j] - now);
                sum[i] += weight;  // of this thread's columns; added up over the row at the end
                weights[(t.y + 8 * i) * SCORES + t.x + 16 * j] = weight;
            }
        }
        __syncthreads();
        scores_by_rows(o, weights, values, HEAD, t);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int step = 1; step < 16; step *= 2) sum[i] += __shfl_xor_sync(~0u, sum[i], step);
        inverse[i] = 1 / sum[i];
        int row = first + t.y + 8 * i;
        if (t.x == 0 && row < n) lse[head + row] = (top[i] + log2f(sum[i])) / LOG2E;
    }
    store(out + (head + first) * HEAD, o, inverse, n - first, t);
}
// --8<-- [end:tiled]
