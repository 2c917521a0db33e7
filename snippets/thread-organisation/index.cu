// Which thread am I? Every thread works out its number from the built-in variables and signs the place of that number.

// clang-format off: short lines read better beside the formula
// --8<-- [start:number]
__device__ unsigned thread_in_block() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

__device__ unsigned block_in_grid() {
    return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

__device__ unsigned number() {
    return block_in_grid() * (blockDim.x * blockDim.y * blockDim.z) + thread_in_block();
}
// --8<-- [end:number]
// clang-format on

extern "C" {

// --8<-- [start:sign]
constexpr int WORDS = 7;  // block x, y, z, thread x, y, z, lane

__global__ void sign(int* visits, int* signatures) {
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));  // the hardware's own word for it
    const unsigned id = number();
    const unsigned words[WORDS] = {blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, lane};
    atomicAdd(&visits[id], 1);
    for (int k = 0; k < WORDS; ++k) signatures[WORDS * id + k] = words[k];
}
// --8<-- [end:sign]

}  // extern "C"
