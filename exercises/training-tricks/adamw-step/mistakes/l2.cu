// wrong: coupled, no line
__global__ void adamw(float* p, const float* g, float* m, float* v, float lr, float b1, float b2, float eps, float decay,
                      float c1, float c2, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float G = g[i] + decay * p[i];
    float M = b1 * m[i] + (1 - b1) * G;
    float V = b2 * v[i] + (1 - b2) * G * G;
    p[i] = p[i] - lr * (M / c1) / (sqrtf(V / c2) + eps);
    m[i] = M;
    v[i] = V;
}
