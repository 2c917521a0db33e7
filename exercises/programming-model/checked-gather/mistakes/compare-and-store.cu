// wrong: race
__global__ void gather(const float* table, int size, const int* index, float* out, int* bad, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = index[i];
    bool good = 0 <= k && k < size;
    out[i] = good ? table[k] : 0;
    if (!good && i < *bad) {
        *bad = i;  // <-- here
    }
}
