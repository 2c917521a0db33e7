// y[i] is x[i] after `rounds` steps v = a v + c, modulo 2^32.
__global__ void advance(const unsigned* x, unsigned* y, unsigned a, unsigned c, int rounds, int n) {
    // your code
    // end of your code
}
