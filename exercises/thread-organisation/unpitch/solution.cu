// out[r][c] = in[r][c]; rows of `in` are `pitch` bytes apart, those of out follow each other. Blocks: 32 x 8 threads.
__global__ void unpitch(const float* in, float* out, int rows, int cols, int pitch) {
    // your code
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r >= rows || c >= cols) return;
    const float* row = (const float*)((const char*)in + (size_t)r * pitch);
    out[r * cols + c] = row[c];
    // end of your code
}
