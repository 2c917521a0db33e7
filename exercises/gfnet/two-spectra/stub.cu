// z is the spectrum of a + i b, H rows of W complex numbers; x becomes the spectrum of a, y that of b.
__global__ void separate(const float* z, float* x, float* y, int H, int W) {
    // your code
    // end of your code
}
