// out[i] = table[index[i]], or 0 where index[i] is out of range; bad[0] becomes the smallest such i. It is n before.
__global__ void gather(const float* table, int size, const int* index, float* out, int* bad, int n) {
    // your code
    // end of your code
}
