// wrong: out-of-bounds
__global__ void gather(const float* table, int size, const int* index, float* out, int* bad, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int k = index[i];
    out[i] = table[k];  // <-- here
}
