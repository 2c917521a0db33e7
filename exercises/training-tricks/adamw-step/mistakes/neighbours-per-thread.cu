// slow: uncoalesced
__global__ void adamw(float* p, const float* g, float* m, float* v, float lr, float b1, float b2, float eps, float decay,
                      float c1, float c2, int n) {
    int i = blockIdx.x * 256 + threadIdx.x % 32 * 8 + threadIdx.x / 32;
    if (i >= n) return;
    float M = b1 * m[i] + (1 - b1) * g[i];  // <-- here
    float V = b2 * v[i] + (1 - b2) * g[i] * g[i];
    p[i] = (1 - lr * decay) * p[i] - lr * (M / c1) / (sqrtf(V / c2) + eps);
    m[i] = M;
    v[i] = V;
}
