// wrong: factor-on-both, no line
__global__ void axpby(float a, const float* x, float b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * (b == 0 ? x[i] : x[i] + b * y[i]);
}
