// *total grows by the sum of data[0 … n-1].
__global__ void add_up(const unsigned* data, unsigned long long* total, int n) {
    // your code
    // end of your code
}
