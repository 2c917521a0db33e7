// wrong: own-part, no line
__global__ void clip(float* g, const float* part, int parts, float most, int n) {
    __shared__ float shared[256];
    float sum = 0;
    for (int k = threadIdx.x; k < parts; k += 256) sum += part[k];
    shared[threadIdx.x] = sum;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (threadIdx.x < d) shared[threadIdx.x] += shared[threadIdx.x + d];
        __syncthreads();
    }
    float f = most / sqrtf(part[blockIdx.x % parts]);
    if (f > 1) f = 1;
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) g[i] *= f;
}
