// wrong: out-of-bounds
__global__ void axpby(float a, const float* x, float b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float term = a * x[i];  // <-- here
    y[i] = b == 0 ? term : term + b * y[i];
}
