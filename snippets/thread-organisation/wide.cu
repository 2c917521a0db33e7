// Indices of 32 and of 64 bits: what overflows, and what the wider ones cost.

extern "C" {

// --8<-- [start:four]
// The same three built-in variables, four ways to write the index. One thread a case.
__global__ void four_ways(const unsigned* block_idx, const unsigned* block_dim, const unsigned* thread_idx,
                          long long* out, int cases) {
    int k = threadIdx.x;
    if (k >= cases) return;
    int as_int = block_idx[k] * block_dim[k] + thread_idx[k];
    unsigned as_unsigned = block_idx[k] * block_dim[k] + thread_idx[k];
    long long too_late = block_idx[k] * block_dim[k] + thread_idx[k];
    long long in_time = (long long)block_idx[k] * block_dim[k] + thread_idx[k];
    long long ways[] = {as_int, as_unsigned, too_late, in_time};
    for (int w = 0; w < 4; ++w) out[4 * k + w] = ways[w];
}
// --8<-- [end:four]

// --8<-- [start:fill]
__global__ void fill_too_late(unsigned char* x, long long n) {
    long long i = blockIdx.x * blockDim.x + threadIdx.x;  // multiplied in 32 bits, widened too late
    if (i < n) x[i] = i % 251;
}

__global__ void fill_in_time(unsigned char* x, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = i % 251;
}
// --8<-- [end:fill]

}  // extern "C"

// --8<-- [start:cost]
template <typename Index>
__device__ void add(const int* a, const int* b, int* c, Index n) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

// A matrix in a grid of one dimension: row and column have to be divided out of the element's number.
template <typename Index>
__device__ void outer(const int* row, const int* column, int* c, Index nx, Index first, Index n) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = row[(first + i) / nx] + column[(first + i) % nx];
}

extern "C" {
__global__ void add32(const int* a, const int* b, int* c, int n) { add(a, b, c, n); }
__global__ void add64(const int* a, const int* b, int* c, long long n) { add(a, b, c, n); }
__global__ void outer32(const int* row, const int* column, int* c, int nx, int first, int n) {
    outer(row, column, c, nx, first, n);
}
__global__ void outer64(const int* row, const int* column, int* c, long long nx, long long first, long long n) {
    outer(row, column, c, nx, first, n);
}
__global__ void outer2d(const int* row, const int* column, int* c, int nx, int ny) {
    int ix = blockIdx.x * blockDim.x + threadIdx.x, iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix < nx && iy < ny) c[iy * nx + ix] = row[iy] + column[ix];
}
}  // extern "C"
// --8<-- [end:cost]
