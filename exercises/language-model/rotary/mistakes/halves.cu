// wrong: halves, no line
constexpr int HEAD = 16;

__global__ void rotate(const float* x, const float* cosine, const float* sine, float* y, int tokens, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = i / (d / 2), p = i % (d / 2);
    if (t >= tokens) return;
    float c = cosine[t * (HEAD / 2) + p % (HEAD / 2)], s = sine[t * (HEAD / 2) + p % (HEAD / 2)];
    int at = t * d + p / (HEAD / 2) * HEAD + p % (HEAD / 2);
    float a = x[at], b = x[at + HEAD / 2];
    y[at] = a * c - b * s;
    y[at + HEAD / 2] = a * s + b * c;
}
