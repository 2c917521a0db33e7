// Attention's gradients on tensor cores, without a score in memory. After fragments.cu.
//
// P is computed again from Q, K and the logarithm of each row's sum, which the forward pass left. With dP = dO Vᵀ and
// delta = the dot product of a row of dO and of O:
//
//   dV = Pᵀ dO      dS = P ∘ (dP - delta)      dQ = scale · dS K      dK = scale · dSᵀ Q
//
// One kernel owns query rows and makes dQ; another owns key rows and makes dK and dV. No sum is shared, so none needs an
// atomic, and each run gives the same bits. The price is that P and dP are computed twice: seven products instead of five.
//
// Both are one loop: S and dP are products of rows the warp holds with rows that pass by; what is made of them stays in
// registers and multiplies the same passing rows, read through ldmatrix.trans. Of a tile that passes there are two
// arrays, and so are of what is held: (Q, dO) pass by (K, V), or (K, V) pass by (Q, dO).

constexpr int TILE = 16 * WARPS;            // rows that a block owns: 16 a warp
constexpr int STEP = HEAD == 64 ? 64 : 32;  // rows that pass by at a time
constexpr int STEP_BYTES = STEP * ROW_BYTES;
constexpr int STAGE_BYTES = 2 * STEP_BYTES + 2 * STEP * 4;  // two arrays' rows, and for each row lse and delta
constexpr float LOG2E = 1.44269504f;

// --8<-- [start:products]
// s += the warp's 16 rows, in registers, times STEP rows in shared memory, whose rows are columns of the product
__device__ void rows_by_rows(float (&s)[STEP / 8][4], const unsigned (&held)[HEAD / 16][4], unsigned at) {
#pragma unroll
    for (int d = 0; d < HEAD / 16; ++d)
#pragma unroll
        for (int j = 0; j < STEP / 16; ++j) {
            unsigned b[4];
            ldmatrix(b, (at ^ d * 32) + j * 16 * ROW_BYTES);
            mma(s[2 * j], held[d], b[0], b[1]);
            mma(s[2 * j + 1], held[d], b[2], b[3]);
        }
}

// sum += weights, 16 × STEP and rounded to fp16, times STEP rows in shared memory
__device__ void weights_by_rows(float (&sum)[HEAD / 8][4], const float (&weights)[STEP / 8][4], unsigned at) {
#pragma unroll
    for (int j = 0; j < STEP / 16; ++j) {
        unsigned a[4], b[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float* x = &weights[2 * j + i / 2][i % 2 * 2];
            a[i] = pack(x[0], x[1]);
        }
#pragma unroll
        for (int d = 0; d < HEAD / 16; ++d) {
            ldmatrix_trans(b, (at ^ d * 32) + j * 16 * ROW_BYTES);
            mma(sum[2 * d], a, b[0], b[1]);
            mma(sum[2 * d + 1], a, b[2], b[3]);
        }
    }
}
// --8<-- [end:products]

// What a thread of either kernel must know of where it is.
struct Place {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;
    unsigned to = place(row, chunk);                             // of what it copies
    unsigned a = place(warp * 16 + lane % 16, lane / 16);        // for ldmatrix of the warp's own rows
    unsigned b = place(lane / 16 * 8 + lane % 8, lane / 8 % 2);  // … of rows that pass, as columns
    unsigned b_trans = place(lane % 16, lane / 16);              // … of rows that pass, as rows
    size_t own = (size_t)row * HEAD + chunk * 8;
};

// The warp's 16 rows of an array into registers, through shared memory at `at`.
__device__ void hold(unsigned (&held)[HEAD / 16][4], unsigned at, const __half* from, int left, const Place& me) {
    fetch<TILE>(at + me.to, from + me.own, left - me.row);
    commit();
    wait<0>();
    __syncthreads();
#pragma unroll
    for (int d = 0; d < HEAD / 16; ++d) ldmatrix(held[d], (at + me.a) ^ d * 32);
    __syncthreads();
}

