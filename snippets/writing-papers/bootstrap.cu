// The bootstrap of a ratio: resample both samples, and divide. Times are whole nanoseconds, so every sum is exact.
//
// A draw depends on (seed, resample, sample, number of the draw) alone. Every kernel here, and NumPy, makes the same draws.

// --8<-- [start:philox]
// Philox-4x32-10: four random words for each value of the counter.
__device__ uint4 philox(uint4 counter, uint2 key) {
    for (int round = 0; round < 10; round++) {
        unsigned low0 = 0xD2511F53u * counter.x, high0 = __umulhi(0xD2511F53u, counter.x);
        unsigned low1 = 0xCD9E8D57u * counter.z, high1 = __umulhi(0xCD9E8D57u, counter.z);
        counter = make_uint4(high1 ^ counter.y ^ key.x, low1, high0 ^ counter.w ^ key.y, low0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

// Draws 4 * call to 4 * call + 3 of one resample, each below n. `sample` is 0 or 1: which of the two samples.
__device__ uint4 draws(int call, unsigned resample, unsigned sample, unsigned n, uint2 seed) {
    uint4 word = philox(make_uint4(call, resample, sample, 0), seed);
    return make_uint4(__umulhi(word.x, n), __umulhi(word.y, n), __umulhi(word.z, n), __umulhi(word.w, n));
}
// --8<-- [end:philox]

extern "C" __global__ void philox_words(uint4* out, const uint4* counters, const uint2* keys, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = philox(counters[i], keys[i]);
}

// --8<-- [start:v0]
// A warp per resample: each lane makes four draws at a time, and the lanes add up their sums by shuffles.
__device__ unsigned long long warp_sum(const unsigned* x, int n, unsigned resample, unsigned sample, uint2 seed) {
    unsigned long long sum = 0;
    for (int call = threadIdx.x % 32; 4 * call < n; call += 32) {
        uint4 at = draws(call, resample, sample, n, seed);
        sum += x[at.x];
        if (4 * call + 1 < n) sum += x[at.y];
        if (4 * call + 2 < n) sum += x[at.z];
        if (4 * call + 3 < n) sum += x[at.w];
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xFFFFFFFF, sum, d);
    return sum;  // in lane 0
}

extern "C" __global__ void means_by_warp(double* ratio, const unsigned* a, const unsigned* b, int na, int nb,
                                         uint2 seed, int resamples, int paired) {
    int resample = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (resample >= resamples) return;
    unsigned long long sa = warp_sum(a, na, resample, 0, seed);
    unsigned long long sb = warp_sum(b, nb, resample, paired ? 0 : 1, seed);
    if (threadIdx.x % 32 == 0) ratio[resample] = ((double)sa / na) / ((double)sb / nb);
}
// --8<-- [end:v0]

// --8<-- [start:v1]
// A thread per resample: no lane waits for another, and nothing is exchanged.
__device__ unsigned long long thread_sum(const unsigned* x, int n, unsigned resample, unsigned sample, uint2 seed) {
    unsigned long long sum = 0;
    for (int call = 0; 4 * call < n; call++) {
        uint4 at = draws(call, resample, sample, n, seed);
        sum += x[at.x];
        if (4 * call + 1 < n) sum += x[at.y];
        if (4 * call + 2 < n) sum += x[at.z];
        if (4 * call + 3 < n) sum += x[at.w];
    }
    return sum;
}

extern "C" __global__ void means_by_thread(double* ratio, const unsigned* a, const unsigned* b, int na, int nb,
                                           uint2 seed, int resamples, int paired) {
    int resample = blockIdx.x * blockDim.x + threadIdx.x;
    if (resample >= resamples) return;
    unsigned long long sa = thread_sum(a, na, resample, 0, seed);
    unsigned long long sb = thread_sum(b, nb, resample, paired ? 0 : 1, seed);
    ratio[resample] = ((double)sa / na) / ((double)sb / nb);
}
// --8<-- [end:v1]

// --8<-- [start:medians]
// Twice the median of a resample of sorted[0 … n). A draw is a rank, so counting the draws of each rank sorts them.
__device__ unsigned long long middle(const unsigned* sorted, int n, unsigned* count, unsigned resample, unsigned sample,
                                     uint2 seed) {
    int lane = threadIdx.x % 32;
    for (int i = lane; i < n; i += 32) count[i] = 0;
    __syncwarp();
    for (int call = lane; 4 * call < n; call += 32) {
        uint4 at = draws(call, resample, sample, n, seed);
        atomicAdd(&count[at.x], 1);
        if (4 * call + 1 < n) atomicAdd(&count[at.y], 1);
        if (4 * call + 2 < n) atomicAdd(&count[at.z], 1);
        if (4 * call + 3 < n) atomicAdd(&count[at.w], 1);
    }
    __syncwarp();
    unsigned long long found = 0;
    int before = 0, low = (n - 1) / 2, high = n / 2;  // the places of the two values in the middle, equal if n is odd
    for (int first = 0; first < n; first += 32) {
        int mine = first + lane < n ? count[first + lane] : 0, upto = mine;
        for (int d = 1; d < 32; d *= 2) {
            int left = __shfl_up_sync(0xFFFFFFFF, upto, d);
            if (lane >= d) upto += left;
        }
        int from = before + upto - mine, to = before + upto;  // my rank fills these places of the sorted resample
        if (from <= low && low < to) found += sorted[first + lane];
        if (from <= high && high < to) found += sorted[first + lane];
        before += __shfl_sync(0xFFFFFFFF, upto, 31);
    }
    for (int d = 16; d > 0; d /= 2) found += __shfl_down_sync(0xFFFFFFFF, found, d);
    __syncwarp();
    return found;  // in lane 0
}
// --8<-- [end:medians]

extern "C" __global__ void medians_by_warp(double* ratio, const unsigned* a, const unsigned* b, int na, int nb,
                                           uint2 seed, int resamples) {
    __shared__ unsigned counts[WARPS][MOST];
    int resample = blockIdx.x * WARPS + threadIdx.x / 32;
    if (resample >= resamples) return;
    unsigned* count = counts[threadIdx.x / 32];
    unsigned long long ma = middle(a, na, count, resample, 0, seed);
    unsigned long long mb = middle(b, nb, count, resample, 1, seed);
    if (threadIdx.x % 32 == 0) ratio[resample] = (double)ma / (double)mb;
}
