// Every kind of memory and of copy.
#include <cstring>
#include <numeric>
#include <vector>

#include "require.h"

__device__ int counter = 5;
__device__ float table[4];
__constant__ float scale;
__managed__ int shared_number = 40;

__global__ void use_symbols(float* out) {
    out[threadIdx.x] = scale * table[threadIdx.x];
    if (!threadIdx.x) {
        counter += 1;
        shared_number += 2;
    }
}

__global__ void add_one(int* data, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) data[i] += 1;
}

static void flat() {
    std::vector<int> host(1000);
    std::iota(host.begin(), host.end(), 0);
    const size_t bytes = host.size() * sizeof(int);
    int *device = nullptr, *other = nullptr;
    OK(cudaMalloc(&device, bytes));
    OK(cudaMalloc(&other, bytes));
    OK(cudaMemcpy(device, host.data(), bytes, cudaMemcpyHostToDevice));
    add_one<<<4, 256>>>(device, 1000);
    OK(cudaMemcpy(other, device, bytes, cudaMemcpyDeviceToDevice));
    std::vector<int> back(1000);
    OK(cudaMemcpy(back.data(), other, bytes, cudaMemcpyDefault));
    REQUIRE(back[0] == 1 && back[999] == 1000);
    OK(cudaMemcpy(back.data(), host.data(), bytes, cudaMemcpyHostToHost));
    REQUIRE(back[999] == 999);
    OK(cudaMemset(device, 1, bytes));
    OK(cudaMemcpyAsync(back.data(), device, bytes, cudaMemcpyDeviceToHost, 0));
    OK(cudaStreamSynchronize(0));
    REQUIRE(back[999] == 0x01010101);
    ANSWERS(cudaErrorInvalidValue, cudaMemcpy(device, host.data(), bytes, cudaMemcpyDeviceToHost));  // the wrong way
    ANSWERS(cudaErrorInvalidValue, cudaMemcpy(device, host.data(), bytes + 4, cudaMemcpyHostToDevice));
    ANSWERS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, host.data(), 4, cudaMemcpyKind(7)));
    OK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
    OK(cudaFree(device));
    OK(cudaFree(other));
    OK(cudaFree(nullptr));
    int* nothing = device;
    OK(cudaMalloc(&nothing, 0));
    REQUIRE(!nothing);
    ANSWERS(cudaErrorInvalidValue, cudaFree(host.data()));
    size_t free = 0, total = 0;
    OK(cudaMemGetInfo(&free, &total));
    REQUIRE(free && free <= total);
    ANSWERS(cudaErrorMemoryAllocation, cudaMalloc(&nothing, size_t(1) << 50));
    REQUIRE(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
}

static void shaped() {
    const size_t width = 10, height = 5, depth = 3;
    std::vector<char> host(width * height * depth), back(host.size());
    std::iota(host.begin(), host.end(), 0);
    char* rows = nullptr;
    size_t pitch = 0;
    OK(cudaMallocPitch(&rows, &pitch, width, height));
    REQUIRE(pitch >= width && pitch % 32 == 0);
    OK(cudaMemcpy2D(rows, pitch, host.data(), width, width, height, cudaMemcpyHostToDevice));
    OK(cudaMemset2D(rows + 2 * pitch, pitch, 9, 3, 1));
    OK(cudaMemcpy2D(back.data(), width, rows, pitch, width, height, cudaMemcpyDeviceToHost));
    REQUIRE(back[19] == 19 && back[20] == 9 && back[22] == 9 && back[23] == 23 && back[49] == 49);
    ANSWERS(cudaErrorInvalidPitchValue,
            cudaMemcpy2D(rows, 4, host.data(), width, width, height, cudaMemcpyHostToDevice));
    OK(cudaFree(rows));

    cudaPitchedPtr box;
    OK(cudaMalloc3D(&box, make_cudaExtent(width, height, depth)));
    OK(cudaMemset3D(box, 3, make_cudaExtent(width, height, depth)));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(host.data(), width, width, height);
    copy.dstPtr = box;
    copy.dstPos = make_cudaPos(0, 0, 1);
    copy.extent = make_cudaExtent(width, height, depth - 1);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    cudaMemcpy3DParms out = {};
    out.srcPtr = box;
    out.dstPtr = make_cudaPitchedPtr(back.data(), width, width, height);
    out.extent = make_cudaExtent(width, height, depth);
    out.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&out));
    REQUIRE(back[0] == 3 && back[49] == 3 && back[50] == 0 && back[149] == 99);
    OK(cudaFree(box.ptr));

    cudaArray_t array;
    const cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
    std::vector<float> grid(64), grid_back(64);
    std::iota(grid.begin(), grid.end(), 0.f);
    OK(cudaMallocArray(&array, &floats, 8, 8));
    OK(cudaMemcpy2DToArray(array, 0, 0, grid.data(), 32, 32, 8, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArray(grid_back.data(), 32, array, 0, 0, 32, 8, cudaMemcpyDeviceToHost));
    REQUIRE(grid == grid_back);
    cudaExtent extent;
    cudaChannelFormatDesc channels;
    OK(cudaArrayGetInfo(&channels, &extent, nullptr, array));
    REQUIRE(channels.x == 32 && channels.y == 0 && channels.f == cudaChannelFormatKindFloat);
    REQUIRE(extent.width == 8 && extent.height == 8 && extent.depth == 0);
    OK(cudaFreeArray(array));
}

