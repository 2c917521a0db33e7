// wrong: one-side-only, no line
__global__ void sort(const float* in, float* out) {
    __shared__ float tile[256];
    int t = threadIdx.x, r = __brev(t) >> 24;
    in += blockIdx.x * 256, out += blockIdx.x * 256;
    tile[r ^ r >> 5] = in[t];
    __syncthreads();
    out[t] = tile[t];
}
