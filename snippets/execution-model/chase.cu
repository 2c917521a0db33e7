// Latency, and who hides it: threads that can do nothing but wait for their own loads.
constexpr int NODE = 32;  // words from one node to the next: each has a 128-byte line of its own

extern "C" {

// Spread a permutation over lines: node i names the node that follows it, twice.
__global__ void lay_out(const unsigned* next, uint2* nodes, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) nodes[(size_t)i * (NODE / 2)] = make_uint2(next[i], next[i]);
}

// --8<-- [start:chase]
// The first `lanes` lanes of each warp walk `steps` nodes; each load needs the one before.
__global__ void chase(const unsigned* nodes, const unsigned* first, unsigned* last, int lanes, int steps) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = thread % 32, walker = thread / 32 * lanes + lane;
    if (lane >= lanes) return;
    unsigned at = first[walker];
    for (int s = 0; s < steps; ++s) at = nodes[(size_t)at * NODE];
    last[walker] = at;
}
// --8<-- [end:chase]

// --8<-- [start:parted]
// Lane 0 of a warp walks, or lanes 0 and 1: on one path (sides = 1), or on two that differ only in the word they read.
__global__ void parted(const unsigned* nodes, const unsigned* first, unsigned* last, int lanes, int sides, int steps) {
    int lane = threadIdx.x;
    if (lane >= lanes) return;
    unsigned at = first[lane];
    if (lane % sides == 0) {
#pragma unroll 1
        for (int s = 0; s < steps; ++s) at = nodes[(size_t)at * NODE];
    } else {
#pragma unroll 1
        for (int s = 0; s < steps; ++s) at = nodes[(size_t)at * NODE + 1];
    }
    last[lane] = at;
}
// --8<-- [end:parted]

}  // extern "C"
