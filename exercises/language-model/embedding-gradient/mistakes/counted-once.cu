// wrong: counted-once, no line
__global__ void scatter(const float* dx, const int* order, const int* begin, const float* part, float* dw, int d) {
    int t = blockIdx.x, last = begin[t + 1];
    for (int c = threadIdx.x; c < d; c += blockDim.x)
        dw[t * d + c] = part[t * d + c] + (begin[t] < last ? dx[order[last - 1] * d + c] : 0);
}
