// Attention on tensor cores: one pass over keys and values, fp16 in and out, fp32 sums; no score leaves the registers.
//
// A block has WARPS warps, and a warp has TILES tiles of 16 query rows. It goes over all keys, KEYS at a time:
//
//   S = Q Kᵀ         mma.sync, K through ldmatrix
//   P = 2^(S - m)    in the registers where S is: sums of one product lie as the operand of the next wants them
//   O = O + P V      mma.sync, V through ldmatrix.trans
//
// q, k, v, out: heads × n × HEAD halves; lse: heads × n floats. `scale` has the factor log2 e in it. After fragments.cu.

#ifndef NAME
#define NAME attention_mma
#define TILES 2   // of 16 query rows, for each warp: what is loaded of K and V serves them all
#define KEYS 128  // in a step
#define STAGES 2  // steps whose keys and values have room in shared memory
#define BLOCKS 2  // an SM is to hold at once: bounds the registers
#define HOLD_Q 0  // 1: Q stays in registers; 0: it is read from shared memory in every step
#define LAZY 1    // 0: m follows the largest score in every step
#define MAX3 1    // 1: whether m must follow is found with integers, three at a time
#endif

constexpr int ROWS = 16 * TILES;  // of a warp
constexpr int TILE_BYTES = KEYS * ROW_BYTES;
constexpr float SLACK = LAZY ? 8 : 0;  // a weight may reach 2^SLACK before m follows

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    NAME(const __half* q, const __half* k, const __half* v, __half* out, float* lse, int n, float scale, int causal) {
    extern __shared__ __align__(128) unsigned char memory[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int block = causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x;  // causal: the longest rows start first
    int first = block * ROWS * WARPS, mine = first + warp * ROWS;  // query rows: the block's, the warp's
    int last = causal ? min(n, first + ROWS * WARPS) : n, steps = (last + KEYS - 1) / KEYS;

    unsigned queries = (unsigned)__cvta_generic_to_shared(memory);
    unsigned ring = queries + (HOLD_Q ? 0 : ROWS * WARPS * ROW_BYTES);  // of stages: KEYS rows of K, then of V
    int row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS;       // what this thread copies
    size_t head = (size_t)blockIdx.y * n * HEAD, own = head + row * HEAD + chunk * 8;
    unsigned to = place(row, chunk);
    auto fetch_step = [&](int step, int stage) {
        int start = step * KEYS, left = n - start - row;
        unsigned at = ring + stage * 2 * TILE_BYTES + to;
        fetch<KEYS>(at, k + own + start * HEAD, left);
        fetch<KEYS>(at + TILE_BYTES, v + own + start * HEAD, left);
    };

    // --8<-- [start:queries]
    unsigned held[TILES][HEAD / 16][4];  // Q as the first operand: 16 rows × 16 columns in four registers
    unsigned q_at = queries + place(warp * ROWS + lane % 16, lane / 16);
    fetch<ROWS * WARPS>(queries + to, q + own + first * HEAD, n - first - row);
    commit();
    if (HOLD_Q) {
        wait<0>();
        __syncthreads();
#pragma unroll
        for (int m = 0; m < TILES; ++m)
#pragma unroll
            for (int d = 0; d < HEAD / 16; ++d) ldmatrix(held[m][d], (q_at + m * 16 * ROW_BYTES) ^ d * 32);
        __syncthreads();  // the ring takes the place of Q
    }
    // --8<-- [end:queries]

#pragma unroll
    for (int step = 0; step < STAGES - 1; ++step) {
        if (step < steps) fetch_step(step, step);
        commit();  // a group a step, empty or not, so that they can be counted
    }

    float o[TILES][HEAD / 8][4] = {}, sum[TILES][2] = {}, peak[TILES][2], shift[TILES][2], limit[TILES][2];
#pragma unroll
    for (int m = 0; m < TILES; ++m)
#pragma unroll
        for (int r = 0; r < 2; ++r)
            peak[m][r] = -INFINITY, limit[m][r] = MAX3 ? __int_as_float(-1) : -INFINITY, shift[m][r] = 0;

    unsigned k_lane = place(lane / 16 * 8 + lane % 8, lane / 8 % 2), v_lane = TILE_BYTES + place(lane % 16, lane / 16);
    int stage = 0;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        // --8<-- [start:ring]
        wait<STAGES - 2>();
        __syncthreads();  // this step's keys and values are here, and nobody reads the last step's any more
        if (step + STAGES - 1 < steps) fetch_step(step + STAGES - 1, stage == 0 ? STAGES - 1 : stage - 1);
        commit();
        unsigned k_at = ring + stage * 2 * TILE_BYTES + k_lane, v_at = ring + stage * 2 * TILE_BYTES + v_lane;
        stage = stage + 1 == STAGES ? 0 : stage + 1;
        // --8<-- [end:ring]

        // --8<-- [start:scores]
        float s[TILES][KEYS / 8][4] = {};
#pragma unroll
        for (int d = 0; d < HEAD / 16; ++d) {
            unsigned a[TILES][4], b[4];
#pragma unroll
            for (int m = 0; m < TILES; ++m) {
                if (!HOLD_Q) ldmatrix(held[m][0], (q_at + m * 16 * ROW_BYTES) ^ d * 32);
#pragma unroll
                for (int i = 0; i < 4; ++i) a[m][i] = held[m][HOLD_Q ? d : 0][i];
            }
#pragma unroll
            for (int j = 0; j < KEYS / 16; ++j) {
                ldmatrix(b, (k_at ^ d * 32) + j * 16 * ROW_BYTES);
#pragma unroll
                for (int m = 0; m < TILES; ++m) {
                    mma(s[m][2 * j], a[m], b[0], b[1]);
                    mma(s[m][2 * j + 1], a[m], b[2], b[3]);
                }
            }
        }
        // --8<-- [end:scores]

        // --8<-- [start:mask]
        int start = step * KEYS;
        if (start + KEYS > n || (causal && start + KEYS > mine + 1)) {
#pragma unroll
            for (int m = 0; m < TILES; ++m)
#pragma unroll
                for (int j = 0; j < KEYS / 8; ++j)
#pragma unroll
                    for (int i = 0; i < 4; ++i) {
                        int key = start + j * 8 + lane % 4 * 2 + i % 2, query = mine + m * 16 + lane / 4 + i / 2 * 8;
                        if (key >= n || (causal && key > query)) s[m][j][i] = -INFINITY;
                    }
        }
        // --8<-- [end:mask]

        // --8<-- [start:maximum]
        auto largest = [&](int m, int r) {  // of this lane's scores in one of its rows
            float most = fmaxf(s[m][0][2 * r], s[m][0][2 * r + 1]);
#pragma unroll
            for (int j = 1; j < KEYS / 8; ++j) most = fmaxf(most, fmaxf(s[m][j][2 * r], s[m][j][2 * r + 1]));
            return most;
        };
        auto exceeds = [&](int m, int r) {
            if (!MAX3) return largest(m, r) > limit[m][r];
            int most = 0;  // floats above zero are in the order of their bits; others do not exceed a limit above zero
#pragma unroll
            for (int j = 0; j < KEYS / 8; ++j)
                most = __vimax3_s32(most, __float_as_int(s[m][j][2 * r]), __float_as_int(s[m][j][2 * r + 1]));
            return most > __float_as_int(limit[m][r]);  // if that is -1, always
        };
        bool above = false;
#pragma unroll
        for (int m = 0; m < TILES; ++m)
#pragma unroll
            for (int r = 0; r < 2; ++r) above |= exceeds(m, r);
        if (!LAZY || __any_sync(~0u, above)) {
#pragma unroll
            for (int m = 0; m < TILES; ++m)
#pragma unroll
                for (int r = 0; r < 2; ++r) {
                    float now = fmaxf(largest(m, r), peak[m][r]);
                    now = fmaxf(now, __shfl_xor_sync(~0u, now, 1));  // four lanes share a row
                    now = fmaxf(now, __shfl_xor_sync(~0u, now, 2));
                    float shrink = power_of_two((peak[m][r] - now) * scale);
                    peak[m][r] = now, shift[m][r] = now * scale, limit[m][r] = now + SLACK / scale;
                    if (MAX3 && limit[m][r] < 0) limit[m][r] = __int_as_float(-1);  // no order of bits below zero
                    sum[m][r] *= shrink;
#pragma unroll
                    for (int d = 0; d < HEAD / 8; ++d) o[m][d][2 * r] *= shrink, o[m][d][2 * r + 1] *= shrink;
                }
        }
        // --8<-- [end:maximum]

        // --8<-- [start:values]
#pragma unroll
        for (int j = 0; j < KEYS / 16; ++j) {
            unsigned p[TILES][4], b[4];
#pragma unroll
            for (int m = 0; m < TILES; ++m)
#pragma unroll
                for (int i = 0; i < 4; ++i) {  // row i % 2 of the lane's, columns i / 2 * 8 + 0 … 7 of these 16
                    float* x = &s[m][2 * j + i / 2][i % 2 * 2];
                    x[0] = power_of_two(fmaf(x[0], scale, -shift[m][i % 2]));
                    x[1] = power_of_two(fmaf(x[1], scale, -shift[m][i % 2]));
                    sum[m][i % 2] += x[0] + x[1];
                    p[m][i] = pack(x[0], x[1]);
                }
#pragma unroll
            for (int d = 0; d < HEAD / 16; ++d) {
                ldmatrix_trans(b, (v_at ^ d * 32) + j * 16 * ROW_BYTES);
#pragma unroll
                for (int m = 0; m < TILES; ++m) {
                    mma(o[m][2 * d], p[m], b[0], b[1]);
                    mma(o[m][2 * d + 1], p[m], b[2], b[3]);
                }
            }
        }
        // --8<-- [end:values]
    }

    // --8<-- [start:finish]
#pragma unroll
    for (int m = 0; m < TILES; ++m)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            float total = sum[m][r];
            total += __shfl_xor_sync(~0u, total, 1);
            total += __shfl_xor_sync(~0u, total, 2);
            int query = mine + m * 16 + lane / 4 + r * 8;
            if (query >= n) continue;
            if (lane % 4 == 0) lse[(size_t)blockIdx.y * n + query] = (shift[m][r] + log2f(total)) * 0.69314718f;
            float inverse = 1 / total;
            __half* to = out + head + (size_t)query * HEAD + lane % 4 * 2;
#pragma unroll
            for (int d = 0; d < HEAD / 8; ++d)
                *reinterpret_cast<unsigned*>(to + d * 8) = pack(o[m][d][2 * r] * inverse, o[m][d][2 * r + 1] * inverse);
        }
    // --8<-- [end:finish]
}
