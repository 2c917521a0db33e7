// Work whose length is an argument, and whose result is known: x ← a x + c, again and again, modulo 2^32.

extern "C" {

// --8<-- [start:steps]
// Each step waits for the one before, so time grows with `rounds` and with nothing else.
__global__ void steps(const unsigned* x, unsigned* out, unsigned a, unsigned c, int rounds, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i];
    for (int r = 0; r < rounds; ++r) v = a * v + c;
    out[i] = v;
}
// --8<-- [end:steps]

// Another of the same, so that one of two kernels of a module can be used before the other.
__global__ void steps_too(const unsigned* x, unsigned* out, unsigned a, unsigned c, int rounds, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned v = x[i];
    for (int r = 0; r < rounds; ++r) v = a * v + c;
    out[i] = v;
}
}
