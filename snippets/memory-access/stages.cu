// out = 3 * in + 1 over packs of four words, with few bytes in flight or many. What differs is how the data come in:
//
//   scale_plain   a load to a register, used at once
//   scale_async   cp.async: each thread's next packs go to shared memory while it works on this one
//   scale_bulk    the same through the Tensor Memory Accelerator: one thread asks for a block's 4 KiB at a time
//
// n is the number of words. The last n % 4 of them are done by the first threads.
using Index = long long;

constexpr int BLOCK = 256, STAGES = 4;  // threads; packs that a thread has on the way

// --8<-- [start:scale]
__device__ unsigned scale(unsigned x) { return 3 * x + 1; }
__device__ uint4 scale(uint4 p) { return {scale(p.x), scale(p.y), scale(p.z), scale(p.w)}; }

__device__ void scale_rest(const uint4* in, uint4* out, Index n) {
    Index i = n / 4 * 4 + threadIdx.x;
    if (blockIdx.x == 0 && i < n) ((unsigned*)out)[i] = scale(((const unsigned*)in)[i]);
}
// --8<-- [end:scale]

extern "C" {

// --8<-- [start:plain]
__global__ void scale_plain(const uint4* in, uint4* out, Index n) {
    Index step = (Index)gridDim.x * BLOCK;
    for (Index i = (Index)blockIdx.x * BLOCK + threadIdx.x; i < n / 4; i += step) out[i] = scale(in[i]);
    scale_rest(in, out, n);
}
// --8<-- [end:plain]

// --8<-- [start:async]
// 16 bytes from global to shared memory, past the registers and the L1.
__device__ void fetch(uint4* to, const uint4* from) {
    unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}

__global__ void scale_async(const uint4* in, uint4* out, Index n) {
    __shared__ uint4 stage[STAGES][BLOCK];
    Index packs = n / 4, step = (Index)gridDim.x * BLOCK, first = (Index)blockIdx.x * BLOCK + threadIdx.x;
    for (int s = 0; s < STAGES; ++s) {
        if (first + s * step < packs) fetch(&stage[s][threadIdx.x], in + first + s * step);
        asm volatile("cp.async.commit_group;");  // empty groups count, too: the wait below is the same for all
    }
    int s = 0;
    for (Index i = first; i < packs; i += step) {
        asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");  // all but the last three have arrived
        uint4 p = stage[s][threadIdx.x];  // nobody else reads or writes this place, so no barrier
        if (i + STAGES * step < packs) fetch(&stage[s][threadIdx.x], in + i + STAGES * step);
        asm volatile("cp.async.commit_group;");
        out[i] = scale(p);
        s = (s + 1) % STAGES;
    }
    scale_rest(in, out, n);
}
// --8<-- [end:async]

// --8<-- [start:bulk]
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// One thread: expect these bytes at the barrier, and have them brought. Bytes and addresses are multiples of 16.
__device__ void fetch_bulk(uint4* to, const uint4* from, unsigned bytes, unsigned long long* arrived) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(arrived)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(arrived))
                 : "memory");
}

__device__ void wait(unsigned long long* arrived, unsigned parity) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_address(arrived)), "r"(parity)
                     : "memory");
}

__global__ void scale_bulk(const uint4* in, uint4* out, Index n) {
    __shared__ alignas(128) uint4 stage[STAGES][BLOCK];
    __shared__ unsigned long long arrived[STAGES];
    Index packs = n / 4, step = (Index)gridDim.x * BLOCK, start = (Index)blockIdx.x * BLOCK;
    bool leader = threadIdx.x == 0;
    auto ask = [&](int s, Index from) {
        if (leader && from < packs)
            fetch_bulk(stage[s], in + from, 16 * (unsigned)min(packs - from, (Index)BLOCK), arrived + s);
    };
    if (leader) {
        for (int s = 0; s < STAGES; ++s)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(arrived + s)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // the copy engine must see them, too
    }
    __syncthreads();
    for (int s = 0; s < STAGES; ++s) ask(s, start + s * step);
    int s = 0;
    unsigned parity = 0;
    for (Index from = start; from < packs; from += step) {
        wait(arrived + s, parity);
        bool mine = from + threadIdx.x < packs;
        if (mine) out[from + threadIdx.x] = scale(stage[s][threadIdx.x]);  // the pack must be read before the barrier
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");       // … as the copy engine sees it, too
        __syncthreads();  // all have read, so the place may be filled again
        ask(s, from + STAGES * step);
        if (++s == STAGES) s = 0, parity ^= 1;
    }
    scale_rest(in, out, n);
}
// --8<-- [end:bulk]

}  // extern "C"
