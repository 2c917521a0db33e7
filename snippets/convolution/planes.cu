// Planes of a small image in the corner of a larger one of zeros, and back: what a convolution by FFT needs around it.
// --8<-- [start:planes]
extern "C" __global__ void enlarge(const float* x, float* padded, int count, int h, int w, int side) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int column = i % side, row = i / side % side, plane = i / side / side;
    padded[i] = row < h && column < w ? x[(plane * h + row) * w + column] : 0;
}

extern "C" __global__ void crop(const float* padded, float* y, int count, int p, int q, int side) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = padded[(i / q / p * side + i / q % p) * side + i % q];
}
// --8<-- [end:planes]
