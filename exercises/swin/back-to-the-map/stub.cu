// map[y][x] takes its channels from the window and the place in it that the shifted map had given it.
__global__ void reverse(const float* windows, float* map, int h, int w, int m, int shift, int c) {
    // your code
    // end of your code
}
