// What may stand in device code: all of this was said to be impossible.

extern "C" {

// --8<-- [start:where]
__device__ int square(int x) { return x * x; }  // called from the device only

__host__ __device__ int add_one(int x) { return x + 1; }  // compiled twice, once for each side

__device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }  // recursion

__global__ void tour(int* out) {  // launched from the host, returns nothing
    int i = threadIdx.x;
    out[i] = add_one(square(i)) + factorial(i % 8);
}
// --8<-- [end:where]

// --8<-- [start:static]
// A static variable: one for all threads of all launches of this module.
__global__ void count_visits(int* ticket) {
    static int visits;
    ticket[blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(&visits, 1);
}
// --8<-- [end:static]

// --8<-- [start:pointer]
typedef int (*Rule)(int, int);

__device__ int smaller(int a, int b) { return a < b ? a : b; }
__device__ int larger(int a, int b) { return a < b ? b : a; }
__device__ int distance(int a, int b) { return a < b ? b - a : a - b; }

__device__ Rule rules[] = {smaller, larger, distance};  // addresses of device functions

__global__ void apply(int which, const int* a, const int* b, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = rules[which](a[i], b[i]);
}
// --8<-- [end:pointer]
}
