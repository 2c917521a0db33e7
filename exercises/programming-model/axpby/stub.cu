// y[i] = a * x[i] + b * y[i] for all i < n. Where b is 0, y may hold anything before the launch.
__global__ void axpby(float a, const float* x, float b, float* y, int n) {
    // your code
    // end of your code
}
