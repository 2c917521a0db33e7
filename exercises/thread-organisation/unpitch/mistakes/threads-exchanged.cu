// slow: uncoalesced
__global__ void unpitch(const float* in, float* out, int rows, int cols, int pitch) {
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    int c = blockIdx.x * blockDim.x + t / 8, r = blockIdx.y * blockDim.y + t % 8;
    if (r >= rows || c >= cols) return;
    const float* row = (const float*)((const char*)in + (size_t)r * pitch);
    out[r * cols + c] = row[c];  // <-- here
}
