// slow: barriers
__global__ void partition(const float* x, float* y, int* positive, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    float v = i < n ? x[i] : 0.0f;
    __shared__ unsigned votes[8];
    if (lane == 0) votes[threadIdx.x / 32] = 0;
    __syncthreads();  // <-- here
    if (v > 0.0f) atomicOr(&votes[threadIdx.x / 32], 1u << lane);
    __syncthreads();
    unsigned ups = votes[threadIdx.x / 32];
    unsigned before = (1u << lane) - 1;
    int place = v > 0.0f ? __popc(ups & before) : __popc(ups) + __popc(~ups & before);
    if (i < n) y[i - lane + place] = v;
    if (lane == 0 && i < n) positive[i / 32] = __popc(ups);
}
