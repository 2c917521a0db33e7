// dw of a 3 x 3 convolution with a stride and one ring of zeros around x. A block is a warp and computes one of the nine.
__global__ void gradient(const float* x, const float* dy, float* dw, int h, int v, int p, int q, int stride) {
    // your code
    int r = blockIdx.x / 3, s = blockIdx.x % 3;
    float sum = 0;
    for (int i = threadIdx.x; i < p * q; i += 32) {
        int row = i / q * stride + r - 1, column = i % q * stride + s - 1;
        if (row >= 0 && row < h && column >= 0 && column < v) sum += x[row * v + column] * dy[i];
    }
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);
    if (threadIdx.x == 0) dw[blockIdx.x] = sum;
    // end of your code
}
