// slow: uncoalesced
__global__ void scatter(const float* dx, const int* order, const int* begin, const float* part, float* dw, int d) {
    int t = blockIdx.x, last = begin[t + 1];
    int each = (d + blockDim.x - 1) / blockDim.x;
    for (int c = threadIdx.x * each; c < min(d, (int)(threadIdx.x + 1) * each); ++c) {
        float sum = part[t * d + c];
        for (int k = begin[t]; k < last; ++k) sum += dx[order[k] * d + c];  // <-- here
        dw[t * d + c] = sum;
    }
}
