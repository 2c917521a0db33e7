// Sums over all pairs with the offset of each entry; block v takes window v with 64 threads.
__global__ void gather(const float* ds, float* partial, int m) {
    // your code
    // end of your code
}
