// Y[i][f] = X[i][f] K[f], complex, for `images` images of `size` frequencies. A thread has one frequency of all images.
__global__ void filter(const float* X, const float* K, float* Y, int images, int size) {
    // your code
    // end of your code
}
