// Two devices.
#include <cstring>

#include "require.h"

__device__ int number = 1;
__global__ void set_number(int value) { number = value; }
__global__ void copy(int* out, const int* in) { *out = *in; }

int main() {
    int count = 0, can = 0, device = -1, value = 0;
    OK(cudaGetDeviceCount(&count));
    REQUIRE(count == 2);
    for (int each = 0; each < count; ++each) {
        cudaDeviceProp is;
        int multiprocessors = 0;
        OK(cudaGetDeviceProperties(&is, each));
        OK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, each));
        REQUIRE(is.multiProcessorCount == multiprocessors && is.warpSize == 32 && std::strstr(is.name, "softcuda"));
        REQUIRE(is.maxThreadsPerBlock == 1024 && is.maxThreadsDim[2] == 64 && is.totalConstMem == 65536);
        OK(cudaSetDevice(each));
        set_number<<<1, 1>>>(10 + each);
    }
    for (int each = 0; each < count; ++each) {  // each device has its own
        OK(cudaSetDevice(each));
        OK(cudaGetDevice(&device));
        REQUIRE(device == each);
        OK(cudaMemcpyFromSymbol(&value, number, 4));
        REQUIRE(value == 10 + each);
    }
    int *here, *there;
    OK(cudaMalloc(&there, 4));
    OK(cudaMemset(there, 0, 4));
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&here, 4));
    value = 77;
    OK(cudaMemcpy(here, &value, 4, cudaMemcpyHostToDevice));
    OK(cudaMemcpyPeer(there, 1, here, 0, 4));
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    REQUIRE(can);
    OK(cudaDeviceEnablePeerAccess(1, 0));
    ANSWERS(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
    OK(cudaMemset(here, 0, 4));
    copy<<<1, 1>>>(here, there);
    OK(cudaMemcpy(&value, here, 4, cudaMemcpyDeviceToHost));
    REQUIRE(value == 77);
    cudaPointerAttributes is;
    OK(cudaPointerGetAttributes(&is, there));
    REQUIRE(is.type == cudaMemoryTypeDevice && is.device == 1);
    int driver = 0, runtime = 0;
    OK(cudaDriverGetVersion(&driver));
    OK(cudaRuntimeGetVersion(&runtime));
    REQUIRE(runtime == CUDART_VERSION && driver >= runtime);
    std::puts("ok");
}
