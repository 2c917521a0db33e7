// out[s] = attention of q[s] over length[s] keys in pages of 8 tokens, found through the table. A block per sequence.
__global__ void attend(const float* q, const float* pool, const int* table, const int* length, float* out, int pages) {
    // your code
    // end of your code
}
