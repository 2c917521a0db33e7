// How often each byte occurs: a histogram a work-group in local memory, then added to the one in global memory.
#define BINS 256

__kernel void histogram(__global const uchar* in, __global uint* counts, int n) {
    __local uint own[BINS];
    int x = get_local_id(0);
    own[x] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_group_id(0) * BINS + x; i < n; i += get_num_groups(0) * BINS) atomic_add(&own[in[i]], 1u);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&counts[x], own[x]);
}
