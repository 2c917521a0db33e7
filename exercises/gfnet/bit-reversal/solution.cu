// out[j] becomes in[r], where r has the eight bits of j in reverse order. A block sorts one line of 256.
__global__ void sort(const float* in, float* out) {
    // your code
    __shared__ float tile[256];
    int t = threadIdx.x, r = __brev(t) >> 24;
    in += blockIdx.x * 256, out += blockIdx.x * 256;
    tile[r ^ r >> 5] = in[t];
    __syncthreads();
    out[t] = tile[t ^ t >> 5];
    // end of your code
}
