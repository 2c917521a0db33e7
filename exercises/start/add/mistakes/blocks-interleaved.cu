// slow: uncoalesced
__global__ void add(const float* a, const float* b, float* c, int n) {
    int i = threadIdx.x * gridDim.x + blockIdx.x;
    if (i < n) c[i] = a[i] + b[i];  // <-- here
}
