// Bias for the pairs of a window that belong together; all other scores become -10000. Block (v, i): window, query.
__global__ void finish(float* scores, const float* table, int h, int w, int m, int shift) {
    // your code
    // end of your code
}
