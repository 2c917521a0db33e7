// The elements of x that are above 0, in their order, at the front of each tile of 256 of y; kept[b] says how many.
__global__ void keep(const float* x, float* y, int* kept, int n) {
    // your code
    // end of your code
}
