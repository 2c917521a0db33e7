// g becomes at most as long as `most`; part holds sums of squares, whose total is the square of the norm.
__global__ void clip(float* g, const float* part, int parts, float most, int n) {
    // your code
    // end of your code
}
