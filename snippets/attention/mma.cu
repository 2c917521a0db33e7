// Attention on tensor cores: one pass over keys and values, fp16 in and out, fp32 sums, no score leaves the registers.
//
// A block has WARPS warps; a warp has TILES tiles of 16 query rows and goes over all keys, KEYS at a time:
//
//   S = Q Kᵀ        mma.sync, K through ldmatrix
//   P = 2^(S - m)   in the registers where S lies; the accumulator of one product is the operand of the next
//   O = O + P V     mma.sync, V through ldmatrix.trans
#include <cuda_fp16.h>

#ifndef HEAD
#define HEAD 64  // elements of a row of Q, K, V and O
#endif
#ifndef WARPS
#define WARPS 4
#endif
#ifndef TILES
#define TILES 2
#endif
#ifndef KEYS
#define KEYS 64
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef BLOCKS
#define BLOCKS 2
#endif
#ifndef QREG
#define QREG 1
#endif
#ifndef LAZY
#define LAZY 1
#endif
#ifndef ONES
#define ONES 0
#endif
#ifndef SWIZZLE
#define SWIZZLE 1  // 0: rows as they come, to see what that costs
#endif
#ifndef NAME
#define NAME attention_mma
#endif
#ifndef FUSE
#define FUSE 1
#endif

constexpr int THREADS = 32 * WARPS;
constexpr int ROWS = 16 * TILES * WARPS;  // query rows of a block
constexpr int ROW_BYTES = 2 * HEAD;
constexpr int CHUNKS = ROW_BYTES / 16;  // what ldmatrix and cp.async move at a time: 8 halves
constexpr int TILE_BYTES = KEYS * ROW_BYTES;
constexpr float SLACK = 8.0f;  // in powers of two: how far scores may rise above m before m follows

__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Chunk c of row r lies at place c ^ (r % 8) of that row: eight rows' chunks of one column lie in all 32 banks.
__device__ unsigned place(int row, int chunk) { return row * ROW_BYTES + (SWIZZLE ? chunk ^ row % 8 : chunk) * 16; }

// Starts the copy of COUNT rows of which `left` exist; the others arrive as zeros. Thread t copies chunk t % CHUNKS of row
// t / CHUNKS and of every STEP-th row after it: `to` and `from` are already there.
constexpr int STEP = THREADS / CHUNKS;
static_assert(STEP % 8 == 0, "a thread's rows are alike modulo 8, so its place in them is the same");
template <int COUNT>
__device__ void fetch(unsigned to, const __half* from, int left) {
#pragma unroll
    for (int row = 0; row < COUNT; row += STEP)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + row * ROW_BYTES), "l"(from + row * HEAD),
                     "r"(row < left ? 16 : 0));
}
__device__ void commit() { asm volatile("cp.async.commit_group;"); }
template <int PENDING>
__device__ void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING));
}

