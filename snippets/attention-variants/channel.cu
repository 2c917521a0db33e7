// Attention without queries: a weight for each channel (squeeze and excitation), or for each number (SimAM).
// x is images × channels × size numbers; a plane is one channel of one image. BLOCK threads a plane or image.
#ifndef BLOCK
#define BLOCK 256
#endif

using Index = long long;

// --8<-- [start:sum]
__device__ float block_sum(float v) {  // every thread gets it
    __shared__ float of_warp[BLOCK / 32];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    __syncthreads();  // of_warp may still be read from the last call
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = of_warp[0];
    for (int w = 1; w < BLOCK / 32; ++w) v += of_warp[w];
    return v;
}
// --8<-- [end:sum]

__device__ float sigmoid(float v) { return 1 / (1 + expf(-v)); }

extern "C" {

// --8<-- [start:se]
__global__ void se_squeeze(const float* x, float* mean, int size) {
    const float* plane = x + (Index)blockIdx.x * size;
    float sum = 0;
    for (int i = threadIdx.x; i < size; i += BLOCK) sum += plane[i];
    sum = block_sum(sum);
    if (threadIdx.x == 0) mean[blockIdx.x] = sum / size;
}

// gate = sigmoid(up · relu(down · mean)): down is fewer × channels, up channels × fewer.
__global__ void se_excite(const float* mean, const float* down, const float* up, float* gate, int channels, int fewer) {
    extern __shared__ float hidden[];
    const float* of_image = mean + (Index)blockIdx.x * channels;
    for (int h = threadIdx.x; h < fewer; h += BLOCK) {
        float sum = 0;
        for (int c = 0; c < channels; ++c) sum += down[(Index)h * channels + c] * of_image[c];
        hidden[h] = fmaxf(sum, 0);
    }
    __syncthreads();
    for (int c = threadIdx.x; c < channels; c += BLOCK) {
        float sum = 0;
        for (int h = 0; h < fewer; ++h) sum += up[(Index)c * fewer + h] * hidden[h];
        gate[(Index)blockIdx.x * channels + c] = sigmoid(sum);
    }
}

__global__ void se_scale(const float* x, const float* gate, float* y, int size) {
    float factor = gate[blockIdx.x];
    Index from = (Index)blockIdx.x * size;
    for (int i = threadIdx.x; i < size; i += BLOCK) y[from + i] = factor * x[from + i];
}
// --8<-- [end:se]

// --8<-- [start:simam]
__global__ void simam(const float* x, float* y, int size, float lambda) {
    Index from = (Index)blockIdx.x * size;
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < size; i += BLOCK) sum += x[from + i];
    float mean = block_sum(sum) / size;
    for (int i = threadIdx.x; i < size; i += BLOCK) squares += (x[from + i] - mean) * (x[from + i] - mean);
    float spread = 4 * (block_sum(squares) / (size - 1) + lambda);
    for (int i = threadIdx.x; i < size; i += BLOCK) {
        float t = x[from + i], away = t - mean;
        y[from + i] = t * sigmoid(away * away / spread + 0.5f);  // 1 / energy
    }
}
// --8<-- [end:simam]

}  // extern "C"
