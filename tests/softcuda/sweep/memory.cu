// Where data lies: global, constant, managed, shared, local and the heap; how it is read and written.
#include "check.h"

__device__ int counter = 5, table[4] = {1, 2, 3, 4};
__device__ double matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
__device__ const char* words[] = {"zero", "one", "two"};
__device__ int* pointer = &table[2];
__device__ int** pointer_to_pointer = &pointer;
__constant__ int weights[6] = {9, 8, 7, 6, 5, 4};
__constant__ struct {
    char tag;
    double value;
    const int* where;
} record_in_constant = {'q', 2.5, &table[1]};
__managed__ int managed = 77;
__device__ static volatile int seen;

TEST(initial_values, 1, 32) {
    const int i = hide((int)threadIdx.x);
    SAME(counter, 5);
    SAME(table[i % 4], i % 4 + 1);
    SAME(matrix[i % 2][i % 3], i % 2 * 3 + i % 3 + 1.0);
    SAME(words[i % 3][0], "zot"[i % 3]);
    SAME(*pointer, 3);
    SAME(**pointer_to_pointer, 3);
    SAME(weights[i % 6], 9 - i % 6);
    SAME(record_in_constant.tag, 'q');
    SAME(record_in_constant.value, 2.5);
    SAME(*record_in_constant.where, 2);
    SAME(managed, 77);
    seen = i;
    CHECK(seen >= 0 && seen < 32);
}

extern __shared__ char dynamic[];

TEST(shared, 2, 64, shared = 8192) {
    __shared__ int fixed[64];
    __shared__ double doubles[8];
    int* ints = reinterpret_cast<int*>(dynamic);
    double* wide = reinterpret_cast<double*>(dynamic + 4096);
    fixed[threadIdx.x] = threadIdx.x, ints[threadIdx.x * 3] = threadIdx.x * 3, wide[threadIdx.x] = threadIdx.x * 0.5;
    if (threadIdx.x < 8) doubles[threadIdx.x] = blockIdx.x;
    __syncthreads();
    SAME(fixed[63 - threadIdx.x], 63 - (int)threadIdx.x);
    SAME(ints[189 - threadIdx.x * 3], 189 - (int)threadIdx.x * 3);
    SAME(wide[63 - threadIdx.x], (63 - threadIdx.x) * 0.5);
    SAME(doubles[threadIdx.x % 8], (double)blockIdx.x);
    unsigned size;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    SAME(size, 8192u);
    CHECK(__isShared(fixed) && __isShared(dynamic) && !__isGlobal(fixed) && __isGlobal(table) && !__isShared(table));
    CHECK(__isConstant(weights) && !__isConstant(table));
    const size_t address = __cvta_generic_to_shared(fixed);
    SAME((void*)__cvta_shared_to_generic(address), (void*)fixed);
    SAME((void*)__cvta_global_to_generic(__cvta_generic_to_global(table)), (void*)table);
    SAME((void*)__cvta_constant_to_generic(__cvta_generic_to_constant(weights)), (void*)weights);
}

TEST(large, 1, 32, shared = 65536, since = 75) {
    const unsigned at = 65536 - 32 + threadIdx.x;
    dynamic[at] = (char)threadIdx.x;
    __syncthreads();
    SAME(dynamic[65536 - 1 - threadIdx.x], 31 - (int)threadIdx.x);
}

TEST(local, 1, 64) {
    int held[40];
    char bytes[17];
    for (int i = 0; i < 40; ++i) held[i] = i * (int)threadIdx.x;
    for (int i = 0; i < 17; ++i) bytes[hide(i)] = (char)(i + threadIdx.x);
    int* any = hide(threadIdx.x) & 1 ? held : table;
    CHECK(any == held ? __isLocal(any) : __isGlobal(any));
    SAME(held[hide(17)], 17 * (int)threadIdx.x);
    SAME(bytes[hide(16)], (char)(16 + threadIdx.x));
    SAME(any[hide(1)], threadIdx.x & 1 ? (int)threadIdx.x : 2);
    SAME((void*)__cvta_local_to_generic(__cvta_generic_to_local(held)), (void*)held);
}

