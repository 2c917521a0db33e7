// out[c] = the dot product of column c of x with y, in four chains. x is row-major: rows x columns. Blocks have 128 threads.
__global__ void dots(const float* x, const float* y, float* out, int rows, int columns) {
    // your code
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float s[4] = {0, 0, 0, 0};
    int r = 0;
    for (; r + 3 < rows; r += 4)
        for (int j = 0; j < 4; j++) s[j] = fmaf(x[(r + j) * columns + c], y[r + j], s[j]);
#pragma unroll
    for (int j = 0; j < 3; j++)
        if (r + j < rows) s[j] = fmaf(x[(r + j) * columns + c], y[r + j], s[j]);
    out[c] = (s[0] + s[1]) + (s[2] + s[3]);
    // end of your code
}
