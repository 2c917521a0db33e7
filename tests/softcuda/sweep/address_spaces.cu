// Which state space an address lies in, addresses from one space to another, and 128-bit and 16-bit exchanges.
#include "check.h"

struct Parameter {
    int number, more[3];
};

__device__ int in_global;
__constant__ int in_constant = 5;

TEST_TAKING(predicates, 1, 32, args = "4i" : 7, 8, 9, 10)(const __grid_constant__ Parameter parameter) {
    __shared__ int in_shared;
    int in_local = hide(3);
    const void *global = hide(&in_global), *shared = hide(&in_shared), *local = hide(&in_local),
               *constant = hide(&in_constant);
    CHECK(__isGlobal(global) && !__isGlobal(shared) && !__isGlobal(local));
    CHECK(!__isShared(global) && __isShared(shared) && !__isShared(local));
    CHECK(!__isLocal(global) && !__isLocal(shared) && __isLocal(local));
    CHECK(__isConstant(constant) && !__isConstant(shared) && !__isConstant(local));
#if __CUDA_ARCH__ >= 700
    const void* given = hide(&parameter);
    CHECK(__isGridConstant(given) && !__isGridConstant(shared) && !__isGridConstant(local));
    SAME(*(const int*)__cvta_grid_constant_to_generic(__cvta_generic_to_grid_constant(given)), 7);
#endif
#if __CUDA_ARCH__ >= 900
    CHECK(__isClusterShared(shared) && !__isClusterShared(global) && !__isClusterShared(local));
    CHECK(__cluster_query_shared_rank(shared) == 0);
#endif
    SAME(((const Parameter*)hide(&parameter))->more[2], 10);
}

TEST(conversions, 1, 32) {
    __shared__ int in_shared[32];
    int in_local[4] = {hide(3), 4, 5, 6};
    in_shared[threadIdx.x] = threadIdx.x;
    int* shared = hide(&in_shared[threadIdx.x]);
    SAME(*(int*)__cvta_shared_to_generic(__cvta_generic_to_shared(shared)), (int)threadIdx.x);
    int* local = hide(&in_local[2]);
    SAME(*(int*)__cvta_local_to_generic(__cvta_generic_to_local(local)), 5);
    const int* constant = hide((const int*)&in_constant);
    SAME(*(const int*)__cvta_constant_to_generic(__cvta_generic_to_constant(constant)), 5);
    int* global = hide(&in_global);
    SAME((int*)__cvta_global_to_generic(__cvta_generic_to_global(global)), &in_global);
}

__device__ alignas(16) unsigned short words[8];

TEST(words_of_sixteen_bits, 1, 32) {
    unsigned short old = words[1];
    while (true) {
        const unsigned short seen = atomicCAS(&words[1], old, (unsigned short)(old + 3));
        if (seen == old) break;
        old = seen;
    }
    __syncwarp();
    SAME(words[1], (unsigned short)96);
    SAME(words[0] + words[2], 0);
    __syncwarp();
    if (threadIdx.x == 0) words[1] = 0;
}

__device__ unsigned __int128 wide;

TEST(quads, 1, 1, since = 90) {
#if __CUDA_ARCH__ >= 900
    const unsigned __int128 first = (unsigned __int128)hide(5ull) << 64 | 7, second = first + 1;
    wide = first;
    SAME(atomicCAS(&wide, first, second), first);
    SAME(atomicCAS_block(&wide, first, first), second);
    SAME(atomicExch_system(&wide, first), second);
    SAME(atomicExch_block(&wide, second), first);
    SAME(atomicCAS_system(&wide, second, first), second);
    SAME(atomicExch(&wide, second), first);
    __shared__ unsigned __int128 own;
    own = first;
    SAME(atomicCAS(&own, first, second), first);
    SAME(atomicExch(&own, first), second);
#endif
}
