// wrong: out-of-bounds
__global__ void finish(float* scores, const float* table, int h, int w, int m, int shift) {
    int n = m * m, v = blockIdx.x, i = blockIdx.y, j = threadIdx.x;
    int top = v / (w / m) * m + shift, left = v % (w / m) * m + shift;
    int yi = i / m, xi = i % m, yj = j / m, xj = j % m;
    bool rows = (top + yi >= h) == (top + yj >= h), columns = (left + xi >= w) == (left + xj >= w);
    float bias = table[(yi - yj + m - 1) * (2 * m - 1) + xi - xj + m - 1];  // <-- here
    float* score = scores + (v * n + i) * n + j;
    *score = rows && columns ? *score + bias : -10000.0f;  // <-- here
}
