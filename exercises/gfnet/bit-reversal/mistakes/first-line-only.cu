// wrong: part-not-written, no line
__global__ void sort(const float* in, float* out) {
    __shared__ float tile[256];
    int t = threadIdx.x, r = __brev(t) >> 24;
    tile[r ^ r >> 5] = in[t];
    __syncthreads();
    out[t] = tile[t ^ t >> 5];
}
