// wrong: race-one-instruction
__global__ void partition(const float* x, float* y, int* positive, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    float v = i < n ? x[i] : 0.0f;
    unsigned ups = __ballot_sync(0xffffffff, v > 0.0f);
    unsigned before = (1u << lane) - 1;
    int place = v > 0.0f ? __popc(ups & before) : __popc(~ups & before);
    if (i < n) y[i - lane + place] = v;  // <-- here
    if (lane == 0 && i < n) positive[i / 32] = __popc(ups);
}
