// Attention by warpgroups: what Hopper's tensor cores can do beyond mma.sync. Needs sm_90a.
//
// A block has GROUPS + 1 warpgroups of 128 threads. In the first, one thread asks the copy engine for tiles of K and V.
// Each of the others has 64 query rows:
//
//   S = Q Kᵀ         wgmma: Q from registers, K from shared memory, as the copy engine has swizzled it
//   P = 2^(S - m)    while the tensor cores still multiply the weights before by their values
//   O = O + P V      wgmma: P from registers, V from shared memory, read down its columns
//
// out: heads × n × HEAD halves; lse: heads × n floats. `scale` has the factor log2 e in it.
#include <cuda_fp16.h>

#ifndef HEAD
#define HEAD 64   // elements of a row of Q, K, V and O: 64 or 128
#define GROUPS 3  // warpgroups that compute
#define KEYS 64   // in a step: 64 or 128
#define STAGES 2  // steps whose keys and values have room in shared memory
#define TURNS 0   // 1: the warpgroups take turns at the tensor cores
#define MAX3 1    // 1: whether m must follow is found with integers, three at a time
#endif

constexpr int THREADS = 128 * (GROUPS + 1);
constexpr int ROWS = 64 * GROUPS;  // of the block
constexpr int PANELS = HEAD / 64;  // a row of 128 bytes is the widest that the copy engine swizzles
constexpr int TILE_BYTES = KEYS * HEAD * 2;
constexpr int PANEL_BYTES = KEYS * 128;
constexpr float SLACK = 8;  // a weight may reach 2^SLACK before m follows

// --8<-- [start:copy]
struct __align__(64) TensorMap {
    unsigned char opaque[128];
};
__constant__ TensorMap maps[3];  // of q, k and v: shapes, strides, swizzle

// KEYS (or ROWS) rows of 64 halves to shared memory; what is outside the array arrives as zeros. One thread asks.
__device__ void copy_panel(unsigned to, const TensorMap* map, int column, int row, int head, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
        "[%5];" ::"r"(to),
        "l"(map), "r"(column), "r"(row), "r"(head), "r"(barrier)
        : "memory");
}
// --8<-- [end:copy]

