// to[32 * w + q] is the state to which the symbols 128 * w to 128 * w + 127 lead from state q.
__global__ void states(const unsigned char* text, const int* step, int* to, int n) {
    // your code
    // end of your code
}
