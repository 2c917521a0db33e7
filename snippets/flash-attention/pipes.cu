// How often can a scheduler issue a product, and how often a power of two? By one warp, and by several.
#include <cuda_fp16.h>

constexpr int CHAINS = 8;  // of independent instructions, so that none waits for the one before it

// --8<-- [start:pipes]
// Each warp adds a b to CHAINS sums and sends CHAINS numbers through 2^-x, `rounds` times over. Which of the two it does is
// up to `products` and `powers`: bit w of each is for the w-th warp of a scheduler.
extern "C" __global__ void pipes(const unsigned* a, const unsigned* b, float* sums, float* numbers, int* cycles,
                                 int rounds, int products, int powers) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, mine = warp / 4;  // warps 0, 4, 8 … share a scheduler
    unsigned left[4], right[2];
    float d[CHAINS][4] = {}, x[CHAINS];
    for (int i = 0; i < 4; ++i) left[i] = a[lane * 4 + i];
    for (int i = 0; i < 2; ++i) right[i] = b[lane * 2 + i];
    for (int c = 0; c < CHAINS; ++c) x[c] = (float)(c + lane) / 64;
    auto multiply = [&](int c) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(d[c][0]), "+f"(d[c][1]), "+f"(d[c][2]), "+f"(d[c][3])
            : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));
    };
    auto raise = [&](int c) {
        asm volatile("{ .reg .f32 minus; neg.f32 minus, %0; ex2.approx.ftz.f32 %0, minus; }" : "+f"(x[c]));
    };

    __syncthreads();
    int start = clock64();
    if (products >> mine & powers >> mine & 1) {
#pragma unroll 1
        for (int round = 0; round < rounds; ++round)
#pragma unroll
            for (int c = 0; c < CHAINS; ++c) multiply(c), raise(c);
    } else if (products >> mine & 1) {
#pragma unroll 1
        for (int round = 0; round < rounds; ++round)
#pragma unroll
            for (int c = 0; c < CHAINS; ++c) multiply(c);
    } else if (powers >> mine & 1) {
#pragma unroll 1
        for (int round = 0; round < rounds; ++round)
#pragma unroll
            for (int c = 0; c < CHAINS; ++c) raise(c);
    }
    int stop = clock64();
    size_t thread = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int c = 0; c < CHAINS; ++c) {
        numbers[thread * CHAINS + c] = x[c];
        for (int i = 0; i < 4; ++i) sums[(thread * CHAINS + c) * 4 + i] = d[c][i];
    }
    if (lane == 0) cycles[thread / 32] = stop - start;
}
// --8<-- [end:pipes]
