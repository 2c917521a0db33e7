// Attention of one new token per sequence: one query per head, over all keys and values in the cache, in fp16.
// q, out: rows x heads x HEAD; a row is a new token. It belongs to sequence[row] and sees the first length[row] keys.
// The program that compiles this file sets
//   HEAD     elements of a key, 64 or 128      QUERIES  query heads that share a head of keys and values
//   PAGE     tokens per page of the cache, a power of two
// Each kernel differs from the one before it by one change. --8<-- marks the sections that the pages show.
#include <cuda_fp16.h>

constexpr int THREADS = 128, WARPS = THREADS / 32;
constexpr int LANES = HEAD / 8;          // lanes that share a key: 16 bytes each
constexpr int GROUPS = THREADS / LANES;  // groups of so many lanes
constexpr int AHEAD = 4;                 // keys that a group takes per turn, with their values
constexpr float LEAST = -1e30f;          // below every score, and still finite: the difference of two is 0, not NaN
constexpr unsigned ALL = 0xffffffff;

// --8<-- [start:cache]
// Where the keys (or values) of one sequence and head are: row j is at(j) elements from the start.
// most: tokens for which a sequence has room; with pages, entries that it has in the table.
template <int page>
struct Cache {
    const int* table;  // pages of the sequence, in order
    size_t first;
    int heads, head;

    __device__ Cache(const int* tables, int sequence, int most, int heads, int head) : heads(heads), head(head) {
        table = tables + (size_t)sequence * most;
        first = ((size_t)sequence * heads + head) * most;
    }
    __device__ size_t at(int j) const {
        if constexpr (page == 0)
            return (first + j) * HEAD;
        else
            return (((size_t)table[j / page] * heads + head) * page + j % page) * HEAD;
    }
};
// --8<-- [end:cache]

// --8<-- [start:state]
__device__ void unpack(uint4 loaded, float (&to)[8]) {
    const __half2* pairs = reinterpret_cast<const __half2*>(&loaded);
    for (int i = 0; i < 4; i++) {
        float2 both = __half22float2(pairs[i]);
        to[2 * i] = both.x, to[2 * i + 1] = both.y;
    }
}

// What a group of lanes knows of the keys it has seen: the largest score, the sum of 2^(score - m), and of each
// value times that; a lane has 8 elements. Two states merge into the one that all keys together would have left.
struct State {
    float m = LEAST, s = 0, o[8] = {};

    __device__ void restate(float top) {
        float factor = exp2f(m - top);
        m = top, s *= factor;
        for (float& x : o) x *= factor;
    }
};
// --8<-- [end:state]

// --8<-- [start:sweep]
// Keys from `from` to `to`: a group takes every GROUPS-th, AHEAD of them at once. Q queries use each key and value.
template <int Q, class Where>
__device__ void sweep(State (&state)[Q], const float (&query)[Q][8], const __half* keys, const __half* values,
                      Where where, int from, int to) {
    const int group = threadIdx.x / LANES, mine = threadIdx.x % LANES * 8;
    for (int base = from; base < to; base += GROUPS * AHEAD) {
        uint4 k[AHEAD], v[AHEAD];
        for (int a = 0; a < AHEAD; a++) {
            size_t at = where.at(min(base + a * GROUPS + group, to - 1)) + mine;
            k[a] = *(const uint4*)(keys + at), v[a] = *(const uint4*)(values + at);
        }
        float score[Q][AHEAD];
        for (int a = 0; a < AHEAD; a++) {
            float key[8];
            unpack(k[a], key);
            for (int i = 0; i < Q; i++) {
                float sum = 0;
                for (int e = 0; e < 8; e++) sum += query[i][e] * key[e];
                for (int apart = LANES / 2; apart; apart /= 2) sum += __shfl_xor_sync(ALL, sum, apart);
                score[i][a] = base + a * GROUPS + group < to ? sum : -INFINITY;
            }
        }
        for (int i = 0; i < Q; i++) {
            float top = state[i].m;
            for (int a = 0; a < AHEAD; a++) top = fmaxf(top, score[i][a]);
            state[i].restate(top);
        }
        for (int a = 0; a < AHEAD; a++) {
            float value[8];
            unpack(v[a], value);
            for (int i = 0; i < Q; i++) {
                float weight = exp2f(score[i][a] - state[i].m);
                state[i].s += weight;
                for (int e = 0; e < 8; e++) state[i].o[e] += weight * value[e];
            }
        }
    }
}
// --8<-- [end:sweep]

