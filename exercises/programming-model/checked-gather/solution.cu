// out[i] = table[index[i]], or 0 where index[i] is out of range; bad[0] becomes the smallest such i. It is n before.
__global__ void gather(const float* table, int size, const int* index, float* out, int* bad, int n) {
    // your code
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = index[i];
    bool good = 0 <= k && k < size;
    out[i] = good ? table[k] : 0;
    if (!good) atomicMin(bad, i);
    // end of your code
}