__device__ void ldmatrix(unsigned (&to)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at));
}
__device__ void ldmatrix_trans(unsigned (&to)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at));
}
__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
#ifndef POLY
#define POLY 0
#endif
// 2^x by arithmetic, for x > -127: the whole part goes into the exponent, a cubic does the rest
__device__ float exp2_cubic(float x) {
    x = fmaxf(x, -126.0f);
    float whole = x + 12582912.0f;  // 1.5 * 2^23: rounds to a whole number, in the low bits
    float rest = x - (whole - 12582912.0f);
    float y = fmaf(rest, 0.05550411f, 0.24022651f);
    y = fmaf(y, rest, 0.69314718f);
    y = fmaf(y, rest, 1.0f);
    return __int_as_float(__float_as_int(y) + (__float_as_int(whole) << 23));
}
__device__ unsigned pack(float low, float high) {
    __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<unsigned*>(&pair);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    NAME(const __half* q, const __half* k, const __half* v, __half* out, float* lse, int n, float scale,
                  int causal) {
    extern __shared__ __align__(1024) unsigned char memory[];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int first = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * ROWS;  // causal: the longest rows start first
    size_t head = (size_t)blockIdx.y * n * HEAD;
    q += head, k += head, v += head, out += head, lse += (size_t)blockIdx.y * n;
    int last = causal ? min(n, first + ROWS) : n;
    int tiles = (last + KEYS - 1) / KEYS;

    unsigned base = shared_address(memory);
    unsigned ring = base + (QREG ? 0 : ROWS * ROW_BYTES);  // a stage: KEYS rows of K, then of V
    int my_row = threadIdx.x / CHUNKS, my_chunk = threadIdx.x % CHUNKS;
    unsigned to = place(my_row, my_chunk);
    k += my_row * HEAD + my_chunk * 8, v += my_row * HEAD + my_chunk * 8;
    int row = first + warp * 16 * TILES + lane / 4;        // of the lane's accumulators; + 8, + 16 …

    // Q
    unsigned fragment[TILES][HEAD / 16][4];
    fetch<ROWS>(base + to, q + (first + my_row) * HEAD + my_chunk * 8, n - first - my_row);
    commit();
    unsigned q_at = base + place(warp * 16 * TILES + lane % 16, lane / 16);
    if (QREG) {
        wait<0>();
        __syncthreads();
#pragma unroll
        for (int m = 0; m < TILES; ++m)
#pragma unroll
            for (int d = 0; d < HEAD / 16; ++d) ldmatrix(fragment[m][d], (q_at + m * 16 * ROW_BYTES) ^ (32 * d));
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < STAGES - 1; ++j) {
        if (j < tiles) {
            fetch<KEYS>(ring + j * 2 * TILE_BYTES + to, k + j * KEYS * HEAD, n - j * KEYS - my_row);
            fetch<KEYS>(ring + j * 2 * TILE_BYTES + TILE_BYTES + to, v + j * KEYS * HEAD, n - j * KEYS - my_row);
        }
        commit();
    }

    float o[TILES][HEAD / 8][4] = {}, peak[TILES][2], limit[TILES][2], shift[TILES][2], sum[TILES][4] = {};
    for (int m = 0; m < TILES; ++m)
        for (int r = 0; r < 2; ++r) peak[m][r] = limit[m][r] = -INFINITY, shift[m][r] = 0;

    unsigned k_lane = place(lane / 16 * 8 + lane % 8, lane / 8 % 2);
    unsigned v_lane = place(lane % 16, lane / 16) + TILE_BYTES;
    int stage = 0;
#pragma unroll 1
    for (int tile = 0; tile < tiles; ++tile) {
        wait<STAGES - 2>();
        __syncthreads();
        {
            int next = tile + STAGES - 1, slot = stage == 0 ? STAGES - 1 : stage - 1;
            if (next < tiles) {
                fetch<KEYS>(ring + slot * 2 * TILE_BYTES + to, k + next * KEYS * HEAD, n - next * KEYS - my_row);
                fetch<KEYS>(ring + slot * 2 * TILE_BYTES + TILE_BYTES + to, v + next * KEYS * HEAD, n - next * KEYS - my_row);
            }
            commit();
        }
        unsigned k_at = ring + stage * 2 * TILE_BYTES + k_lane, v_at = ring + stage * 2 * TILE_BYTES + v_lane;
        stage = stage + 1 == STAGES ? 0 : stage + 1;

        float s[TILES][KEYS / 8][4] = {};
#pragma unroll
        for (int d = 0; d < HEAD / 16; ++d) {
            unsigned a[TILES][4];
#pragma unroll
            for (int m = 0; m < TILES; ++m) {
                if (QREG)
                    for (int i = 0; i < 4; ++i) a[m][i] = fragment[m][d][i];
                else
                    ldmatrix(a[m], (q_at + m * 16 * ROW_BYTES) ^ (32 * d));
            }
#pragma unroll
            for (int j = 0; j < KEYS / 16; ++j) {
                unsigned b[4];
                ldmatrix(b, (k_at ^ (32 * d)) + j * 16 * ROW_BYTES);
#pragma unroll
                for (int m = 0; m < TILES; ++m) {
                    mma(s[m][2 * j], a[m], b[0], b[1]);
                    mma(s[m][2 * j + 1], a[m], b[2], b[3]);
                }
            }
        }

        int column = tile * KEYS;
        if (column + KEYS > n || (causal && column + KEYS > first + warp * 16 * TILES + 1)) {
#pragma unroll
            for (int m = 0; m < TILES; ++m)
#pragma unroll
                for (int j = 0; j < KEYS / 8; ++j)
#pragma unroll
                    for (int i = 0; i < 4; ++i) {
                        int c = column + j * 8 + lane % 4 * 2 + i % 2, r = row + m * 16 + i / 2 * 8;
                        if (c >= n || (causal && c > r)) s[m][j][i] = -INFINITY;
                    }
        }

        float top[TILES][2];
        bool higher = false;
#pragma unroll
        for (int m = 0; m < TILES; ++m)
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                top[m][r] = fmaxf(s[m][0][2 * r], s[m][0][2 * r + 1]);
#pragma unroll
                for (int j = 1; j < KEYS / 8; ++j)
                    top[m][r] = fmaxf(top[m][r], fmaxf(s[m][j][2 * r], s[m][j][2 * r + 1]));
                higher |= top[m][r] > limit[m][r];
            }
        if (!LAZY || __any_sync(~0u, higher)) {
#pragma unroll
            for (int m = 0; m < TILES; ++m)
#pragma unroll
                for (int r = 0; r < 2; ++r) {
                    float t = fmaxf(top[m][r], peak[m][r]);
                    t = fmaxf(t, __shfl_xor_sync(~0u, t, 1));
                    t = fmaxf(t, __shfl_xor_sync(~0u, t, 2));
                    float shrink = exp2_fast((peak[m][r] - t) * scale);
                    peak[m][r] = t, limit[m][r] = t + SLACK / scale, shift[m][r] = t * scale;
                    sum[m][2 * r] *= shrink;
#pragma unroll
                    for (int j = 0; j < HEAD / 8; ++j) o[m][j][2 * r] *= shrink, o[m][j][2 * r + 1] *= shrink;
                }
        }

#if !FUSE
#pragma unroll
        for (int m = 0; m < TILES; ++m)
#pragma unroll
            for (int j = 0; j < KEYS / 8; ++j)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    s[m][j][i] = exp2_fast(fmaf(s[m][j][i], scale, -shift[m][i / 2]));
                    if (!ONES) sum[m][i / 2 * 2] += s[m][j][i];
                }
#endif
#pragma unroll
        for (int j = 0; j < KEYS / 16; ++j) {
            unsigned p[TILES][4];
#pragma unroll
            for (int m = 0; m < TILES; ++m)
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    float* x = &s[m][2 * j + i / 2][i % 2 * 2];
#if FUSE
                    x[0] = exp2_fast(fmaf(x[0], scale, -shift[m][i % 2]));
                    x[1] = POLY && (j * 4 + i) % (POLY ? POLY : 1) == 0 ? exp2_cubic(fmaf(x[1], scale, -shift[m][i % 2]))
                                                       : exp2_fast(fmaf(x[1], scale, -shift[m][i % 2]));
                    if (!ONES) sum[m][i % 2 * 2] += x[0] + x[1];
#endif
                    p[m][i] = pack(x[0], x[1]);
                }
            if (ONES)
                for (int m = 0; m < TILES; ++m) mma(sum[m], p[m], 0x3c003c00u, 0x3c003c00u);
#pragma unroll
            for (int d = 0; d < HEAD / 16; ++d) {
                unsigned b[4];
                ldmatrix_trans(b, (v_at ^ (32 * d)) + j * 16 * ROW_BYTES);
#pragma unroll
                for (int m = 0; m < TILES; ++m) {
                    mma(o[m][2 * d], p[m], b[0], b[1]);
                    mma(o[m][2 * d + 1], p[m], b[2], b[3]);
                }
            }
        }
    }

#pragma unroll
    for (int m = 0; m < TILES; ++m)
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            float total = sum[m][2 * r];
            if (!ONES) {
                total += __shfl_xor_sync(~0u, total, 1);
                total += __shfl_xor_sync(~0u, total, 2);
            }
            int i = row + m * 16 + r * 8;
            if (i < n) {
                if (lane % 4 == 0) lse[i] = (shift[m][r] + log2f(total)) * 0.69314718f;
#pragma unroll
                for (int j = 0; j < HEAD / 8; ++j)
                    *reinterpret_cast<unsigned*>(out + (size_t)i * HEAD + j * 8 + lane % 4 * 2) =
                        pack(o[m][j][2 * r] / total, o[m][j][2 * r + 1] / total);
            }
        }
}
