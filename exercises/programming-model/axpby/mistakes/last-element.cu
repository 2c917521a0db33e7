// wrong: part-not-written
__global__ void axpby(float a, const float* x, float b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 1) return;
    float term = a * x[i];
    if (b != 0) term += b * y[i];
    y[i] = term;  // <-- here
}
