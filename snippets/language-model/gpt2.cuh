// What the files of the larger model share: where an element of a matrix in heads lies, and GELU.
#include <cuda_bf16.h>

// --8<-- [start:heads]
// A matrix of tokens whose columns are heads of 64 channels, one or more parts of them: queries, keys, values. It lies as
// [part][sequence][head][time][64].
struct Heads {
    int count, time, sequences;

    // Of 64 channels, block `block` of the token `row`.
    __device__ __forceinline__ int line(int row, int block) const {
        const int part = block / count, head = block % count;
        return ((part * sequences + row / time) * count + head) * time + row % time;
    }
};
// --8<-- [end:heads]

constexpr float GELU_SLOPE = 1.5957691216f, GELU_CUBIC = 0.044715f;  // twice the root of 2 / pi

__device__ __forceinline__ float gelu(float x) { return x / (1 + __expf(-GELU_SLOPE * (x + GELU_CUBIC * x * x * x))); }
__device__ __forceinline__ float gelu_slope(float x) {
    const float s = 1 / (1 + __expf(-GELU_SLOPE * (x + GELU_CUBIC * x * x * x)));
    return s + x * s * (1 - s) * (GELU_SLOPE * (1 + 3 * GELU_CUBIC * x * x));
}
