// dw[t] = part[t] + the sum of the rows of dx where token t stands; order and begin list these rows by token.
__global__ void scatter(const float* dx, const int* order, const int* begin, const float* part, float* dw, int d) {
    // your code
    // end of your code
}
