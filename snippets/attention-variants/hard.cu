// Hard attention: look at one of PLACES places, drawn with probability p, and be paid pay[j] for place j. The estimate
// of the gradient of the mean pay, by the scores from which p came: (pay[j] - baseline) (e_j - p), averaged over draws.
#ifndef PLACES
#define PLACES 8
#endif

constexpr int BLOCK = 128;

// --8<-- [start:random]
// One step of a 64-bit linear congruential generator; its upper 24 bits are a number in [0, 1).
__device__ float next_random(unsigned long long& state) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (float)(unsigned)(state >> 40) * (1.0f / (1 << 24));
}
// --8<-- [end:random]

extern "C" {

// --8<-- [start:reinforce]
// Sums over this block's draws: PLACES components of the gradient, then the squares of its length.
__global__ void __launch_bounds__(BLOCK) reinforce(const float* p, const float* pay, float baseline,
                                                   const unsigned long long* seeds, double* out, int draws) {
    unsigned long long state = seeds[blockIdx.x * BLOCK + threadIdx.x];
    float sums[PLACES + 1] = {};
    for (int n = 0; n < draws; ++n) {
        float u = next_random(state);
        int j = 0;
        for (; j < PLACES - 1 && u >= p[j]; ++j) u -= p[j];  // the place that u falls into
        float gain = pay[j] - baseline, square = 0;
        for (int k = 0; k < PLACES; ++k) {
            float g = gain * ((k == j) - p[k]);
            sums[k] += g;
            square += g * g;
        }
        sums[PLACES] += square;
    }
    __shared__ double of_thread[BLOCK];
    for (int k = 0; k <= PLACES; ++k) {
        of_thread[threadIdx.x] = sums[k];
        __syncthreads();
        for (int half = BLOCK / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) of_thread[threadIdx.x] += of_thread[threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x == 0) out[blockIdx.x * (PLACES + 1) + k] = of_thread[0];
        __syncthreads();
    }
}
// --8<-- [end:reinforce]

}  // extern "C"
