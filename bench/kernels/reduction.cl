// Sums of work-groups: a grid-stride loop, then a tree in local memory.
#define THREADS 256

__kernel void reduction(__global const float* in, __global float* sums, int n) {
    __local float partial[THREADS];
    int x = get_local_id(0);
    float sum = 0;
    for (int i = get_group_id(0) * THREADS + x; i < n; i += get_num_groups(0) * THREADS) sum += in[i];
    partial[x] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_ = THREADS / 2; half_ > 0; half_ /= 2) {
        if (x < half_) partial[x] += partial[x + half_];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (x == 0) sums[get_group_id(0)] = partial[0];
}
