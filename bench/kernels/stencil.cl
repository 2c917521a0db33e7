// Five points: each inner element becomes the weighted sum of itself and its neighbours; the border stays.
__kernel void stencil(__global const float* in, __global float* out, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= n || y >= n) return;
    int i = y * n + x;
    if (x == 0 || y == 0 || x == n - 1 || y == n - 1)
        out[i] = in[i];
    else
        out[i] = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}
