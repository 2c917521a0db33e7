// g = scaled / scale, with 0 where scaled is infinite or NaN; bad[0] grows by the number of these.
__global__ void unscale(const float* scaled, float* g, int* bad, float scale, int n) {
    // your code
    // end of your code
}
