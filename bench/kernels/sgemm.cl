// C = A B, square, one work-item an element, tiles of A and B in local memory.
#define TILE 16

__kernel void sgemm(__global const float* a, __global const float* b, __global float* c, int n) {
    __local float as[TILE][TILE], bs[TILE][TILE];
    int x = get_local_id(0), y = get_local_id(1);
    int row = get_group_id(1) * TILE + y, column = get_group_id(0) * TILE + x;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        as[y][x] = a[row * n + k + x];
        bs[y][x] = b[(k + y) * n + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < TILE; ++i) sum += as[y][i] * bs[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + column] = sum;
}
