// Attention of one new token per sequence whose keys and values pass through shared memory by Hopper's copy engine: one
// warp of a block asks for them well ahead, the others multiply on tensor cores. Needs sm_90.
// Arrays are those of decode.cu, and so are HEAD, QUERIES and PAGE.
#include "decode.cu"
// Barriers, and two fp16 numbers in a word.
#define ELEMENT 2
#define OUT 1
#define WGMMA_TYPE "k16.f32.f16.f16"
#define WGMMA_FLAGS ", 1, 1, 0, 0"
#include "../matmul-tensor/hopper.cuh"

constexpr int KEYS = 64, STAGES = 6;                   // keys per stage of the ring, with their values
constexpr int TEAM = 4;                                // warps that compute
constexpr int TILE = 16;                               // keys that a warp takes at once, with their values
constexpr int CHUNKS = HEAD / 32, SLICES = HEAD / 64;  // 16 bytes per lane of a key, and of a value
constexpr int ROW = HEAD * 2;                          // bytes of a key
constexpr int STAGE = 2 * KEYS * ROW;                  // bytes: keys, then values
constexpr int BLOCK = 32 * (TEAM + 1);
constexpr int AT_ONCE = 16;                // parts that a thread loads at once to merge them
constexpr float HEADROOM = 15, AFTER = 7;  // powers of two by which a weight may exceed 1
static_assert(QUERIES <= 4 && HEAD % 64 == 0, "eight columns: four queries, each with what rounding took");
static_assert(KEYS == TILE * TEAM, "every warp has a tile of a stage");

// --8<-- [start:bulk]
__device__ unsigned long long evict_first() {  // for the L2: nothing here is read again
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0;" : "=l"(policy));
    return policy;
}
// `bytes` in a row, a multiple of 16, to shared memory; the barrier counts them.
__device__ __forceinline__ void bulk_load(unsigned to, const __half* from, int bytes, unsigned barrier,
                                          unsigned long long policy) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(barrier), "l"(policy)
        : "memory");
}
// --8<-- [end:bulk]

// --8<-- [start:fill]
// Of a stage: when its bytes have come, and when the team no longer needs them.
struct Barriers {
    unsigned long long full[STAGES], empty[STAGES];
};

// One warp brings keys `from` to `to` and their values into the ring, KEYS at a time, as soon as a stage is free.
template <int page>
__device__ void fill(unsigned ring, Barriers& barriers, const __half* keys, const __half* values, Cache<page> where,
                     int from, int to) {
    constexpr int PIECE = page && page < KEYS ? page : KEYS;  // keys that lie one after the other
    constexpr int PIECES = KEYS / PIECE;                      // per stage, one per lane
    constexpr int TURNS = 32 / PIECES;                        // stages for which the warp looks up pages at once
    static_assert(PIECES <= 32);
    const int lane = threadIdx.x % 32;
    const unsigned long long once = evict_first();
    auto look_up = [&](int base) {
        if constexpr (page == 0)
            return 0;
        else
            return base + lane * PIECE < to ? where.table[(base + lane * PIECE) / page] : 0;
    };
    int numbers = 0, next = look_up(from), turn = 0;
    auto place = [&](int j) {  // of this lane's piece: elements from the start
        if constexpr (page == 0) {
            return where.at(j);
        } else {
            if (turn == 0) numbers = next, next = look_up(j - lane * PIECE + TURNS * KEYS);
            const size_t number = __shfl_sync(ALL, numbers, turn * PIECES + lane % PIECES);
            if (++turn == TURNS) turn = 0;
            return ((number * where.heads + where.head) * page + j % page) * HEAD;
        }
    };
    // --8<-- [start:produce]
    int stage = 0, phase = 1;  // that a new barrier counts as over
    for (int base = from; base < to; base += KEYS) {
        const int j = base + lane * PIECE, bytes = min(PIECE, to - j) * ROW;
        const size_t at = place(j);
        const unsigned full = shared_address(barriers.full + stage), slot = ring + stage * STAGE;
        barrier_wait(shared_address(barriers.empty + stage), phase);
        if (lane == 0) barrier_expect(full, 2 * ROW * min(KEYS, to - base));
        __syncwarp();
        if (lane < PIECES && j < to) {
            bulk_load(slot + lane * PIECE * ROW, keys + at, bytes, full, once);
            bulk_load(slot + (KEYS + lane * PIECE) * ROW, values + at, bytes, full, once);
        }
        if (++stage == STAGES) stage = 0, phase ^= 1;
    }
    // --8<-- [end:produce]
}
// --8<-- [end:fill]

// --8<-- [start:mma]
__device__ void mma(float (&c)[4], unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}
// --8<-- [end:mma]

