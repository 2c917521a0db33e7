__global__ void trilinear_backward(const float* grad, const float* points, float* cells, int size, int n) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    // your code
    // end of your code
}
