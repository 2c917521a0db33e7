// Attention by warpgroups: what Hopper's tensor cores can do beyond mma.sync. Needs sm_90a.
//
// One thread asks the copy engine for tiles of K and V; two warpgroups of 64 query rows each compute. While one of them
// has the tensor cores, the other takes exponentials.
#include <cuda_fp16.h>

#ifndef HEAD
#define HEAD 64
#endif
#ifndef KEYS
#define KEYS 128
#endif
#ifndef STAGES
#define STAGES 2
#endif
#ifndef PINGPONG
#define PINGPONG 1
#endif
#ifndef LAZY
#define LAZY 1
#endif
#ifndef POLY
#define POLY 0
#endif
#ifndef SWAP
#define SWAP 0
#endif
#ifndef GROUPS
#define GROUPS 2  // warpgroups that compute
#endif

constexpr int THREADS = 128 * (GROUPS + 1);
constexpr int ROWS = 64 * GROUPS;
constexpr int PANELS = HEAD / 64;  // 64 halves = 128 bytes, the widest row that the copy engine swizzles
constexpr int TILE_BYTES = KEYS * HEAD * 2;
constexpr int PANEL_BYTES = KEYS * 128;
constexpr float SLACK = 8.0f;

struct __align__(64) TensorMap {
    unsigned char opaque[128];
};
__constant__ TensorMap maps[3];  // of q, k and v: what the copy engine must know of them

__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// --- barriers in shared memory ---
__device__ void barrier_init(unsigned at, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}
__device__ void barrier_expect(unsigned at, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
}
__device__ void barrier_arrive(unsigned at) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
}
__device__ void barrier_wait(unsigned at, int phase) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(at),
        "r"(phase)
        : "memory");
}
__device__ void copy_tile(unsigned to, const TensorMap* map, int column, int row, int head, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
        "[%5];" ::"r"(to),
        "l"(map), "r"(column), "r"(row), "r"(head), "r"(barrier)
        : "memory");
}
__device__ void turn_wait(int group) { asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory"); }
__device__ void turn_pass(int group) { asm volatile("bar.arrive %0, 256;" ::"r"(1 + group) : "memory"); }

// --- warpgroup products ---
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING>
__device__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
// Registers that a product in flight writes are not to be read before the wait.
template <int N>
__device__ void settle(float (&d)[N]) {
#pragma unroll
    for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
// Where a tile with 128-byte rows and 128-byte swizzle lies: eight rows are 1024 bytes.
__device__ unsigned long long descriptor(unsigned at, unsigned leading, unsigned stride) {
    return (unsigned long long)((at & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 |
           (unsigned long long)(stride >> 4) << 32 | 1ull << 62;
}
#define R8(d, i)                                                                                                \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
        "+f"(d[i + 7])
template <int TRANSPOSED>
__device__ void wgmma(float (&d)[32], const unsigned (&a)[4], unsigned long long b, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, p, 1, 1, %38;\n}"
        : R8(d, 0), R8(d, 8), R8(d, 16), R8(d, 24)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TRANSPOSED));
}
template <int TRANSPOSED>
__device__ void wgmma(float (&d)[64], const unsigned (&a)[4], unsigned long long b, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "{%64, %65, %66, %67}, %68, p, 1, 1, %70;\n}"
        : R8(d, 0), R8(d, 8), R8(d, 16), R8(d, 24), R8(d, 32), R8(d, 40), R8(d, 48), R8(d, 56)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TRANSPOSED));
}