// --8<-- [start:block]
// Merges the states of the block's groups: first within a warp, then in shared memory. Thread c of the first HEAD gets
// element c of query i as put(i, c, o, m, s).
template <int Q, class Put>
__device__ void merge_block(State (&state)[Q], Put put) {
    __shared__ float o[WARPS][HEAD], m[WARPS], s[WARPS];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int i = 0; i < Q; i++) {
        State& one = state[i];
        for (int apart = LANES; apart < 32; apart *= 2) {
            float top = fmaxf(one.m, __shfl_xor_sync(ALL, one.m, apart));
            one.restate(top);  // both sides, so that they may be added
            one.s += __shfl_xor_sync(ALL, one.s, apart);
            for (float& x : one.o) x += __shfl_xor_sync(ALL, x, apart);
        }
        if (lane < LANES)
            for (int e = 0; e < 8; e++) o[warp][lane * 8 + e] = one.o[e];
        if (lane == 0) m[warp] = one.m, s[warp] = one.s;
        __syncthreads();
        if (threadIdx.x < HEAD) {
            float top = LEAST, sum = 0, value = 0;
            for (int w = 0; w < WARPS; w++) top = fmaxf(top, m[w]);
            for (int w = 0; w < WARPS; w++) {
                float factor = exp2f(m[w] - top);
                sum += s[w] * factor, value += o[w][threadIdx.x] * factor;
            }
            put(i, threadIdx.x, value, top, sum);
        }
        __syncthreads();
    }
}
// --8<-- [end:block]

// The 8 elements of a query that belong to this lane, times `scale`, which also turns e^x into 2^x.
__device__ void load_query(const __half* q, float scale, float (&to)[8]) {
    unpack(*(const uint4*)(q + threadIdx.x % LANES * 8), to);
    for (float& x : to) x *= scale;
}

extern "C" {

// --8<-- [start:v0]
// Block (head, row). A thread computes whole scores; then each of HEAD threads adds up one element of all values.
__global__ void decode_v0(const __half* q, const __half* keys, const __half* values, const int* sequence,
                          const int* length, __half* out, int heads, int most, float scale) {
    extern __shared__ float weight[];  // one per key
    __shared__ float parts[WARPS];
    const int head = blockIdx.x, row = blockIdx.y, n = length[row], warp = threadIdx.x / 32;
    const Cache<0> where(nullptr, sequence[row], most, heads / QUERIES, head / QUERIES);
    const __half* query = q + ((size_t)row * heads + head) * HEAD;

    float top = LEAST, sum = 0;
    for (int j = threadIdx.x; j < n; j += THREADS) {
        float score = 0;
        for (int c = 0; c < HEAD; c += 8) {
            float a[8], b[8];
            unpack(*(const uint4*)(query + c), a);
            unpack(*(const uint4*)(keys + where.at(j) + c), b);  // lanes are a whole key apart
            for (int e = 0; e < 8; e++) score += a[e] * b[e];
        }
        weight[j] = score * scale;
        top = fmaxf(top, weight[j]);
    }
    for (int apart = 16; apart; apart /= 2) top = fmaxf(top, __shfl_xor_sync(ALL, top, apart));
    if (threadIdx.x % 32 == 0) parts[warp] = top;
    __syncthreads();
    for (int w = 0; w < WARPS; w++) top = fmaxf(top, parts[w]);
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += THREADS) sum += weight[j] = exp2f(weight[j] - top);
    for (int apart = 16; apart; apart /= 2) sum += __shfl_xor_sync(ALL, sum, apart);
    if (threadIdx.x % 32 == 0) parts[warp] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < WARPS; w++) sum += parts[w];
    if (threadIdx.x >= HEAD) return;
    float value = 0;
    for (int j = 0; j < n; j++) value += weight[j] * __half2float(values[where.at(j) + threadIdx.x]);
    out[((size_t)row * heads + head) * HEAD + threadIdx.x] = __float2half(value / sum);
}
// --8<-- [end:v0]

