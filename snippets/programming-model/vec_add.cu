// c = a + b on 32-bit integers: a thread for each element, a grid that strides, and one that takes four at a time.

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

// --8<-- [start:wide]
// Four elements a load: 32 bytes of input in flight in each thread instead of 8.
__global__ void add_wide(const int* a, const int* b, int* c, long long n) {
    long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x, step = (long long)gridDim.x * blockDim.x;
    for (long long i = first; i < n / 4; i += step) {
        int4 p = ((const int4*)a)[i], q = ((const int4*)b)[i];
        ((int4*)c)[i] = make_int4(p.x + q.x, p.y + q.y, p.z + q.z, p.w + q.w);
    }
    long long rest = n / 4 * 4 + first;  // the last one to three
    if (rest < n) c[rest] = a[rest] + b[rest];
}
// --8<-- [end:wide]
}
