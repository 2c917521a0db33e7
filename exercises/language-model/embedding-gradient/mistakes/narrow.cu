// wrong: part-not-written, no line
__global__ void scatter(const float* dx, const int* order, const int* begin, const float* part, float* dw, int d) {
    int t = blockIdx.x, last = begin[t + 1];
    int c = threadIdx.x;
    if (c >= d) return;
    float sum = 0;
    for (int k = begin[t]; k < last; ++k) sum += dx[order[k] * d + c];
    dw[t * d + c] = part[t * d + c] + sum;
}