__device__ unsigned word(uint4 four, int i) { return i == 0 ? four.x : i == 1 ? four.y : i == 2 ? four.z : four.w; }

// --8<-- [start:tile]
// What a warp knows of the keys it has seen. Lane (g, t) = (lane / 4, lane % 4). Row g of the queries is query g % 4, so
// that rows 4 to 7 repeat rows 0 to 3. Key 4 t + r of a tile is in column 2 t + r % 2 of its half r / 2.
struct Rows {
    uint4 q[CHUNKS];  // row g, elements 32 c + 8 t …
    float m = LEAST, s = 0;
    float o[4 * SLICES][4] = {};  // of slice h, mma i: elements 8 (SLICES g + h) + 2 i, + 1 of queries 2 t, 2 t + 1
};

// Scores of the tile's keys: of query g for keys 4 t to 4 t + 3 of the tile.
__device__ void score(const Rows& rows, const uint4 (&k)[2 * CHUNKS], float (&found)[4], int keys, float scale) {
    for (int half = 0; half < 2; half++) {
        float even[4] = {}, odd[4] = {};
        for (int c = 0; c < CHUNKS; c++) {
            uint4 q = rows.q[c], key = k[half * CHUNKS + c];
            mma(even, q.x, 0, q.y, 0, key.x, key.y);
            mma(odd, q.z, 0, q.w, 0, key.z, key.w);
        }
        for (int b = 0; b < 2; b++) {
            int j = threadIdx.x % 4 * 4 + half * 2 + b;
            found[half * 2 + b] = j < keys ? (even[b] + odd[b]) * scale : -INFINITY;
        }
    }
}

// Scores become weights, 2^(score - m). m follows the maximum only when a weight comes near the largest fp16.
__device__ void weigh(Rows& rows, float (&x)[4]) {
    float top = fmaxf(fmaxf(x[0], x[1]), fmaxf(x[2], x[3]));
    if (__any_sync(ALL, top > rows.m + HEADROOM)) {
        const int t = threadIdx.x % 4;
        for (int apart = 1; apart < 4; apart *= 2) top = fmaxf(top, __shfl_xor_sync(ALL, top, apart));
        float next = fmaxf(rows.m, top - AFTER), factor = exp2f(rows.m - next);
        rows.m = next, rows.s *= factor;
        for (int b = 0; b < 2; b++) {
            float of = __shfl_sync(ALL, factor, (2 * t + b) * 4);
            for (auto& o : rows.o) o[b] *= of, o[2 + b] *= of;
        }
    }
    for (float& one : x) rows.s += one = exp2f(one - rows.m);
}

// Columns 0 to 3 are the weights rounded to fp16, columns 4 to 7 what rounding took: their sum has 22 bits.
__device__ void add_values(Rows& rows, const float (&weight)[4], const uint4 (&v)[4 * SLICES]) {
    unsigned p[2];
    for (int half = 0; half < 2; half++) {
        float a = weight[2 * half], b = weight[2 * half + 1];
        __half2 rounded = __floats2half2_rn(a, b);
        float2 back = __half22float2(rounded);
        p[half] = threadIdx.x % 32 < 16 ? *reinterpret_cast<unsigned*>(&rounded) : pack(a - back.x, b - back.y);
    }
    for (int h = 0; h < SLICES; h++)
        for (int i = 0; i < 4; i++) {
            unsigned x[4];
            for (int r = 0; r < 4; r++) x[r] = word(v[r * SLICES + h], i);
            mma(rows.o[4 * h + i], __byte_perm(x[0], x[1], 0x5410), __byte_perm(x[0], x[1], 0x7632),
                __byte_perm(x[2], x[3], 0x5410), __byte_perm(x[2], x[3], 0x7632), p[0], p[1]);
        }
}
// --8<-- [end:tile]

// --8<-- [start:load]
__device__ void swap_if(bool odd, uint4& a, uint4& b) {
    const uint4 was = a;
    a.x = odd ? b.x : a.x, a.y = odd ? b.y : a.y, a.z = odd ? b.z : a.z, a.w = odd ? b.w : a.w;
    b.x = odd ? was.x : b.x, b.y = odd ? was.y : b.y, b.z = odd ? was.z : b.z, b.w = odd ? was.w : b.w;
}

