// Thread i sorts the eight numbers x[k * n + i], k = 0 to 7, and writes the smallest to y[i], the largest to y[7 * n + i].
__global__ void sort_columns(const int* x, int* y, int n) {
    // your code
    // end of your code
}