// A tile of sums, times `factor`, as halves; rows from `left` on do not exist.
__device__ void store(__half* to, const float (&sum)[HEAD / 8][4], float factor, int left, const Place& me) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        int row = me.warp * 16 + me.lane / 4 + r * 8;
        if (row >= left) continue;
#pragma unroll
        for (int d = 0; d < HEAD / 8; ++d)
            *reinterpret_cast<unsigned*>(to + (size_t)row * HEAD + d * 8 + me.lane % 4 * 2) =
                pack(sum[d][2 * r] * factor, sum[d][2 * r + 1] * factor);
    }
}

extern "C" {

// delta[row] = row of dO · row of O; a warp a row
__global__ void backward_mma_delta(const __half* out, const __half* dout, float* delta, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0;
    for (int c = lane; c < HEAD; c += 32)
        sum += __half2float(out[(size_t)row * HEAD + c]) * __half2float(dout[(size_t)row * HEAD + c]);
    for (int step = 16; step; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0) delta[row] = sum;
}

// --8<-- [start:dq]
__global__ void __launch_bounds__(THREADS)
    backward_mma_dq(const __half* q, const __half* k, const __half* v, const __half* dout, const float* lse,
                    const float* delta, __half* dq, int n, float scale, int causal) {
    extern __shared__ __align__(128) unsigned char memory[];
    unsigned ring = (unsigned)__cvta_generic_to_shared(memory);
    int first = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * TILE;
    size_t head = (size_t)blockIdx.y * n;
    Place me;

    unsigned held_q[HEAD / 16][4], held_dout[HEAD / 16][4];
    hold(held_q, ring, q + (head + first) * HEAD, n - first, me);
    hold(held_dout, ring, dout + (head + first) * HEAD, n - first, me);
    float sum[HEAD / 8][4] = {}, log_sum[2], dot[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        int row = min(first + me.warp * 16 + me.lane / 4 + r * 8, n - 1);
        log_sum[r] = lse[head + row] * LOG2E, dot[r] = delta[head + row];
    }

    int last = causal ? min(n, first + TILE) : n, steps = (last + STEP - 1) / STEP;
    auto fetch_step = [&](int step) {
        unsigned at = ring + step % 2 * STAGE_BYTES + me.to;
        size_t from = (head + step * STEP) * HEAD + me.own;
        fetch<STEP>(at, k + from, n - step * STEP - me.row);
        fetch<STEP>(at + STEP_BYTES, v + from, n - step * STEP - me.row);
        commit();
    };
    fetch_step(0);
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        wait<0>();
        __syncthreads();
        if (step + 1 < steps) fetch_step(step + 1);
        unsigned keys = ring + step % 2 * STAGE_BYTES, values = keys + STEP_BYTES;
        float s[STEP / 8][4] = {}, dp[STEP / 8][4] = {};
        rows_by_rows(s, held_q, keys + me.b);
        rows_by_rows(dp, held_dout, values + me.b);
        int start = step * STEP;
        bool edge = start + STEP > n || (causal && start + STEP > first + me.warp * 16 + 1);
#pragma unroll
        for (int j = 0; j < STEP / 8; ++j)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                float p = power_of_two(fmaf(s[j][i], scale * LOG2E, -log_sum[i / 2]));
                if (edge) {
                    int key = start + j * 8 + me.lane % 4 * 2 + i % 2,
                        query = first + me.warp * 16 + me.lane / 4 + i / 2 * 8;
                    if (key >= n || (causal && key > query)) p = 0;
                }
                s[j][i] = p * (dp[j][i] - dot[i / 2]);
            }
        weights_by_rows(sum, s, keys + me.b_trans);
    }
    store(dq + (head + first) * HEAD, sum, scale, n - first, me);
}
// --8<-- [end:dq]

