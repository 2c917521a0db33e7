// wrong: joined-otherwise, no line
__global__ void dots(const float* x, const float* y, float* out, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float s[4] = {0, 0, 0, 0};
    int r = 0;
    for (; r + 3 < rows; r += 4)
        for (int j = 0; j < 4; j++) s[j] = fmaf(x[(r + j) * columns + c], y[r + j], s[j]);
    for (int j = 0; j < 3; j++)
        if (r + j < rows) s[j] = fmaf(x[(r + j) * columns + c], y[r + j], s[j]);
    out[c] = s[0] + s[1] + s[2] + s[3];
}
