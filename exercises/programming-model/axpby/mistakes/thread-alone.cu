// wrong: race-blocks
__global__ void axpby(float a, const float* x, float b, float* y, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    float term = a * x[i];
    if (b != 0) term += b * y[i];
    y[i] = term;  // <-- here
}
