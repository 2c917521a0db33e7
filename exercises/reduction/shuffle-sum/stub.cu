// out[b] = the sum of block b's 256 elements of data; of the last block, of those below n.
__global__ void block_sum(const float* data, float* out, int n) {
    // your code
    // end of your code
}