// --8<-- [start:dkv]
// Rows are keys here and columns are queries: the tile is Pᵀ, and then dSᵀ.
__global__ void __launch_bounds__(THREADS)
    backward_mma_dkv(const __half* q, const __half* k, const __half* v, const __half* dout, const float* lse,
                     const float* delta, __half* dk, __half* dv, int n, float scale, int causal) {
    extern __shared__ __align__(128) unsigned char memory[];
    unsigned ring = (unsigned)__cvta_generic_to_shared(memory);
    int first = blockIdx.x * TILE;  // causal: the first keys are seen by the most queries
    size_t head = (size_t)blockIdx.y * n;
    Place me;

    unsigned held_k[HEAD / 16][4], held_v[HEAD / 16][4];
    hold(held_k, ring, k + (head + first) * HEAD, n - first, me);
    hold(held_v, ring, v + (head + first) * HEAD, n - first, me);
    float dk_sum[HEAD / 8][4] = {}, dv_sum[HEAD / 8][4] = {};

    int begin = causal ? first / STEP : 0, steps = (n + STEP - 1) / STEP;
    auto fetch_step = [&](int step) {
        unsigned at = ring + step % 2 * STAGE_BYTES;
        size_t from = (head + step * STEP) * HEAD + me.own;
        fetch<STEP>(at + me.to, q + from, n - step * STEP - me.row);
        fetch<STEP>(at + STEP_BYTES + me.to, dout + from, n - step * STEP - me.row);
        for (int i = threadIdx.x; i < 2 * STEP; i += THREADS) {  // a number of lse or of delta; 0 for rows from n on
            int query = step * STEP + i % STEP;
            asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(at + 2 * STEP_BYTES + i * 4),
                         "l"((i < STEP ? lse : delta) + head + min(query, n - 1)), "r"(query < n ? 4 : 0));
        }
        commit();
    };
    fetch_step(begin);
#pragma unroll 1
    for (int step = begin; step < steps; ++step) {
        wait<0>();
        __syncthreads();
        if (step + 1 < steps) fetch_step(step + 1);
        unsigned queries = ring + step % 2 * STAGE_BYTES, douts = queries + STEP_BYTES;
        const float2* rows = reinterpret_cast<const float2*>(memory + step % 2 * STAGE_BYTES + 2 * STEP_BYTES);
        float s[STEP / 8][4] = {}, dp[STEP / 8][4] = {};
        rows_by_rows(s, held_k, queries + me.b);
        int start = step * STEP;
        bool edge = start + STEP > n || (causal && first + me.warp * 16 + 15 > start);
#pragma unroll
        for (int j = 0; j < STEP / 8; ++j) {
            float2 log_sum = rows[j * 4 + me.lane % 4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                s[j][i] = power_of_two(fmaf(s[j][i], scale, -(i % 2 ? log_sum.y : log_sum.x)) * LOG2E);
                if (edge) {
                    int query = start + j * 8 + me.lane % 4 * 2 + i % 2,
                        key = first + me.warp * 16 + me.lane / 4 + i / 2 * 8;
                    if (query >= n || (causal && key > query)) s[j][i] = 0;
                }
            }
        }
        weights_by_rows(dv_sum, s, douts + me.b_trans);
        rows_by_rows(dp, held_v, douts + me.b);
#pragma unroll
        for (int j = 0; j < STEP / 8; ++j) {
            float2 dot = rows[STEP / 2 + j * 4 + me.lane % 4];
#pragma unroll
            for (int i = 0; i < 4; ++i) s[j][i] *= dp[j][i] - (i % 2 ? dot.y : dot.x);
        }
        weights_by_rows(dk_sum, s, queries + me.b_trans);
    }
    store(dk + (head + first) * HEAD, dk_sum, scale, n - first, me);
    store(dv + (head + first) * HEAD, dv_sum, 1, n - first, me);
}
// --8<-- [end:dkv]
}
