// One warp, many paths. Path P takes a number x through x = x * x + P, again and again.

// --8<-- [start:path]
template <unsigned P>
__device__ unsigned path(unsigned x, int trips) {
#pragma unroll 1
    for (int i = 0; i < trips; ++i) {
        x = x * x + P;  // four steps that wait for one another
        x = x * x + P;
        x = x * x + P;
        x = x * x + P;
    }
    return x;
}

#define PATH(P) \
    case P: return path<P>(x, trips);
#define PATHS(P) PATH(P) PATH(P + 1) PATH(P + 2) PATH(P + 3) PATH(P + 4) PATH(P + 5) PATH(P + 6) PATH(P + 7)

__device__ unsigned take(unsigned which, unsigned x, int trips) {
    switch (which) { PATHS(0) PATHS(8) PATHS(16) PATHS(24) }
    return 0;
}
// --8<-- [end:path]

extern "C" {

// --8<-- [start:paths]
// Neighbouring threads form groups, and group g takes path g % k. Groups of 1 split a warp into k paths;
// groups of 32 give each warp a path of its own.
__global__ void paths(const unsigned* in, unsigned* out, int n, unsigned k, unsigned group, int trips) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = take(i / group % k, in[i], trips);
}
// --8<-- [end:paths]

// --8<-- [start:light]
// As paths, with short paths: one trip for a load and a store. k is a power of two.
__global__ void light(const unsigned* in, unsigned* out, int n, unsigned k) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = take(i & (k - 1), in[i], 1);
}
// --8<-- [end:light]

// --8<-- [start:collatz]
// A branch with little on either side: odd numbers become 3x + 1, even ones x / 2.
__global__ void collatz(const unsigned* in, unsigned* out, int n, int steps) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = in[i];
#pragma unroll 4
    for (int s = 0; s < steps; ++s) {
        if (x & 1)
            x = 3 * x + 1;
        else
            x = x / 2;
    }
    out[i] = x;
}
// --8<-- [end:collatz]

}  // extern "C"
