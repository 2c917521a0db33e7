// wrong: another-sequence
__global__ void attend(const float* q, const float* pool, const int* table, const int* length, float* out, int pages) {
    __shared__ float tops[4], sums[4], values[4][32];
    int s = blockIdx.x, c = threadIdx.x % 32, warp = threadIdx.x / 32, n = length[s];
    float mine = q[s * 32 + c] * rsqrtf(32), top = -INFINITY, sum = 0, value = 0;
    for (int p = warp; p * 8 < n; p += 4) {
        size_t first = (size_t)max(table[p], 0) * 16;
        int here = min(8, n - p * 8);
        for (int j = 0; j < here; j++) {
            size_t at = (first + j) * 32 + c;
            float score = mine * pool[at];
            for (int apart = 16; apart; apart /= 2) score += __shfl_xor_sync(0xffffffff, score, apart);
            float next = fmaxf(top, score), factor = expf(top - next), weight = expf(score - next);
            sum = sum * factor + weight;
            value = value * factor + weight * pool[at + 8 * 32];
            top = next;
        }
    }
    values[warp][c] = value;
    if (c == 0) tops[warp] = top, sums[warp] = sum;
    __syncthreads();
    if (warp > 0) return;
    top = fmaxf(fmaxf(tops[0], tops[1]), fmaxf(tops[2], tops[3]));
    sum = value = 0;
    for (int w = 0; w < 4; w++) {
        float factor = expf(tops[w] - top);
        sum += sums[w] * factor;
        value += values[w][c] * factor;
    }
    out[s * 32 + c] = value / sum;  // <-- here
}
