// slow: barriers
__global__ void where_largest(const int* data, int* where, int n) {
    __shared__ int values[256], places[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    values[t] = i < n ? data[i] : INT_MIN, places[t] = i < n ? i : INT_MAX;
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (t < s && (values[t + s] > values[t] || (values[t + s] == values[t] && places[t + s] < places[t])))
            values[t] = values[t + s], places[t] = places[t + s];
        __syncthreads();  // <-- here
    }
    if (t == 0) where[blockIdx.x] = places[0];
}
