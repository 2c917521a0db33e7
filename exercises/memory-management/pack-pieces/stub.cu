// Copies piece p, which begins at pool[source[p]], to out[target[p]] … out[target[p + 1] - 1], for all p < pieces.
__global__ void pack(const float* pool, const int* source, const int* target, float* out, int pieces) {
    // your code
    // end of your code
}
