// What CUDA C++ itself turns into PTX: calls, tables, initialisers, memory spaces.
#include <cassert>
#include <cstdio>

struct Node {
    int value;
    const Node* next;
    const char* name;
    float weight;
    double scale;
    unsigned char flags[3];
};

__device__ int counter = 42;
__device__ int cells[4][8] = {{1, 2, 3}, {4}};
__device__ float halves[3] = {0.5f, -1.25f, 3e10f};
__device__ double thirds[2] = {1.0 / 3.0, -2.0 / 3.0};
__device__ int* into_cells = &cells[1][2];
__device__ const Node tail = {2, nullptr, "tail", 2.5f, 1e-300, {7, 8, 9}};
__device__ const Node head = {1, &tail, "head", 1.5f, 1e300, {1, 2, 3}};
__managed__ float managed_cells[16] = {1.0f};
__constant__ int table[256] = {3, 1, 4, 1, 5};
__constant__ long long negative[3] = {-1, -2, -9223372036854775807LL};

using Operation = float (*)(float, float);
__device__ __noinline__ float plus(float a, float b) { return a + b; }
__device__ __noinline__ float times(float a, float b) { return a * b; }
__device__ __noinline__ float power(float a, float b) { return b < 1.0f ? 1.0f : a * power(a, b - 1.0f); }
__constant__ Operation operations[3] = {plus, times, power};
__device__ Operation chosen = times;

extern "C" __global__ void through_table(float* x, int which, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = operations[which](x[i], 2.0f) + chosen(x[i], 3.0f);
}

__device__ __noinline__ unsigned long long factorial(unsigned n) { return n < 2 ? 1 : n * factorial(n - 1); }

__device__ __noinline__ Node make_node(Node from, int value) {
    from.value = value;
    return from;
}

extern "C" __global__ void structures(Node* out, const Node* in, Node by_value) {
    out[threadIdx.x] = make_node(in[threadIdx.x], by_value.value + tail.value);
    out[0].next = &head;
    out[1].value = *into_cells + counter + table[threadIdx.x] + (int)negative[threadIdx.x % 3];
    managed_cells[threadIdx.x] = halves[threadIdx.x % 3] + (float)thirds[threadIdx.x % 2];
    out[2].value = (int)factorial(threadIdx.x);
}

extern "C" __global__ void speaks(int n) {
    printf("thread %d of %d: %s %f %lld\n", threadIdx.x, n, "word", 1.5, 1LL << 40);
    assert(threadIdx.x < n && "too many threads");
    int* p = (int*)malloc(sizeof(int) * n);
    if (p) p[0] = n;
    free(p);
    int* q = new int[4];
    q[threadIdx.x & 3] = 1;
    delete[] q;
    if (n == 77) __trap();
    if (n == 78) __brkpt();
}

extern "C" __global__ void __launch_bounds__(256, 2) bounded(int* x) { x[threadIdx.x] = clock() + (int)clock64(); }

template <typename T, int kTile>
__global__ void transpose(T* out, const T* __restrict__ in, int n) {
    __shared__ T tile[kTile][kTile + 1];
    int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    out[x * n + y] = tile[threadIdx.x][threadIdx.y];
}
template __global__ void transpose<float, 32>(float*, const float*, int);
template __global__ void transpose<double, 16>(double*, const double*, int);
template __global__ void transpose<char, 8>(char*, const char*, int);

extern __shared__ float dynamic[];
extern "C" __global__ void local_and_shared(float* x, int n, int k) {
    float local[40];
    for (int i = 0; i < 40; ++i) local[i] = x[(i * k) % n];
    dynamic[threadIdx.x] = local[k % 40];
    __syncthreads();
    x[threadIdx.x] = dynamic[(threadIdx.x + 1) % n] + local[(k * 7) % 40];
}

extern "C" __global__ void dispatch(int* x, int n) {
    switch (x[threadIdx.x]) {
        case 0: x[1] = n * 3; break;
        case 1: x[2] = n / 3; break;
        case 2: x[3] = n % 7; break;
        case 3: x[4] = __clz(n); break;
        case 4: x[5] = __popc(n); break;
        case 5: x[6] = __brev(n); break;
        case 6: x[7] = __ffs(n); break;
        case 7: x[8] = __byte_perm(n, x[0], 0x4321); break;
        case 8: x[9] = __funnelshift_l(n, x[0], 5); break;
        case 9: x[10] = __dp4a(n, x[1], x[2]); break;
        default: x[0] = -1;
    }
}

extern "C" __global__ void numbers(double* d, float* f, long long* l, unsigned long long* u) {
    int i = threadIdx.x;
    d[i] = sin(d[i]) + exp(d[i]) + sqrt(d[i]) + fma(d[i], 2.0, 1.0) + __ddiv_rz(d[i], 3.0);
    f[i] = sinf(f[i]) + __expf(f[i]) + rsqrtf(f[i]) + __fmaf_ru(f[i], 2.0f, 1.0f) + tanhf(f[i]) + powf(f[i], f[i + 1]);
    l[i] = l[i] / l[i + 1] + __mul64hi(l[i], l[i + 2]) + (long long)d[i] + llrintf(f[i]);
    u[i] = u[i] % u[i + 1] + __umul64hi(u[i], 3) + __double_as_longlong(d[i]) + __float_as_int(f[i]);
    __int128 wide = (__int128)l[i] * u[i];
    l[i] += (long long)(wide >> 64) + (long long)wide;
}
