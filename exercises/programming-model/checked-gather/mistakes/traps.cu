// wrong: trap
__global__ void gather(const float* table, int size, const int* index, float* out, int* bad, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = index[i];
    bool good = 0 <= k && k < size;
    if (!good) __trap();  // <-- here
    out[i] = table[k];
}
