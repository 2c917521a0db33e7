// y[i] = a * x[i] + b * y[i] for all i < n. Where b is 0, y may hold anything before the launch.
__global__ void axpby(float a, const float* x, float b, float* y, int n) {
    // your code
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float term = a * x[i];
    if (b != 0) term += b * y[i];
    y[i] = term;
    // end of your code
}
