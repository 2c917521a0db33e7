// out[c] = the dot product of column c of x with y, in four chains. x is row-major: rows x columns. Blocks have 128 threads.
__global__ void dots(const float* x, const float* y, float* out, int rows, int columns) {
    // your code
    // end of your code
}
