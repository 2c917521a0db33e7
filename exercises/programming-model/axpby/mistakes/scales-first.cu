// wrong: unset-read, no line
__global__ void axpby(float a, const float* x, float b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] *= b;
    y[i] += a * x[i];
}
