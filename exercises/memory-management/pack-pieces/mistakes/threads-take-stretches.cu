// slow: bytes-strided
__global__ void pack(const float* pool, const int* source, const int* target, float* out, int pieces) {
    int p = blockIdx.x;
    int from = source[p], to = target[p], length = target[p + 1] - to;
    int each = (length + blockDim.x - 1) / blockDim.x;
    for (int k = 0; k < each; ++k) {
        int i = threadIdx.x * each + k;
        if (i < length) out[to + i] = pool[from + i];  // <-- here
    }
}
