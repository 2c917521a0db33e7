// slow: uncoalesced
__global__ void reverse(const float* windows, float* map, int h, int w, int m, int shift, int c) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= h * w * c) return;
    int pixel = i % (h * w), channel = i / (h * w);
    int y = (pixel / w + h - shift) % h, x = (pixel % w + w - shift) % w;
    int window = y / m * (w / m) + x / m, token = y % m * m + x % m;
    map[pixel * c + channel] = windows[(window * m * m + token) * c + channel];  // <-- here
}