TEST(heap, 1, 64) {
    struct Node {
        int value;
        Node* next;
    }* head = nullptr;
    for (int i = 0; i <= (int)threadIdx.x; ++i) {
        Node* node = (Node*)malloc(sizeof(Node));
        *node = {i, head}, head = node;
    }
    int sum = 0;
    while (head) {
        Node* node = head;
        sum += node->value, head = node->next;
        free(node);
    }
    SAME(sum, (int)(threadIdx.x * (threadIdx.x + 1) / 2));
    double* d = new double(2.5);
    int* many = new int[7]{1, 2, 3};
    SAME(*d + many[2] + many[6], 5.5);
    delete d;
    delete[] many;
    free(nullptr);
}

struct Odd {
    char a;
    short b;
    int c;
    long long d;
    float e[3];
    unsigned char f : 3;
};
__device__ Odd odds[64];

TEST(structures, 1, 64) {
    const int i = threadIdx.x;
    odds[i] = {(char)i, (short)(i * 3), i * 5, (long long)i << 40, {i * 0.5f, 1, 2}, (unsigned char)(i & 7)};
    __syncthreads();
    const Odd odd = odds[63 - i];
    __syncthreads();
    SAME(odd.a, 63 - i);
    SAME(odd.b, (63 - i) * 3);
    SAME(odd.c, (63 - i) * 5);
    SAME(odd.d, (long long)(63 - i) << 40);
    SAME(odd.e[0], (63 - i) * 0.5f);
    SAME(int(odd.f), (63 - i) & 7);
    memcpy(&odds[i], &odd, sizeof odd);
    memset(&odds[i].e, 0, sizeof odd.e);
    SAME(odds[i].e[2], 0.0f);
    memcpy(&odds[i].e[1], &odds[i].c, 4);
    SAME(__float_as_int(odds[i].e[1]), (63 - i) * 5);
}

template <class Vector, class Element>
__device__ void vectors(Vector* cells, Element) {
    const unsigned i = threadIdx.x;
    Vector v;
    constexpr int n = sizeof(Vector) / sizeof(Element);
    for (int k = 0; k < n; ++k) reinterpret_cast<Element*>(&v)[k] = Element(i * 4 + k);
    __syncthreads();
    cells[i] = v;
    __syncthreads();
    const Vector other = cells[63 - i];
    for (int k = 0; k < n; ++k) SAME(reinterpret_cast<const Element*>(&other)[k], Element((63 - i) * 4 + k));
    __shared__ Vector held[64];
    __syncthreads();
    held[i] = other;
    __syncthreads();
    SAME(reinterpret_cast<const Element*>(&held[63 - i])[n - 1], Element(i * 4 + n - 1));
}

__device__ alignas(32) unsigned char room[64 * 32];

TEST(vector_types, 1, 64) {
#define VECTOR(type, element) vectors(reinterpret_cast<type*>(room), (element)0)
    VECTOR(char2, signed char);
    VECTOR(char3, signed char);
    VECTOR(uchar4, unsigned char);
    VECTOR(short2, short);
    VECTOR(ushort4, unsigned short);
    VECTOR(int2, int);
    VECTOR(int3, int);
    VECTOR(uint4, unsigned);
    VECTOR(float2, float);
    VECTOR(float3, float);
    VECTOR(float4, float);
    VECTOR(longlong2, long long);
    VECTOR(double2, double);
}

#if __CUDACC_VER_MAJOR__ >= 13
TEST(wide_vectors, 1, 64) {
    VECTOR(double4_32a, double);
    VECTOR(longlong4_32a, long long);
    VECTOR(double4_16a, double);
}
#else
TEST(wide_vectors, 1, 64) { CHECK(true); }
#endif
