// Copies piece p, which begins at pool[source[p]], to out[target[p]] … out[target[p + 1] - 1], for all p < pieces.
__global__ void pack(const float* pool, const int* source, const int* target, float* out, int pieces) {
    // your code
    int p = blockIdx.x;
    int from = source[p], to = target[p], length = target[p + 1] - to;
    for (int i = threadIdx.x; i < length; i += blockDim.x) out[to + i] = pool[from + i];
    // end of your code
}
