// wrong: part-not-written, no line
__global__ void add_both(const float* x, const float* y, const float* z, float* out, float a, float b, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = a * x[i] + b * y[i] + z[i];
}