__device__ void ldmatrix(unsigned (&to)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at));
}
__device__ float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ float exp2_cubic(float x) {
    x = fmaxf(x, -126.0f);
    float whole = x + 12582912.0f;
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

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    attention_wgmma(__half* out, float* lse, int n, float scale, int causal) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) unsigned long long barriers[1 + 4 * STAGES];
    unsigned q_full = shared_address(barriers), k_full = q_full + 8, v_full = k_full + 8 * STAGES,
             k_free = v_full + 8 * STAGES, v_free = k_free + 8 * STAGES;
    unsigned q_tile = shared_address(memory), k_tiles = q_tile + ROWS * HEAD * 2,
             v_tiles = k_tiles + STAGES * TILE_BYTES;
    int group = threadIdx.x / 128;  // 0 fetches
    int first = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * ROWS, head = blockIdx.y;
    int last = causal ? min(n, first + ROWS) : n;
    int tiles = (last + KEYS - 1) / KEYS;
    if (threadIdx.x == 0) {
        barrier_init(q_full, 1);
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(k_full + 8 * s, 1);
            barrier_init(v_full + 8 * s, 1);
            barrier_init(k_free + 8 * s, 4 * GROUPS);
            barrier_init(v_free + 8 * s, 4 * GROUPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
    }
    __syncthreads();

    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 0) {
            barrier_expect(q_full, ROWS * HEAD * 2);
            for (int p = 0; p < PANELS; ++p) copy_tile(q_tile + p * ROWS * 128, &maps[0], p * 64, first, head, q_full);
            for (int tile = 0; tile < tiles; ++tile) {
                int stage = tile % STAGES, phase = tile / STAGES % 2 ^ 1;
                barrier_wait(k_free + 8 * stage, phase);
                barrier_expect(k_full + 8 * stage, TILE_BYTES);
                for (int p = 0; p < PANELS; ++p)
                    copy_tile(k_tiles + stage * TILE_BYTES + p * PANEL_BYTES, &maps[1], p * 64, tile * KEYS, head,
                              k_full + 8 * stage);
                barrier_wait(v_free + 8 * stage, phase);
                barrier_expect(v_full + 8 * stage, TILE_BYTES);
                for (int p = 0; p < PANELS; ++p)
                    copy_tile(v_tiles + stage * TILE_BYTES + p * PANEL_BYTES, &maps[2], p * 64, tile * KEYS, head,
                              v_full + 8 * stage);
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(GROUPS == 2 ? 240 : 160));
        int me = group - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
        if (PINGPONG && me == GROUPS - 1) turn_pass(0);
        int row = first + me * 64 + warp * 16 + lane / 4;

        unsigned q[HEAD / 16][4];
        barrier_wait(q_full, 0);
        int q_row = me * 64 + warp * 16 + lane % 16;
#pragma unroll
        for (int d = 0; d < HEAD / 16; ++d)
            ldmatrix(q[d], q_tile + d / 4 * ROWS * 128 + q_row * 128 + ((d % 4 * 2 + lane / 16) ^ q_row % 8) * 16);

        float o[HEAD / 2], s[KEYS / 2];
        unsigned p[KEYS / 16][4];
        float peak[2] = {-INFINITY, -INFINITY}, limit[2] = {-INFINITY, -INFINITY}, shift[2] = {0, 0}, sum[2] = {0, 0};
#pragma unroll
        for (int i = 0; i < HEAD / 2; ++i) o[i] = 0;

        auto scores = [&](int tile) {  // S = Q Kᵀ
            int stage = tile % STAGES;
            barrier_wait(k_full + 8 * stage, tile / STAGES % 2);
            if (PINGPONG) turn_wait(me);
            wgmma_fence();
            unsigned long long k = descriptor(k_tiles + stage * TILE_BYTES, 16, 1024);
#pragma unroll
            for (int d = 0; d < HEAD / 16; ++d) wgmma<0>(s, q[d], k + (d / 4 * PANEL_BYTES + d % 4 * 32) / 16, d > 0);
            wgmma_commit();
        };
        auto values = [&](int tile) {  // O = O + P V
            int stage = tile % STAGES;
            unsigned long long v = SWAP ? descriptor(v_tiles + stage * TILE_BYTES, 1024, PANEL_BYTES)
                                        : descriptor(v_tiles + stage * TILE_BYTES, PANEL_BYTES, 1024);
#pragma unroll
            for (int j = 0; j < KEYS / 16; ++j) wgmma<1>(o, p[j], v + j * 2048 / 16, 1);
            wgmma_commit();
        };
        auto release = [&](unsigned barrier, int tile) {
            if (lane == 0) barrier_arrive(barrier + 8 * (tile % STAGES));
        };
        float shrink[2];
        auto softmax = [&](int tile) {
            int column = tile * KEYS;
            if (column + KEYS > n || (causal && column + KEYS > first + me * 64 + 1)) {
#pragma unroll
                for (int i = 0; i < KEYS / 2; ++i) {
                    int c = column + i / 4 * 8 + lane % 4 * 2 + i % 2, r = row + i % 4 / 2 * 8;
                    if (c >= n || (causal && c > r)) s[i] = -INFINITY;
                }
            }
            float top[2];
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                top[r] = fmaxf(s[2 * r], s[2 * r + 1]);
#pragma unroll
                for (int i = 4; i < KEYS / 2; i += 4) top[r] = fmaxf(top[r], fmaxf(s[i + 2 * r], s[i + 2 * r + 1]));
            }
            bool raise = !LAZY || __any_sync(~0u, top[0] > limit[0] || top[1] > limit[1]);
            shrink[0] = shrink[1] = 1;
            if (raise) {
#pragma unroll
                for (int r = 0; r < 2; ++r) {
                    float t = fmaxf(top[r], peak[r]);
                    t = fmaxf(t, __shfl_xor_sync(~0u, t, 1));
                    t = fmaxf(t, __shfl_xor_sync(~0u, t, 2));
                    shrink[r] = exp2_fast((peak[r] - t) * scale);
                    peak[r] = t, limit[r] = t + SLACK / scale, shift[r] = t * scale;
                    sum[r] *= shrink[r];
                }
            }
#pragma unroll
            for (int i = 0; i < KEYS / 2; ++i) {
                float x = fmaf(s[i], scale, -shift[i % 4 / 2]);
                s[i] = POLY && i % (POLY ? POLY : 1) == 0 ? exp2_cubic(x) : exp2_fast(x);
                sum[i % 4 / 2] += s[i];
            }
            return raise;
        };
        auto fold = [&](bool raise) {  // once O and P are free again
            if (raise)
#pragma unroll
                for (int i = 0; i < HEAD / 2; ++i) o[i] *= shrink[i % 4 / 2];
#pragma unroll
            for (int i = 0; i < KEYS / 4; ++i) p[i / 4][i % 4] = pack(s[2 * i], s[2 * i + 1]);
        };

        scores(0);
        if (PINGPONG) turn_pass((me + 1) % GROUPS);
        wgmma_wait<0>();
        settle(s);
        release(k_free, 0);
        fold(softmax(0));
