// slow: diverged-instructions
__global__ void sort_columns(const int* x, int* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) v[k] = x[k * n + i];
    for (int k = 1; k < 8; ++k) {  // insertion: the index j is known only at run time, so v lies in local memory
        int value = v[k], j = k;
        for (; j > 0 && v[j - 1] > value; --j) v[j] = v[j - 1];  // <-- here
        v[j] = value;
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) y[k * n + i] = v[k];
}
