// The layers of a VAE on rows of a batch, and Adam. A bias is the last row of its weights. Sizes are small: a thread per result.

extern "C" {

// --8<-- [start:linear]
__global__ void linear(const float* x, const float* w, float* y, int rows, int in, int out, int squash) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, row = at / out, column = at % out;
    if (row >= rows) return;
    float sum = w[in * out + column];  // the bias
    for (int i = 0; i < in; ++i) sum = fmaf(x[row * in + i], w[i * out + column], sum);
    y[at] = squash ? tanhf(sum) : sum;
}

__global__ void linear_dx(const float* dy, const float* w, float* dx, int rows, int in, int out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, row = at / in, i = at % in;
    if (row >= rows) return;
    float sum = 0;
    for (int o = 0; o < out; ++o) sum = fmaf(dy[row * out + o], w[i * out + o], sum);
    dx[at] = sum;
}

__global__ void linear_dw(const float* dy, const float* x, float* dw, int rows, int in, int out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, i = at / out, column = at % out;
    if (i > in) return;
    float sum = 0;
    for (int row = 0; row < rows; ++row) sum = fmaf(i < in ? x[row * in + i] : 1, dy[row * out + column], sum);
    dw[at] = sum;
}
// --8<-- [end:linear]

__global__ void tanh_backward(float* dy, const float* y, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) dy[at] *= 1 - y[at] * y[at];
}

// --8<-- [start:bernoulli]
__global__ void nats(const float* logits, const float* x, float* sums, float* grad, int rows, int n, float scale) {
    int lane = threadIdx.x, row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float sum = 0;
    for (int i = row * n + lane; i < (row + 1) * n; i += 32) {
        float a = logits[i], e = expf(-fabsf(a));  // e is at most 1, so nothing overflows
        sum += fmaxf(a, 0) - a * x[i] + log1pf(e);
        grad[i] = scale * ((a >= 0 ? 1 : e) / (1 + e) - x[i]);
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    if (lane == 0) sums[row] = sum;
}
// --8<-- [end:bernoulli]

// --8<-- [start:adam]
__global__ void adam(float* w, const float* g, float* m, float* v, int n, float rate, float fresh, float fresh2,
                     float c1, float c2, float tiny) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    float slope = g[at];
    m[at] += fresh * (slope - m[at]);  // fresh is 1 - 0.9; 1 - 0.999f here would be off by 13 millionths of itself
    v[at] += fresh2 * (slope * slope - v[at]);
    w[at] -= rate * (m[at] / c1) / (sqrtf(v[at] / c2) + tiny);
}
// --8<-- [end:adam]

}  // extern "C"
