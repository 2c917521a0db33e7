// wrong: coupled, no line
constexpr float B1 = 0.9f, B2 = 0.98f, EPS = 0.01f;

__global__ void adamw(float* p, const float* g, float* m, float* v, float lr, float decay, float c1, float c2, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float G = g[i] + decay * p[i];
    float M = B1 * m[i] + (1 - B1) * G;
    float V = B2 * v[i] + (1 - B2) * G * G;
    p[i] = p[i] - lr * (M / c1) / (sqrtf(V / c2) + EPS);
    m[i] = M;
    v[i] = V;
}
