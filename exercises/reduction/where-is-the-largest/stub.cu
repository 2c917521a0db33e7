// where[b] is the index of the largest of block b's 256 elements of data; of equal ones, the first.
__global__ void where_largest(const int* data, int* where, int n) {
    // your code
    // end of your code
}
