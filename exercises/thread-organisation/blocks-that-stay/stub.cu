// out[r][c] = a[r][c] ^ key[r]; the grid has 2 x 3 blocks of 32 x 8 threads, whatever the matrix.
__global__ void encrypt(const unsigned* a, const unsigned* key, unsigned* out, int rows, int cols) {
    // your code
    // end of your code
}
