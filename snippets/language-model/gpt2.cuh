// What the files of the larger model share: where an element of a matrix in heads lies, and GELU.
#include <cuda_bf16.h>

// --8<-- [start:heads]
// A matrix of tokens whose columns are heads of 64 channels, one or more parts of them: queries, keys, values. It lies as
// [part][sequence][head][time][64].
struct Heads {
    int count, time, sequences;

    // Of 64 channels, block `block` of the token `row`.
    __device__ __forceinline__ int line(int row, int block) const {
        const int sequence = quotient(row, time), part = quotient(block, count), head = block - part * count;
        return ((part * sequences + sequence) * count + head) * time + row - sequence * time;
    }
    // For 0 <= x < 2^21, where rounding cannot reach the next integer: a tenth of what dividing integers takes.
    __device__ static __forceinline__ int quotient(int x, int by) { return (int)((x + 0.5f) * (1.0f / by)); }
};
// --8<-- [end:heads]

constexpr float LOG2_E = 1.44269504f, GELU_SLOPE = 1.5957691216f,
                GELU_CUBIC = 0.044715f;  // slope: twice the root of 2 / pi

// One instruction each; their errors of some 2^-22 are nothing against bf16's rounding.
__device__ __forceinline__ float power_of_two(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ float reciprocal(float x) {
#if EXACT  // rounded to the nearest: some ten instructions
    return 1 / x;
#else
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

__device__ __forceinline__ float logistic_of_gelu(float x) {
    return reciprocal(1 + power_of_two(-LOG2_E * GELU_SLOPE * (x + GELU_CUBIC * x * x * x)));
}
__device__ __forceinline__ float gelu(float x) { return x * logistic_of_gelu(x); }
__device__ __forceinline__ float gelu_slope(float x) {
    const float s = logistic_of_gelu(x);
    return s + x * s * (1 - s) * (GELU_SLOPE * (1 + 3 * GELU_CUBIC * x * x));
}
