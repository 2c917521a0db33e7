// wrong: factor-on-both, no line
__global__ void axpby(float a, const float* x, float b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (b == 0) {
        y[i] = a * x[i];
    } else {
        y[i] = b * (a * x[i] + y[i]);
    }
}
