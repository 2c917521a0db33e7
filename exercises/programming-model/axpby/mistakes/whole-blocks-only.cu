// wrong: part-not-written
__global__ void axpby(float a, const float* x, float b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 256 * 256) return;
    float term = a * x[i];
    y[i] = b == 0 ? term : term + b * y[i];  // <-- here
}
