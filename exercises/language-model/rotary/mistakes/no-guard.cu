// wrong: out-of-bounds
constexpr int HEAD = 16;

__global__ void rotate(const float* x, const float* cosine, const float* sine, float* y, int tokens, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = i / (d / 2), p = i % (d / 2);
    float c = cosine[t * (HEAD / 2) + p % (HEAD / 2)], s = sine[t * (HEAD / 2) + p % (HEAD / 2)];  // <-- here
    float2 v = ((const float2*)x)[i];
    ((float2*)y)[i] = {v.x * c - v.y * s, v.x * s + v.y * c};
}