static void symbols() {
    const float two = 2, numbers[4] = {1, 2, 3, 4};
    float *out = nullptr, back[4];
    REQUIRE(shared_number == 40);  // before any kernel has run
    OK(cudaMalloc(&out, sizeof back));
    OK(cudaMemcpyToSymbol(scale, &two, sizeof two));
    OK(cudaMemcpyToSymbol(table, numbers, sizeof numbers));
    OK(cudaMemcpyToSymbol(table, &two, sizeof two, 3 * sizeof two));
    use_symbols<<<1, 4>>>(out);
    OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
    REQUIRE(back[0] == 2 && back[2] == 6 && back[3] == 4);
    int count = 0;
    OK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    REQUIRE(count == 6 && shared_number == 42);
    void* address = nullptr;
    size_t bytes = 0;
    OK(cudaGetSymbolAddress(&address, table));
    OK(cudaGetSymbolSize(&bytes, table));
    REQUIRE(bytes == 16);
    OK(cudaMemcpy(back, address, 16, cudaMemcpyDeviceToHost));
    REQUIRE(back[1] == 2);
    ANSWERS(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, numbers, 16, 4));
    ANSWERS(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(back, numbers, 16));
    OK(cudaFree(out));
}

static void host_memory() {
    int *pinned = nullptr, *managed = nullptr, *mapped = nullptr;
    OK(cudaMallocHost(&pinned, 4096));
    OK(cudaHostGetDevicePointer(&mapped, pinned, 0));
    OK(cudaMallocManaged(&managed, 4096));
    std::vector<int> registered(1024, 5);
    OK(cudaHostRegister(registered.data(), 4096, cudaHostRegisterMapped));
    for (int i = 0; i < 1024; ++i) pinned[i] = managed[i] = i;
    add_one<<<4, 256>>>(mapped, 1024);
    add_one<<<4, 256>>>(managed, 1024);
    add_one<<<4, 256>>>(registered.data(), 1024);
    OK(cudaDeviceSynchronize());
    REQUIRE(pinned[1023] == 1024 && managed[1023] == 1024 && registered[0] == 6);
    int device = 0;
    OK(cudaGetDevice(&device));
    OK(cudaMemPrefetchAsync(managed, 4096, {cudaMemLocationTypeDevice, device}, 0));
    OK(cudaMemAdvise(managed, 4096, cudaMemAdviseSetReadMostly, {cudaMemLocationTypeDevice, device}));

    cudaPointerAttributes is;
    int on_stack = 0;
    OK(cudaPointerGetAttributes(&is, pinned + 1));
    REQUIRE(is.type == cudaMemoryTypeHost && is.devicePointer == pinned + 1 && is.hostPointer == pinned + 1);
    OK(cudaPointerGetAttributes(&is, managed));
    REQUIRE(is.type == cudaMemoryTypeManaged && is.device == 0);
    OK(cudaPointerGetAttributes(&is, &on_stack));
    REQUIRE(is.type == cudaMemoryTypeUnregistered && !is.devicePointer);
    OK(cudaHostUnregister(registered.data()));
    OK(cudaFreeHost(pinned));
    OK(cudaFree(managed));
}

static void pools() {
    cudaStream_t stream;
    cudaMemPool_t pool;
    OK(cudaStreamCreate(&stream));
    int *memory = nullptr, back = 0;
    OK(cudaMallocAsync(&memory, 4096, stream));
    OK(cudaMemsetAsync(memory, 0, 4096, stream));
    add_one<<<4, 256, 0, stream>>>(memory, 1024);
    OK(cudaMemcpyAsync(&back, memory + 1023, 4, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(memory, stream));
    OK(cudaStreamSynchronize(stream));
    REQUIRE(back == 1);
    unsigned long long threshold = 1 << 20, got = 0;
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &got));
    REQUIRE(got == threshold);
    cudaMemPoolProps wanted = {};
    wanted.allocType = cudaMemAllocationTypePinned;
    wanted.location = {cudaMemLocationTypeDevice, 0};
    OK(cudaMemPoolCreate(&pool, &wanted));
    OK(cudaMallocFromPoolAsync(&memory, 256, pool, stream));
    OK(cudaFreeAsync(memory, stream));
    OK(cudaStreamDestroy(stream));
    OK(cudaMemPoolDestroy(pool));
}

int main() {
    flat();
    shaped();
    symbols();
    host_memory();
    pools();
    OK(cudaDeviceReset());
    int count = 0;
    OK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    REQUIRE(count == 5);  // loaded anew
    std::puts("ok");
}
