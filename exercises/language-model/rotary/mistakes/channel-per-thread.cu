// slow: bytes, no line
constexpr int HEAD = 16;

__global__ void rotate(const float* x, const float* cosine, const float* sine, float* y, int tokens, int d) {
    int total = tokens * d;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < total; i += gridDim.x * blockDim.x) {
        int t = i / d, p = i % d / 2 % (HEAD / 2);
        float c = cosine[t * (HEAD / 2) + p], s = sine[t * (HEAD / 2) + p];
        float own = x[i], other = x[i ^ 1];
        y[i] = i % 2 ? other * s + own * c : own * c - other * s;
    }
}
