// wrong: digits-lost, no line
__global__ void pixel_nats(const float* logits, const float* x, float* nats, float* grad, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = logits[i], e = expf(-fabsf(a));
    bool one = x[i] == 1, right = one == (a > 0);
    nats[i] = (right ? 0 : fabsf(a)) + logf(1 + e);
    float slope = (right ? e : 1) / (1 + e);
    grad[i] = one ? -slope : slope;
}
