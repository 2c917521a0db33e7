// nats = -log p(x) with p = 1 / (1 + exp(-logit)), grad = p - x: for any logit.
__global__ void pixel_nats(const float* logits, const float* x, float* nats, float* grad, int n) {
    // your code
    // end of your code
}