// --8<-- [start:barriers]
__device__ void barrier_init(unsigned at, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}
__device__ void barrier_expect(unsigned at, int bytes) {  // arrives, and opens when so many bytes have come
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
__device__ void turn_wait(int group) { asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory"); }
__device__ void turn_pass(int group) { asm volatile("bar.arrive %0, 256;" ::"r"(1 + group) : "memory"); }
// --8<-- [end:barriers]

// --8<-- [start:products]
// Where a tile of 128-byte rows lies that are swizzled within 128 bytes: eight rows are 1024 bytes. `next` is how far it is
// to the next 64 columns, if the columns are what is not summed over. Addresses in it count in units of 16 bytes.
__device__ unsigned long long descriptor(unsigned at, unsigned next) {
    return (at & 0x3ffff) >> 4 | (unsigned long long)(next >> 4) << 16 | 1024ull >> 4 << 32 | 1ull << 62;
}
#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SIXTEEN(d, i) FOUR(d, i), FOUR(d, i + 4), FOUR(d, i + 8), FOUR(d, i + 12)
// d = a b, or d += a b if `add`: 64 × 16 halves in registers times 16 × 64 in shared memory
template <int TRANSPOSED>
__device__ void wgmma(float (&d)[32], const unsigned (&a)[4], unsigned long long b, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, p, 1, 1, %38;\n}"
        : SIXTEEN(d, 0), SIXTEEN(d, 16)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TRANSPOSED));
}
// … times 16 × 128
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
        : SIXTEEN(d, 0), SIXTEEN(d, 16), SIXTEEN(d, 32), SIXTEEN(d, 48)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(TRANSPOSED));
}
__device__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Waits until at most PENDING groups of products are under way; what they write may be read only then.
template <int PENDING, int N>
__device__ void wgmma_wait(float (&d)[N]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
#pragma unroll
    for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
// --8<-- [end:products]

__device__ void ldmatrix(unsigned (&to)[4], unsigned at) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at));
}
__device__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ unsigned pack(float low, float high) {
    __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<unsigned*>(&pair);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    attention_wgmma(__half* out, float* lse, int n, float scale, int causal) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) unsigned long long barriers[1 + 4 * STAGES];
    unsigned q_full = (unsigned)__cvta_generic_to_shared(barriers), k_full = q_full + 8, v_full = k_full + 8 * STAGES,
             k_free = v_full + 8 * STAGES, v_free = k_free + 8 * STAGES;  // one of each a stage
    unsigned queries = (unsigned)__cvta_generic_to_shared(memory), keys = queries + ROWS * HEAD * 2,
             values = keys + STAGES * TILE_BYTES;
    int group = threadIdx.x / 128, head = blockIdx.y;
    int first = (causal ? gridDim.x - 1 - blockIdx.x : blockIdx.x) * ROWS;  // causal: the longest rows start first
    int last = causal ? min(n, first + ROWS) : n, steps = (last + KEYS - 1) / KEYS;
    if (threadIdx.x == 0) {
        barrier_init(q_full, 1);
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(k_full + 8 * s, 1);
            barrier_init(v_full + 8 * s, 1);
            barrier_init(k_free + 8 * s, 4 * GROUPS);  // each warp arrives once
            barrier_init(v_free + 8 * s, 4 * GROUPS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");  // the copy engine sees them, too
    }
    __syncthreads();

    if (group == 0) {
        // --8<-- [start:fetch]
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");  // registers that the others get
        if (threadIdx.x > 0) return;
        barrier_expect(q_full, ROWS * HEAD * 2);
        for (int p = 0; p < PANELS; ++p) copy_panel(queries + p * ROWS * 128, &maps[0], p * 64, first, head, q_full);
        for (int step = 0; step < steps; ++step) {
            int stage = step % STAGES, phase = step / STAGES % 2 ^ 1;
            auto fetch = [&](unsigned to, const TensorMap* map, unsigned full, unsigned free) {
                barrier_wait(free + 8 * stage, phase);
                barrier_expect(full + 8 * stage, TILE_BYTES);
                for (int p = 0; p < PANELS; ++p)
                    copy_panel(to + stage * TILE_BYTES + p * PANEL_BYTES, map, p * 64, step * KEYS, head,
                               full + 8 * stage);
            };
            fetch(keys, &maps[1], k_full, k_free);
            fetch(values, &maps[2], v_full, v_free);
        }
        return;
        // --8<-- [end:fetch]
    }

    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(GROUPS == 2 ? 240 : 160));
    int me = group - 1, lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
    int row = first + me * 64 + warp * 16 + lane / 4;  // of the lane's sums; and row + 8
    if (TURNS && me == GROUPS - 1) turn_pass(0);

    unsigned q[HEAD / 16][4], p[KEYS / 16][4];
    barrier_wait(q_full, 0);
    int q_row = me * 64 + warp * 16 + lane % 16;
