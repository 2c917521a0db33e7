// slow: bytes
__global__ void axpby(float a, const float* x, float b, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float old = __ldcg(y + i);  // <-- here
    y[i] = b == 0 ? a * x[i] : a * x[i] + b * old;
}
