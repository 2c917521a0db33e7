// wrong: correction-outside-root
__global__ void adamw(float* p, const float* g, float* m, float* v, float lr, float decay, float c1, float c2, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float gradient = g[i];
    float mean = 0.9f * m[i] + 0.1f * gradient, square = 0.999f * v[i] + 0.001f * gradient * gradient;
    float step = mean * c1 / (sqrtf(square) * c2 + 1e-8f);
    p[i] -= lr * (step + decay * p[i]);  // <-- here
    m[i] = mean;
    v[i] = square;
}
