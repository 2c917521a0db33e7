// wrong: transposed, no line
__global__ void unpitch(const float* in, float* out, int rows, int cols, int pitch) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= rows || c >= cols) return;
    const float* row = (const float*)((const char*)in + (size_t)r * pitch);
    out[c * rows + r] = row[c];
}