// --8<-- [start:v1]
__global__ void decode_v1(const __half* q, const __half* keys, const __half* values, const int* sequence,
                          const int* length, __half* out, int heads, int most, float scale) {
    const int head = blockIdx.x, row = blockIdx.y;
    const size_t at = ((size_t)row * heads + head) * HEAD;
    float query[1][8];
    load_query(q + at, scale, query[0]);
    State state[1];
    sweep(state, query, keys, values, Cache<0>(nullptr, sequence[row], most, heads / QUERIES, head / QUERIES), 0,
          length[row]);
    merge_block(state, [&](int, int c, float o, float, float s) { out[at + c] = __float2half(o / s); });
}
// --8<-- [end:v1]

}  // extern "C"

// --8<-- [start:split]
// Block (head, row, part): keys part * chunk … of Q query heads that share them. Stores the merged state of its part.
template <int Q, class Where>
__device__ void attend_part(const __half* q, const __half* keys, const __half* values, Where where, int n, float* o,
                            float2* stats, int heads, int chunk, float scale) {
    const int row = blockIdx.y, part = blockIdx.z, parts = gridDim.z, from = part * chunk;
    if (from >= n) return;  // of a shorter sequence
    float query[Q][8];
    State state[Q];
    const size_t first = (size_t)row * heads + blockIdx.x * Q;  // query head
    for (int i = 0; i < Q; i++) load_query(q + (first + i) * HEAD, scale, query[i]);
    sweep(state, query, keys, values, where, from, min(n, from + chunk));
    merge_block(state, [&](int i, int c, float value, float m, float s) {
        size_t at = (first + i) * parts + part;
        o[at * HEAD + c] = value;
        if (c == 0) stats[at] = {m, s};
    });
}
// --8<-- [end:split]

extern "C" {

// --8<-- [start:v2]
__global__ void decode_v2(const __half* q, const __half* keys, const __half* values, const int* sequence,
                          const int* length, float* o, float2* stats, int heads, int most, int chunk, float scale) {
    const int row = blockIdx.y, head = blockIdx.x;
    const Cache<0> where(nullptr, sequence[row], most, heads / QUERIES, head / QUERIES);
    attend_part<1>(q, keys, values, where, length[row], o, stats, heads, chunk, scale);
}

// Block (head, row), a thread per element: the parts that hold keys, each restated for the common maximum.
__global__ void decode_merge(const float* o, const float2* stats, const int* length, __half* out, int parts,
                             int chunk) {
    const size_t at = (size_t)blockIdx.y * gridDim.x + blockIdx.x;
    const int used = (length[blockIdx.y] + chunk - 1) / chunk;
    float top = LEAST, sum = 0, value = 0;
    for (int p = 0; p < used; p++) top = fmaxf(top, stats[at * parts + p].x);
    for (int p = 0; p < used; p++) {
        float2 one = stats[at * parts + p];
        float factor = exp2f(one.x - top);
        sum += one.y * factor, value += o[(at * parts + p) * HEAD + threadIdx.x] * factor;
    }
    out[at * HEAD + threadIdx.x] = __float2half(value / sum);
}
// --8<-- [end:v2]

// --8<-- [start:v3]
__global__ void decode_v3(const __half* q, const __half* keys, const __half* values, const int* sequence,
                          const int* length, float* o, float2* stats, int heads, int most, int chunk, float scale) {
    const int row = blockIdx.y, head = blockIdx.x;  // of keys: its QUERIES query heads share every load
    const Cache<0> where(nullptr, sequence[row], most, heads / QUERIES, head);
    attend_part<QUERIES>(q, keys, values, where, length[row], o, stats, heads, chunk, scale);
}
// --8<-- [end:v3]

// --8<-- [start:v4]
__global__ void decode_v4(const __half* q, const __half* keys, const __half* values, const int* tables,
                          const int* sequence, const int* length, float* o, float2* stats, int heads, int most,
                          int chunk, float scale) {
    const int row = blockIdx.y, head = blockIdx.x;
    const Cache<PAGE> where(tables, sequence[row], most, heads / QUERIES, head);
    attend_part<QUERIES>(q, keys, values, where, length[row], o, stats, heads, chunk, scale);
}
// --8<-- [end:v4]
}
