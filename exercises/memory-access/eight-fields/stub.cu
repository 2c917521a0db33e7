// out[i] = w[0] * records[8 * i] + ... + w[7] * records[8 * i + 7] for all i < n. A block of 256 threads has 256 records.
__global__ void weigh(const float* records, const float* w, float* out, int n) {
    // your code
    // end of your code
}
