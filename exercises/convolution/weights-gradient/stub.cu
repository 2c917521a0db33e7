// dw of a 3 x 3 convolution with a stride and one ring of zeros around x. A block is a warp and computes one of the nine.
__global__ void gradient(const float* x, const float* dy, float* dw, int h, int v, int p, int q, int stride) {
    // your code
    // end of your code
}
