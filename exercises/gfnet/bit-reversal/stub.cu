// out[j] becomes in[r], where r has the eight bits of j in reverse order. A block sorts one line of 256.
__global__ void sort(const float* in, float* out) {
    // your code
    // end of your code
}
