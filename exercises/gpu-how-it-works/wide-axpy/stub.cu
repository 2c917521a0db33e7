// out[i] = a x[i] + y[i] for all i < n; a thread has four neighbours, and the last n % 4 go to the first threads.
__global__ void axpy(const float* x, const float* y, float* out, float a, int n) {
    // your code
    // end of your code
}
