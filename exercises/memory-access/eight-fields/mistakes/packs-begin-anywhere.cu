// wrong: misaligned
__global__ void weigh(const float* records, const float* w, float* out, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    const float4* packs = reinterpret_cast<const float4*>(records + i);
    float4 x = packs[0];  // <-- here
    float4 y = packs[1];  // <-- here
    out[i] = w[0] * x.x + w[1] * x.y + w[2] * x.z + w[3] * x.w + w[4] * y.x + w[5] * y.y + w[6] * y.z + w[7] * y.w;
}
