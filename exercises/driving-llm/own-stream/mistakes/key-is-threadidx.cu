// wrong: blocks-share, no line
__device__ unsigned mix(unsigned h) {
    h ^= h >> 16;
    h *= 0x7d4e9c2bu;
    h ^= h >> 15;
    h *= 0x5a3b9e6du;
    h ^= h >> 16;
    return h;
}

__global__ void draw_words(int* out, unsigned seed, int steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned stream = mix(seed + threadIdx.x);
    for (int t = 0; t < steps; ++t) out[t * n + i] = mix(stream + t);
}
