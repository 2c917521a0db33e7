// Sums inside one warp, without memory.
extern "C" {

// --8<-- [start:steps]
// What each lane holds after each of the five steps: out[step][lane]. Launch one warp.
__global__ void steps_down(const int* in, int* out) {
    int x = in[threadIdx.x], row = 0;
    for (int d = 16; d > 0; d /= 2) {
        x += __shfl_down_sync(0xffffffff, x, d);  // from lane + d; past the end: its own x
        out[32 * row++ + threadIdx.x] = x;
    }
}

__global__ void steps_xor(const int* in, int* out) {
    int x = in[threadIdx.x], row = 0;
    for (int d = 16; d > 0; d /= 2) {
        x += __shfl_xor_sync(0xffffffff, x, d);  // the lanes of a pair swap: both get the sum
        out[32 * row++ + threadIdx.x] = x;
    }
}
// --8<-- [end:steps]

// --8<-- [start:redux]
// One instruction for integers, from compute capability 8.0.
__global__ void sum_redux(const int* in, int* out) {
    out[threadIdx.x] = __reduce_add_sync(0xffffffff, in[threadIdx.x]);
}
// --8<-- [end:redux]

// --8<-- [start:masks]
// Only the first n lanes take part. They agree on who they are before any branches away.
__global__ void sum_some(const int* in, int* out, int n) {
    unsigned mask = __ballot_sync(0xffffffff, threadIdx.x < n);
    if (threadIdx.x < n) out[threadIdx.x] = __reduce_add_sync(mask, in[threadIdx.x]);
}

// The float counterpart: all lanes take part, and those past the end bring a zero.
__global__ void sum_some_floats(const float* in, float* out, int n) {
    float x = threadIdx.x < n ? in[threadIdx.x] : 0.0f;
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(0xffffffff, x, d);
    out[threadIdx.x] = x;
}
// --8<-- [end:masks]

}  // extern "C"
