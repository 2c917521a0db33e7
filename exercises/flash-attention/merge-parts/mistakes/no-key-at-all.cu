// wrong: nothing-seen, no line
__global__ void merge(const float* m, const float* s, const float* o, float* out, int parts, int rows, int d) {
    int r = blockIdx.x;
    float top = -INFINITY, sum = 0;
    for (int p = 0; p < parts; ++p) top = fmaxf(top, m[p * rows + r]);
    for (int p = 0; p < parts; ++p) sum += s[p * rows + r] * expf(m[p * rows + r] - top);
    for (int c = threadIdx.x; c < d; c += 128) {
        float v = 0;
        for (int p = 0; p < parts; ++p) v += o[((size_t)p * rows + r) * d + c] * expf(m[p * rows + r] - top);
        out[(size_t)r * d + c] = v / sum;
    }
}
