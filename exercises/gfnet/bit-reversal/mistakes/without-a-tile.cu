// slow: uncoalesced
__global__ void sort(const float* in, float* out) {
    int t = threadIdx.x, r = __brev(t) >> 24;
    in += blockIdx.x * 256, out += blockIdx.x * 256;
    out[t] = in[r];  // <-- here
}
