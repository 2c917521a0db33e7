// slow: uncoalesced
__global__ void add_bias(const float* a, const float* bias, float* out, int rows, int cols) {
    int t = threadIdx.y * 32 + threadIdx.x;
    int c = blockIdx.x * blockDim.x + t / 8;
    int r = blockIdx.y * blockDim.y + t % 8;
    if (r < rows && c < cols) out[r * cols + c] = a[r * cols + c] + bias[r];  // <-- here
}
