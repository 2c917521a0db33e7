__device__ int factor = 2;
__device__ int scaled(int x) { return x * factor; }
