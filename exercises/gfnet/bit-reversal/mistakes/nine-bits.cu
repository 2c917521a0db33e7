// wrong: out-of-bounds
__global__ void sort(const float* in, float* out) {
    __shared__ float tile[256];
    unsigned t = threadIdx.x, r = __brev(t) >> 23;
    in += blockIdx.x * 256, out += blockIdx.x * 256;
    tile[r ^ r >> 5] = in[t];  // <-- here
    __syncthreads();
    out[t] = tile[t ^ t >> 5];
}
