// wrong: out-of-bounds
__global__ void pack(const float* pool, const int* source, const int* target, float* out, int pieces) {
    int p = blockIdx.x;
    int from = source[p], to = target[p], length = source[p + 1] - from;  // <-- here
    for (int i = threadIdx.x; i < length; i += blockDim.x) out[to + i] = pool[from + i];
}
