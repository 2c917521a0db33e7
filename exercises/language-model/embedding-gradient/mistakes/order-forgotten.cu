// wrong: order-forgotten, no line
__global__ void scatter(const float* dx, const int* order, const int* begin, const float* part, float* dw, int d) {
    int t = blockIdx.x, last = begin[t + 1];
    for (int c = threadIdx.x; c < d; c += blockDim.x) {
        float sum = 0;
        for (int k = begin[t]; k < last; ++k) sum += dx[k * d + c];
        dw[t * d + c] = part[t * d + c] + sum;
    }
}
