// slow: bytes-strided
__global__ void pack(const float* pool, const int* source, const int* target, float* out, int pieces) {
    int p = blockIdx.x * blockDim.x + threadIdx.x;
    if (p >= pieces) return;
    int from = source[p], to = target[p], length = target[p + 1] - to;
    for (int i = 0; i < length; ++i) out[to + i] = pool[from + i];  // <-- here
}
