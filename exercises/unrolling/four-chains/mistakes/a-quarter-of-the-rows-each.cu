// wrong: quarters, no line
__global__ void dots(const float* x, const float* y, float* out, int rows, int columns) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= columns) return;
    float s[4] = {0, 0, 0, 0};
    int part = (rows + 3) / 4;
    for (int r = 0; r < part; r++)
        for (int j = 0; j < 4; j++)
            if (j * part + r < rows) s[j] = fmaf(x[(j * part + r) * columns + c], y[j * part + r], s[j]);
    out[c] = (s[0] + s[1]) + (s[2] + s[3]);
}
