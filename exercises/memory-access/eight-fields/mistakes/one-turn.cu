// wrong: part-not-written
__global__ void weigh(const float* records, const float* w, float* out, int n) {
    const float4* halves = reinterpret_cast<const float4*>(records);
    int half = threadIdx.x % 2;
    float w0 = w[4 * half], w1 = w[4 * half + 1], w2 = w[4 * half + 2], w3 = w[4 * half + 3];
    int i = blockIdx.x * 256 + threadIdx.x / 2;
    float sum = 0;
    if (i < n) {
        float4 x = halves[2 * i + half];
        sum = w0 * x.x + w1 * x.y + w2 * x.z + w3 * x.w;
    }
    sum += __shfl_xor_sync(0xffffffff, sum, 1);
    if (i < n && half == 0) out[i] = sum;  // <-- here
}