// Rows lie 256 (or 128) bytes apart, so the same piece of every row is in the same banks. Of each pair of pieces, half of
// the lanes therefore load the second first: eight lanes, which load at once, meet in twice as many banks.
__device__ void load_tile(const uint4* keys, const uint4* values, uint4 (&k)[2 * CHUNKS], uint4 (&v)[4 * SLICES]) {
    constexpr int PER_ROW = HEAD / 8;  // 16 bytes each
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const bool odd_key = g % 2, odd_value = SLICES > 1 && t % 2;
#pragma unroll
    for (int i = 0; i < 2 * CHUNKS; i++)
        k[i] = keys[(g / 2 * 4 + i / CHUNKS * 2 + g % 2) * PER_ROW + (i % CHUNKS ^ odd_key) * 4 + t];
#pragma unroll
    for (int i = 0; i < 4 * SLICES; i++)
        v[i] = values[(4 * t + i / SLICES) * PER_ROW + g * SLICES + (i % SLICES ^ odd_value)];
#pragma unroll
    for (int i = 0; i < 2 * CHUNKS; i += 2) swap_if(odd_key, k[i], k[i + 1]);
    if constexpr (SLICES > 1) {
#pragma unroll
        for (int i = 0; i < 4 * SLICES; i += 2) swap_if(odd_value, v[i], v[i + 1]);
    }
}
// --8<-- [end:load]

// --8<-- [start:drain]
// The team takes what comes: warp w tile w of each stage.
__device__ void drain(Rows& rows, uint4* ring, Barriers& barriers, int from, int to, float scale) {
    constexpr int PER_ROW = HEAD / 8;  // 16 bytes each
    const int lane = threadIdx.x % 32, tile = threadIdx.x / 32;
    int stage = 0, phase = 0;
    for (int base = from + tile * TILE; base < to; base += KEYS) {
        uint4* const keys = ring + (stage * STAGE + tile * TILE * ROW) / 16;
        uint4* const values = keys + KEYS * PER_ROW;
        barrier_wait(shared_address(barriers.full + stage), phase);
        for (int i = (to - base) * PER_ROW + lane; i < TILE * PER_ROW; i += 32)
            keys[i] = values[i] = uint4{};  // rows of the last tile that no copy has filled: 0 times NaN is NaN
        __syncwarp();
        uint4 k[2 * CHUNKS], v[4 * SLICES];
        float x[4];
        load_tile(keys, values, k, v);
        score(rows, k, x, to - base, scale);
        weigh(rows, x);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // read before the engine writes again
        __syncwarp();
        if (lane == 0) barrier_arrive(shared_address(barriers.empty + stage));
        add_values(rows, x, v);
        if (++stage == STAGES) stage = 0, phase ^= 1;
    }
}
// --8<-- [end:drain]