#pragma unroll
    for (int d = 0; d < HEAD / 16; ++d)
        ldmatrix(q[d], queries + d / 4 * ROWS * 128 + q_row * 128 + ((d % 4 * 2 + lane / 16) ^ q_row % 8) * 16);

    float o[HEAD / 2] = {}, s[KEYS / 2], sum[4] = {}, peak[2], limit[2], shift[2], shrink[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) peak[r] = -INFINITY, limit[r] = MAX3 ? __int_as_float(-1) : -INFINITY;

    // --8<-- [start:start]
    auto start_scores = [&](int step) {  // S = Q Kᵀ
        barrier_wait(k_full + 8 * (step % STAGES), step / STAGES % 2);
        if (TURNS) turn_wait(me);
        unsigned long long k = descriptor(keys + step % STAGES * TILE_BYTES, 16);
        wgmma_fence();
#pragma unroll
        for (int d = 0; d < HEAD / 16; ++d) wgmma<0>(s, q[d], k + (d / 4 * PANEL_BYTES + d % 4 * 32) / 16, d > 0);
        wgmma_commit();
    };
    auto start_values = [&](int step) {  // O = O + P V
        barrier_wait(v_full + 8 * (step % STAGES), step / STAGES % 2);
        unsigned long long v = descriptor(values + step % STAGES * TILE_BYTES, PANEL_BYTES);
        wgmma_fence();
#pragma unroll
        for (int j = 0; j < KEYS / 16; ++j) wgmma<1>(o, p[j], v + j * 16 * 128 / 16, 1);
        wgmma_commit();
    };
    // --8<-- [end:start]
    auto release = [&](unsigned free, int step) {
        if (lane == 0) barrier_arrive(free + 8 * (step % STAGES));
    };
    // --8<-- [start:weights]
    auto weights = [&](int step) {  // S becomes 2^(S - m); returns whether m has changed
        int start = step * KEYS;
        if (start + KEYS > n || (causal && start + KEYS > first + me * 64 + 1)) {
#pragma unroll
            for (int i = 0; i < KEYS / 2; ++i) {
                int key = start + i / 4 * 8 + lane % 4 * 2 + i % 2, query = row + i % 4 / 2 * 8;
                if (key >= n || (causal && key > query)) s[i] = -INFINITY;
            }
        }
        auto largest = [&](int r) {  // of this lane's scores in one of its rows
            float most = fmaxf(s[2 * r], s[2 * r + 1]);
#pragma unroll
            for (int i = 4; i < KEYS / 2; i += 4) most = fmaxf(most, fmaxf(s[i + 2 * r], s[i + 2 * r + 1]));
            return most;
        };
        auto exceeds = [&](int r) {  // as in mma.cu
            if (!MAX3) return largest(r) > limit[r];
            int most = 0;
#pragma unroll
            for (int i = 2 * r; i < KEYS / 2; i += 4)
                most = __vimax3_s32(most, __float_as_int(s[i]), __float_as_int(s[i + 1]));
            return most > __float_as_int(limit[r]);
        };
        bool above = __any_sync(~0u, exceeds(0) | exceeds(1));
        if (above) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                float now = fmaxf(largest(r), peak[r]);
                now = fmaxf(now, __shfl_xor_sync(~0u, now, 1));
                now = fmaxf(now, __shfl_xor_sync(~0u, now, 2));
                shrink[r] = power_of_two((peak[r] - now) * scale);
                peak[r] = now, limit[r] = now + SLACK / scale, shift[r] = now * scale;
                if (MAX3 && limit[r] < 0) limit[r] = __int_as_float(-1);
                sum[2 * r] *= shrink[r], sum[2 * r + 1] *= shrink[r];
            }
        }
#pragma unroll
        for (int i = 0; i < KEYS / 2; ++i) {
            s[i] = power_of_two(fmaf(s[i], scale, -shift[i % 4 / 2]));
            sum[i % 4] += s[i];
        }
        return above;
    };
    auto fold = [&](bool above) {  // once O and P are free again
        if (above) {
#pragma unroll
            for (int i = 0; i < HEAD / 2; ++i) o[i] *= shrink[i % 4 / 2];
        }
#pragma unroll
        for (int i = 0; i < KEYS / 4; ++i) p[i / 4][i % 4] = pack(s[2 * i], s[2 * i + 1]);
    };
    // --8<-- [end:weights]

    // --8<-- [start:loop]
    start_scores(0);
    if (TURNS) turn_pass((me + 1) % GROUPS);
    wgmma_wait<0>(s);
    release(k_free, 0);
    fold(weights(0));
#pragma unroll 1
    for (int step = 1; step < steps; ++step) {
        start_scores(step);
        start_values(step - 1);
        if (TURNS) turn_pass((me + 1) % GROUPS);
        wgmma_wait<1>(s);  // the scores are there; the values are still being multiplied
        release(k_free, step);
        bool above = weights(step);
        wgmma_wait<0>(o);
        release(v_free, step - 1);
        fold(above);
    }
    start_values(steps - 1);
    wgmma_wait<0>(o);
    if (TURNS && me == 0) turn_wait(0);  // the last turn that was passed to it
    // --8<-- [end:loop]

#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float total = sum[2 * r] + sum[2 * r + 1];
        total += __shfl_xor_sync(~0u, total, 1);
        total += __shfl_xor_sync(~0u, total, 2);
        int query = row + r * 8;
        if (query >= n) continue;
        float inverse = 1 / total;
        size_t at = (size_t)head * n + query;
        if (lane % 4 == 0) lse[at] = (shift[r] + log2f(total)) * 0.69314718f;
#pragma unroll
        for (int d = 0; d < HEAD / 8; ++d)
            *reinterpret_cast<unsigned*>(out + at * HEAD + d * 8 + lane % 4 * 2) =
                pack(o[4 * d + 2 * r] * inverse, o[4 * d + 2 * r + 1] * inverse);
    }
}
