// Attention's gradients, fp32, without a score in memory. After tile.cu.
//
// P is computed again from Q, K and the logarithm of each row's sum, which the forward pass left. With dP = dO Vᵀ and
// delta = the dot product of a row of dO and of O:
//
//   dV = Pᵀ dO      dS = P ∘ (dP - delta)      dQ = scale · dS K      dK = scale · dSᵀ Q
//
// One kernel owns query rows and makes dQ; another owns key rows and makes dK and dV. No sum is shared, so none needs an
// atomic, and each run gives the same bits. The price is that P and dP are computed twice: seven products instead of five.

constexpr int DQ_FLOATS = 2 * SIDE * WIDE + 2 * SIDE * NARROW + SIDE * SCORES;
constexpr int DKV_FLOATS = DQ_FLOATS + 2 * SIDE;

extern "C" {

// --8<-- [start:delta]
// delta[row] = row of dO · row of O; a warp a row
__global__ void backward_delta(const float* out, const float* dout, float* delta, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0;
    for (int c = lane; c < HEAD; c += 32) sum += out[(size_t)row * HEAD + c] * dout[(size_t)row * HEAD + c];
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0) delta[row] = sum;
}
// --8<-- [end:delta]

// --8<-- [start:dq]
__global__ void __launch_bounds__(THREADS)
    backward_dq(const float* q, const float* k, const float* v, const float* dout, const float* lse, const float* delta,
                float* dq, int n, float scale, int causal) {
    extern __shared__ __align__(16) float memory[];
    float *rows = memory, *drows = rows + SIDE * WIDE, *keys = drows + SIDE * WIDE, *values = keys + SIDE * NARROW,
          *weights = values + SIDE * NARROW;
    int first = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * SIDE;
    size_t head = (size_t)blockIdx.y * n;
    Thread t;

    float sum[8][OWN] = {}, log_sum[8], dot[8], factor[8];
    load(rows, WIDE, q + (head + first) * HEAD, n - first);
    load(drows, WIDE, dout + (head + first) * HEAD, n - first);
    for (int i = 0; i < 8; ++i) {
        int row = min(first + t.y + 8 * i, n - 1);
        log_sum[i] = lse[head + row], dot[i] = delta[head + row], factor[i] = scale;
    }
    int last = causal ? min(n, first + SIDE) : n;
    for (int start = 0; start < last; start += SIDE) {
        __syncthreads();
        load(keys, NARROW, k + (head + start) * HEAD, n - start);
        load(values, NARROW, v + (head + start) * HEAD, n - start);
        __syncthreads();
        float s[8][4] = {}, dp[8][4] = {};
        rows_by_rows(s, rows, keys, t);
        rows_by_rows(dp, drows, values, t);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                int row = first + t.y + 8 * i, column = start + t.x + 16 * j;
                bool hidden = column >= n || (causal && column > row);
                float p = hidden ? 0 : exp2f((s[i][j] * scale - log_sum[i]) * LOG2E);
                weights[(t.y + 8 * i) * SCORES + t.x + 16 * j] = p * (dp[i][j] - dot[i]);
            }
        __syncthreads();
        scores_by_rows(sum, weights, keys, NARROW, t);
    }
    store(dq + (head + first) * HEAD, sum, factor, n - first, t);
}
// --8<-- [end:dq]

// --8<-- [start:dkv]
// Rows are keys here and columns are queries, so what lies in `weights` is Pᵀ, and then dSᵀ.
__global__ void __launch_bounds__(THREADS)
    backward_dkv(const float* q, const float* k, const float* v, const float* dout, const float* lse,
                 const float* delta, float* dk, float* dv, int n, float scale, int causal) {
    extern __shared__ __align__(16) float memory[];
    float *keys = memory, *values = keys + SIDE * WIDE, *queries = values + SIDE * WIDE,
          *douts = queries + SIDE * NARROW, *weights = douts + SIDE * NARROW, *log_sum = weights + SIDE * SCORES,
          *dot = log_sum + SIDE;
    int first = blockIdx.x * SIDE;  // causal: the first keys are seen by the most queries
    size_t head = (size_t)blockIdx.y * n;
    Thread t;

    float dk_sum[8][OWN] = {}, dv_sum[8][OWN] = {}, one[8], factor[8];
    for (int i = 0; i < 8; ++i) one[i] = 1, factor[i] = scale;
    load(keys, WIDE, k + (head + first) * HEAD, n - first);
    load(values, WIDE, v + (head + first) * HEAD, n - first);
    for (int start = causal ? first : 0; start < n; start += SIDE) {
        __syncthreads();
        load(queries, NARROW, q + (head + start) * HEAD, n - start);
        load(douts, NARROW, dout + (head + start) * HEAD, n - start);
        if (threadIdx.x < SIDE) {
            int query = min(start + (int)threadIdx.x, n - 1);
            log_sum[threadIdx.x] = lse[head + query], dot[threadIdx.x] = delta[head + query];
        }
        __syncthreads();
        float p[8][4] = {}, dp[8][4] = {};
        rows_by_rows(p, keys, queries, t);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                int row = first + t.y + 8 * i, column = t.x + 16 * j;
                bool hidden = row >= n || start + column >= n || (causal && row > start + column);
                p[i][j] = hidden ? 0 : exp2f((p[i][j] * scale - log_sum[column]) * LOG2E);
                weights[(t.y + 8 * i) * SCORES + column] = p[i][j];
            }
        __syncthreads();
        scores_by_rows(dv_sum, weights, douts, NARROW, t);
        rows_by_rows(dp, values, douts, t);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                int column = t.x + 16 * j;
                weights[(t.y + 8 * i) * SCORES + column] = p[i][j] * (dp[i][j] - dot[column]);
            }
        __syncthreads();
        scores_by_rows(dk_sum, weights, queries, NARROW, t);
    }
    store(dk + (head + first) * HEAD, dk_sum, factor, n - first, t);
    store(dv + (head + first) * HEAD, dv_sum, one, n - first, t);
}
// --8<-- [end:dkv]
}
