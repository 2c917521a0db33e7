// wrong: mbarrier
typedef unsigned long long Barrier;  // in shared memory

__device__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(Barrier* at, int arrivals) {  // a phase is over after so many arrivals
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(at)), "r"(arrivals) : "memory");
}
__device__ void init_done() {  // by who has initialised, before others use the barriers
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
}
__device__ void fence() {  // what this thread has read may be overwritten by the copy engine, once it has arrived
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ void arrive(Barrier* at) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(at)) : "memory");
}
__device__ void arrive_and_expect(Barrier* at, int bytes) {  // the phase also waits for so many bytes
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(at)), "r"(bytes) : "memory");
}
__device__ void wait(Barrier* at,
                     int parity) {  // for the end of the current or last phase of this parity; phases count from 0
    asm volatile(
        "{\n.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(address(at)),
        "r"(parity)
        : "memory");
}
__device__ void copy(void* to, const void* from, int bytes,
                     Barrier* at) {  // by the copy engine, which counts bytes at `at`
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(to)),
        "l"(from), "r"(bytes), "r"(address(at))
        : "memory");
}

// y[b][t]: the sum of column t of x[b], which has `rows` rows of 128 floats. A block has 160 threads: 128 consumers, and a
// warp of which one thread is the producer.
__global__ void sums(const float* x, float* y, int rows) {
    constexpr int STAGES = 4;
    __shared__ __align__(128) float ring[STAGES][128];
    __shared__ Barrier full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            init(&full[s], 1);
            init(&empty[s], 128);
        }
        init_done();
    }
    __syncthreads();
    x += blockIdx.x * rows * 128;
    if (threadIdx.x == 128) {
        for (int r = 0; r < rows; r++) {
            int s = r % STAGES, lap = r / STAGES;
            wait(&empty[s], lap % 2);  // <-- here
            arrive_and_expect(&full[s], 512);
            copy(ring[s], x + r * 128, 512, &full[s]);
        }
    } else if (threadIdx.x < 128) {
        float sum = 0;
        for (int r = 0; r < rows; r++) {
            int s = r % STAGES, lap = r / STAGES;
            wait(&full[s], lap % 2);  // <-- here
            sum += ring[s][threadIdx.x];
            fence();
            arrive(&empty[s]);
        }
        y[blockIdx.x * 128 + threadIdx.x] = sum;
    }
}