#pragma unroll 1
        for (int tile = 1; tile < tiles; ++tile) {
            scores(tile);
            barrier_wait(v_full + 8 * ((tile - 1) % STAGES), (tile - 1) / STAGES % 2);
            values(tile - 1);
            if (PINGPONG) turn_pass((me + 1) % GROUPS);
            wgmma_wait<1>();
            settle(s);
            release(k_free, tile);
            bool raise = softmax(tile);
            settle(s);
            wgmma_wait<0>();
            settle(o);
            release(v_free, tile - 1);
            fold(raise);
        }
        barrier_wait(v_full + 8 * ((tiles - 1) % STAGES), (tiles - 1) / STAGES % 2);
        wgmma_fence();
        values(tiles - 1);
        wgmma_wait<0>();
        settle(o);
        if (PINGPONG && me == 0) turn_wait(0);  // the last turn that was passed to it

#pragma unroll
        for (int r = 0; r < 2; ++r) {
            float total = sum[r];
            total += __shfl_xor_sync(~0u, total, 1);
            total += __shfl_xor_sync(~0u, total, 2);
            int i = row + r * 8;
            if (i < n) {
                float inverse = 1 / total;
                size_t at = (size_t)head * n + i;
                if (lane % 4 == 0) lse[at] = (shift[r] + log2f(total)) * 0.69314718f;
#pragma unroll
                for (int j = 0; j < HEAD / 8; ++j)
                    *reinterpret_cast<unsigned*>(out + at * HEAD + j * 8 + lane % 4 * 2) =
                        pack(o[4 * j + 2 * r] * inverse, o[4 * j + 2 * r + 1] * inverse);
            }
        }
    }
}
