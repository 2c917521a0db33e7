// slow: instructions
__global__ void clip(float* g, const float* part, int parts, float most, int n) {
    __shared__ float shared[256];
    float sum = 0;
    for (int k = 0; k < parts; ++k) sum += part[k];  // <-- here
    shared[threadIdx.x] = sum;
    __syncthreads();
    float f = most / sqrtf(shared[0]);
    if (f > 1) f = 1;
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) g[i] *= f;
}
