// Softmax of each row: block r takes row r, with 256 threads.
__global__ void softmax(const float* x, float* y, int n) {
    // your code
    // end of your code
}
