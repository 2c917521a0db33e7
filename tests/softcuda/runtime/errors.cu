// What is reported, by which call, and for how long.
#include <cstring>
#include <thread>

#include "require.h"

__global__ void write(int* where) { *where = 1; }
__global__ void nothing() {}

int main() {
    REQUIRE(!std::strcmp(cudaGetErrorName(cudaErrorInvalidConfiguration), "cudaErrorInvalidConfiguration"));
    REQUIRE(!std::strcmp(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument"));
    REQUIRE(!std::strcmp(cudaGetErrorString(cudaErrorIllegalAddress), "an illegal memory access was encountered"));
    for (const dim3 block : {dim3(2048), dim3(0), dim3(1, 1, 65)}) {
        nothing<<<1, block>>>();
        REQUIRE(cudaPeekAtLastError() == cudaErrorInvalidConfiguration);
        REQUIRE(cudaGetLastError() == cudaErrorInvalidConfiguration);
        REQUIRE(cudaGetLastError() == cudaSuccess);
    }
    nothing<<<0, 1>>>();
    REQUIRE(cudaGetLastError() == cudaErrorInvalidConfiguration);
    nothing<<<1, 1>>>();
    OK(cudaDeviceSynchronize());
    ANSWERS(cudaErrorInvalidDevice, cudaSetDevice(99));
    ANSWERS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(reinterpret_cast<void*>(main), 1, 1, nullptr, 0, nullptr));
    std::thread([] { REQUIRE(cudaGetLastError() == cudaSuccess); }).join();  // each thread has its own
    REQUIRE(cudaGetLastError() == cudaErrorInvalidDeviceFunction);

    write<<<1, 1>>>(nullptr);
    OK(cudaPeekAtLastError());
    ANSWERS(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    void* memory;
    ANSWERS(cudaErrorIllegalAddress, cudaMalloc(&memory, 4));
    REQUIRE(cudaGetLastError() == cudaErrorIllegalAddress);
    REQUIRE(cudaGetLastError() == cudaErrorIllegalAddress);  // it stays
    nothing<<<1, 1>>>();
    REQUIRE(cudaGetLastError() == cudaErrorIllegalAddress);
    std::puts("ok");
}
