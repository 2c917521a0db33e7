// Kernels of the usual kinds: shared memory, shuffles and atomics, templates and classes, and what can be asked of them.
#include <cstring>
#include <numeric>
#include <vector>

#include "require.h"

__global__ void transpose(float* out, const float* in, int size) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * size + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) out[(y + j) * size + x] = tile[threadIdx.x][threadIdx.y + j];
}

__global__ void sum(const int* in, int count, int* total) {
    int value = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) value += in[i];
    for (int offset = 16; offset; offset /= 2) value += __shfl_down_sync(~0u, value, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(total, value);
}

struct Line {
    float slope, offset;
    __host__ __device__ float operator()(float x) const { return slope * x + offset; }
};

struct Negated {
    __device__ float operator()(float x) const { return -x; }
};

template <class Function, int Unroll>
__global__ void map(float* data, Function function) {
#pragma unroll
    for (int i = 0; i < Unroll; ++i) data[threadIdx.x * Unroll + i] = function(data[threadIdx.x * Unroll + i]);
}

__global__ void reverse(int* data) {
    extern __shared__ int block_data[];
    block_data[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = block_data[blockDim.x - 1 - threadIdx.x];
}

__global__ void __launch_bounds__(128) bounded(int* out) { *out = blockDim.x; }

int main() {
    const int size = 64;
    std::vector<float> host(size * size), back(host.size());
    std::iota(host.begin(), host.end(), 0.f);
    float *in, *out;
    OK(cudaMalloc(&in, host.size() * 4));
    OK(cudaMalloc(&out, host.size() * 4));
    OK(cudaMemcpy(in, host.data(), host.size() * 4, cudaMemcpyHostToDevice));
    transpose<<<dim3(2, 2), dim3(32, 8)>>>(out, in, size);
    OK(cudaMemcpy(back.data(), out, host.size() * 4, cudaMemcpyDeviceToHost));
    for (int i = 0; i < size * size; ++i) REQUIRE(back[i] == host[i % size * size + i / size]);

    int *numbers, *total;
    OK(cudaMallocManaged(&numbers, 4000));
    OK(cudaMallocManaged(&total, 4));
    std::iota(numbers, numbers + 1000, 1);
    *total = 0;
    sum<<<2, 128>>>(numbers, 1000, total);
    OK(cudaDeviceSynchronize());
    REQUIRE(*total == 500500);

    map<Line, 4><<<1, 32>>>(in, Line{2, 1});
    map<Negated, 4><<<1, 32>>>(in, Negated{});
    OK(cudaMemcpy(back.data(), in, 512, cudaMemcpyDeviceToHost));
    REQUIRE(back[127] == -255);

    std::iota(numbers, numbers + 1000, 0);
    void* arguments[] = {&numbers};
    OK(cudaLaunchKernel(reverse, dim3(1), dim3(256), arguments, 1024, nullptr));
    OK(cudaDeviceSynchronize());
    REQUIRE(numbers[0] == 255 && numbers[255] == 0);

    cudaFuncAttributes is;
    OK(cudaFuncGetAttributes(&is, transpose));
    REQUIRE(is.sharedSizeBytes == 32 * 33 * 4 && is.numRegs > 8 && is.maxThreadsPerBlock == 1024);
    OK(cudaFuncGetAttributes(&is, bounded));
    REQUIRE(is.maxThreadsPerBlock == 128);
    int blocks = 0, grid = 0, block = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, transpose, 256, 0));
    REQUIRE(blocks > 0);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, sum));
    REQUIRE(block >= 128 && grid > 0);

    cudaDeviceProp device;
    OK(cudaGetDeviceProperties(&device, 0));
    const int opted_in = int(device.sharedMemPerBlockOptin);
    reverse<<<1, 256, 60000>>>(numbers);
    REQUIRE(cudaGetLastError() == cudaErrorInvalidValue);
    if (opted_in >= 60000) {
        OK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
        reverse<<<1, 256, 60000>>>(numbers);
        OK(cudaDeviceSynchronize());
        REQUIRE(numbers[0] == 0);
    }
    ANSWERS(cudaErrorInvalidValue,
            cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, opted_in + 1));
    std::puts("ok");
}
