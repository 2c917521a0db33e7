// Each warp moves its positive elements to the front of its 32 places; positive[w] is how many warp w has.
__global__ void partition(const float* x, float* y, int* positive, int n) {
    // your code
    // end of your code
}
