// Decodes one token per sequence: appends its key and value to the cache, then attends to all keys. A warp per sequence.
__global__ void step(const float* q, const float* kv, float* k, float* v, const int* length, float* out, int most) {
    // your code
    int s = blockIdx.x, c = threadIdx.x, n = length[s];
    k += (size_t)s * most * 32 + c, v += (size_t)s * most * 32 + c;
    k[n * 32] = kv[s * 64 + c];
    v[n * 32] = kv[s * 64 + 32 + c];
    float mine = q[s * 32 + c] * rsqrtf(32), top = -INFINITY, sum = 0, value = 0;
    for (int j = 0; j <= n; j++) {
        float score = mine * k[j * 32];
        for (int apart = 16; apart; apart /= 2) score += __shfl_xor_sync(0xffffffff, score, apart);
        float next = fmaxf(top, score), factor = expf(top - next), weight = expf(score - next);
        sum = sum * factor + weight;
        value = value * factor + weight * v[j * 32];
        top = next;
    }
    out[s * 32 + c] = value / sum;
    // end of your code
}