// --8<-- [start:part]
// Block (head of keys, row, part), as in decode.cu. Merges its warps; stores the state of its part, or the result if it
// is the only part. `done` counts the finished parts of each row and head of keys: the last block merges them all, in the
// order of the parts, so that the result does not depend on which block is last.
template <int page>
__device__ void attend_rows(const __half* q, const __half* keys, const __half* values, Cache<page> where, int n,
                            float* o, float2* stats, __half* out, unsigned* done, int heads, int chunk, float scale) {
    extern __shared__ __align__(128) uint4 ring[];
    __shared__ Barriers barriers;
    __shared__ float2 states[TEAM][QUERIES];
    __shared__ bool last;
    const int row = blockIdx.y, part = blockIdx.z, parts = gridDim.z, from = part * chunk, to = min(n, from + chunk),
              used = (n + chunk - 1) / chunk;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    const size_t first = (size_t)row * heads + blockIdx.x * QUERIES;                  // query head
    float (*sums)[QUERIES][HEAD] = reinterpret_cast<float (*)[QUERIES][HEAD]>(ring);  // of each warp, in the end
    if (threadIdx.x == 32 * TEAM) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(shared_address(barriers.full + i), 1);
            barrier_init(shared_address(barriers.empty + i), TEAM);
        }
        barrier_init_done();
    }
    if (from >= n) return;  // of a shorter sequence; asked late, while the length is still on its way
    __syncthreads();
    if (warp == TEAM) {
        fill<page>(shared_address(ring), barriers, keys, values, where, from, to);
        __syncthreads();
    } else {
        Rows rows;
        for (int c = 0; c < CHUNKS; c++)
            rows.q[c] = *(const uint4*)(q + (first + min(g % 4, QUERIES - 1)) * HEAD + c * 32 + t * 8);
        drain(rows, ring, barriers, from, to, scale);
        for (int apart = 1; apart < 4; apart *= 2) rows.s += __shfl_xor_sync(ALL, rows.s, apart);
        __syncthreads();  // no warp needs the ring any more
        for (int i = 0; i < 4 * SLICES; i++)
            for (int b = 0; b < 2; b++) {
                float a = rows.o[i][b] + __shfl_xor_sync(ALL, rows.o[i][b], 2);  // and what rounding took
                float c = rows.o[i][2 + b] + __shfl_xor_sync(ALL, rows.o[i][2 + b], 2);
                if (2 * t + b < QUERIES)
                    *(float2*)&sums[warp][2 * t + b][(g * SLICES + i / 4) * 8 + i % 4 * 2] = make_float2(a, c);
            }
        if (t == 0 && g < QUERIES) states[warp][g] = {rows.m, rows.s};
    }
    __syncthreads();
    for (int e = threadIdx.x; e < QUERIES * HEAD; e += BLOCK) {
        int i = e / HEAD, c = e % HEAD;
        float top = LEAST, sum = 0, value = 0;
        for (int w = 0; w < TEAM; w++) top = fmaxf(top, states[w][i].x);
        for (int w = 0; w < TEAM; w++) {
            float factor = exp2f(states[w][i].x - top);
            sum += states[w][i].y * factor, value += sums[w][i][c] * factor;
        }
        size_t at = (first + i) * parts + part;
        if (used == 1) {
            out[(first + i) * HEAD + c] = __float2half(value / sum);
        } else {
            o[at * HEAD + c] = value;
            if (c == 0) stats[at] = {top, sum};
        }
    }
    if (used == 1) return;

    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();  // what the block has stored is visible before it is counted,
        last = atomicInc(done + row * gridDim.x + blockIdx.x, used - 1) == used - 1;  // 0 again after the last
        __threadfence();  // and what the others have counted is read after that
    }
    __syncthreads();
    if (!last) return;
    float2* seen = reinterpret_cast<float2*>(ring);  // stats of part p for query i; sums[][] is no longer needed
    for (int i = warp; i < QUERIES; i += TEAM + 1) {
        float2* mine = seen + i * parts;
        float top = LEAST, sum = 0;
        for (int p = lane; p < used; p += 32) {
            mine[p] = __ldcg(stats + (first + i) * parts + p);
            top = fmaxf(top, mine[p].x);
        }
        for (int apart = 16; apart; apart /= 2) top = fmaxf(top, __shfl_xor_sync(ALL, top, apart));
        for (int p = lane; p < used; p += 32) sum += mine[p].y * (mine[p].x = exp2f(mine[p].x - top));
        for (int apart = 16; apart; apart /= 2) sum += __shfl_xor_sync(ALL, sum, apart);
        if (lane == 0) states[0][i].y = sum;
    }
    __syncthreads();
    for (int e = threadIdx.x; e < QUERIES * HEAD / 4; e += BLOCK) {
        const int i = e * 4 / HEAD, c = e * 4 % HEAD;
        const float4* from_parts = (const float4*)(o + (first + i) * parts * HEAD + c);
        float4 value = {};
        for (int p0 = 0; p0 < used; p0 += AT_ONCE) {
            float4 x[AT_ONCE];
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++)
                if (p0 + j < used) x[j] = __ldcg(from_parts + (p0 + j) * (HEAD / 4));
#pragma unroll
            for (int j = 0; j < AT_ONCE; j++) {
                if (p0 + j >= used) break;
                float by = seen[i * parts + p0 + j].x;
                value.x += x[j].x * by, value.y += x[j].y * by, value.z += x[j].z * by, value.w += x[j].w * by;
            }
        }
        float sum = states[0][i].y;
        __half2* to_row = (__half2*)(out + (first + i) * HEAD + c);
        to_row[0] = __floats2half2_rn(value.x / sum, value.y / sum),
        to_row[1] = __floats2half2_rn(value.z / sum, value.w / sum);
    }
}
// --8<-- [end:part]

extern "C" {

__global__ void __launch_bounds__(BLOCK, 1)
    decode_v5(const __half* q, const __half* keys, const __half* values, const int* sequence, const int* length,
              float* o, float2* stats, __half* out, unsigned* done, int heads, int most, int chunk, float scale) {
    const int row = blockIdx.y, head = blockIdx.x;
    const Cache<0> where(nullptr, sequence[row], most, heads / QUERIES, head);
    attend_rows<0>(q, keys, values, where, length[row], o, stats, out, done, heads, chunk, scale);
}

__global__ void __launch_bounds__(BLOCK, 1)
    decode_v5_paged(const __half* q, const __half* keys, const __half* values, const int* tables, const int* sequence,
                    const int* length, float* o, float2* stats, __half* out, unsigned* done, int heads, int most,
                    int chunk, float scale) {
    const int row = blockIdx.y, head = blockIdx.x;
    const Cache<PAGE> where(tables, sequence[row], most, heads / QUERIES, head);
    attend_rows<PAGE>(q, keys, values, where, length[row], o, stats, out, done, heads, chunk, scale);
}
}
