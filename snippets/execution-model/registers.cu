// Kernels that differ in the registers they need: N numbers that all stay alive from one turn of a loop to the next.
template <int N>
__device__ void hold(const unsigned* in, unsigned* out, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x[N];
#pragma unroll
    for (int k = 0; k < N; ++k) x[k] = in[i] + k;
#pragma unroll 1
    for (int t = 0; t < turns; ++t) {
#pragma unroll
        for (int k = 0; k < N; ++k) x[k] = 5 * x[k] + x[(k + 1) % N];
    }
    unsigned sum = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) sum += x[k];
    out[i] = sum;
}

extern "C" {
#define KERNEL(N) \
    __global__ void hold_##N(const unsigned* in, unsigned* out, int turns) { hold<N>(in, out, turns); }
KERNEL(2)
KERNEL(24)
KERNEL(40)
KERNEL(64)
KERNEL(100)
KERNEL(200)
}
