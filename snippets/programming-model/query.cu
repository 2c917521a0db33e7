// What a thread can find out about where it runs.

extern "C" {

// --8<-- [start:ask]
__device__ unsigned multiprocessors() {
    unsigned count;
    asm("mov.u32 %0, %%nsmid;" : "=r"(count));  // PTX's special register: an upper bound
    return count;
}

__global__ void ask(unsigned* answers) {
    if (blockIdx.x || threadIdx.x) return;
    answers[0] = warpSize;
    answers[1] = gridDim.x * blockDim.x;
    answers[2] = multiprocessors();
    answers[3] = __CUDA_ARCH__ / 10;
}
// --8<-- [end:ask]
}
