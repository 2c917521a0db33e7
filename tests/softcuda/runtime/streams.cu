// Streams, events, host functions, and (with --default-stream per-thread) a default stream of each thread.
#include <atomic>
#include <thread>
#include <vector>

#include "require.h"

__global__ void append(int* log, int* length, int what) { log[atomicAdd(length, 1)] = what; }
__global__ void wait_for(volatile int* flag) {
    while (!*flag) {
    }
}

int main() {
    int *log, *length;
    OK(cudaMallocManaged(&log, 256));
    OK(cudaMallocManaged(&length, 4));
    *length = 0;
    cudaStream_t first, second;
    cudaEvent_t begin, end;
    OK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    OK(cudaStreamCreate(&second));
    OK(cudaEventCreate(&begin));
    OK(cudaEventCreate(&end));
    OK(cudaEventRecord(begin, first));
    append<<<1, 1, 0, first>>>(log, length, 1);
    OK(cudaEventRecord(end, first));
    OK(cudaStreamWaitEvent(second, end));
    append<<<1, 1, 0, second>>>(log, length, 2);
    static std::atomic<int> called{0};
    OK(cudaLaunchHostFunc(second, [](void* data) { called += *static_cast<int*>(data) + 40; }, length));
    OK(cudaStreamAddCallback(
        second, [](cudaStream_t, cudaError_t error, void*) { called += error == cudaSuccess ? 100 : 0; }, nullptr, 0));
    OK(cudaStreamSynchronize(second));
    REQUIRE(log[0] == 1 && log[1] == 2 && called == 142);
    OK(cudaEventSynchronize(end));
    OK(cudaEventQuery(end));
    float milliseconds = -1;
    OK(cudaEventElapsedTime(&milliseconds, begin, end));
    REQUIRE(milliseconds >= 0);

    volatile int* flag;
    OK(cudaHostAlloc(reinterpret_cast<void**>(const_cast<int**>(&flag)), 4, cudaHostAllocMapped));
    *flag = 0;
    wait_for<<<1, 1, 0, first>>>(flag);
    ANSWERS(cudaErrorNotReady, cudaStreamQuery(first));
    REQUIRE(cudaGetLastError() == cudaErrorNotReady);
#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
    // The default stream of each thread goes on beside a blocking one that waits.
    wait_for<<<1, 1, 0, second>>>(flag);
    std::thread other([&] {
        int* mine;
        OK(cudaMallocAsync(&mine, 4, 0));
        OK(cudaMemsetAsync(mine, 0, 4, 0));
        OK(cudaFreeAsync(mine, 0));
        OK(cudaStreamSynchronize(0));
    });
    other.join();
    OK(cudaStreamSynchronize(0));
    ANSWERS(cudaErrorNotReady, cudaStreamQuery(second));
    cudaGetLastError();
#endif
    *flag = 1;
    OK(cudaDeviceSynchronize());
    OK(cudaStreamQuery(first));
    int least, greatest, priority;
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    REQUIRE(greatest < least);
    OK(cudaStreamDestroy(second));
    OK(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, greatest));
    OK(cudaStreamGetPriority(second, &priority));
    REQUIRE(priority == greatest);
    OK(cudaStreamDestroy(first));
    ANSWERS(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(first));
    std::puts("ok");
}
