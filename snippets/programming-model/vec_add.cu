// c = a + b on 32-bit integers, twice: a thread for each element, and a grid that strides.

extern "C" {

// --8<-- [start:each]
// One thread, one element. The grid must have at least n threads.
__global__ void add_each(const int* a, const int* b, int* c, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
// --8<-- [end:each]

// --8<-- [start:stride]
// Grid-stride loop: right for every grid, even <<<1, 1>>>.
__global__ void add_stride(const int* a, const int* b, int* c, long long n) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) c[i] = a[i] + b[i];
}
// --8<-- [end:stride]

// --8<-- [start:narrow]
// The same with the index that most tutorials write.
__global__ void add_narrow(const int* a, const int* b, int* c, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}
// --8<-- [end:narrow]
}
