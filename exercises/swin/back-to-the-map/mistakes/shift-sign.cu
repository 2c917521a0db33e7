// wrong: shift-sign
__global__ void reverse(const float* windows, float* map, int h, int w, int m, int shift, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= h * w * c) return;
    int y = (i / c / w + shift) % h, x = (i / c % w + shift) % w;
    int window = y / m * (w / m) + x / m, token = y % m * m + x % m;
    map[i] = windows[(window * m * m + token) * c + i % c];  // <-- here
}
