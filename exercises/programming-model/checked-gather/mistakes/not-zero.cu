// wrong: part-not-written
__global__ void gather(const float* table, int size, const int* index, float* out, int* bad, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = index[i];
    bool good = 0 <= k && k < size;
    if (good) {
        out[i] = table[k];  // <-- here
    } else {
        atomicMin(bad, i);
    }
}
