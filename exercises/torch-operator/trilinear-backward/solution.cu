__global__ void trilinear_backward(const float* grad, const float* points, float* cells, int size, int n) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    // your code
    int point = thread / 8, feature = thread % 8;
    if (point >= n) return;
    int low[3];
    float part[3];
    for (int axis = 0; axis < 3; ++axis) {
        float at = points[3 * point + axis];
        low[axis] = min((int)at, size - 2);
        part[axis] = at - low[axis];
    }
    float g = grad[8 * point + feature];
    for (int corner = 0; corner < 8; ++corner) {
        float weight = 1.0f;
        int cell = 0;
        for (int axis = 0; axis < 3; ++axis) {
            int up = corner >> axis & 1;
            weight *= up ? part[axis] : 1.0f - part[axis];
            cell = cell * size + low[axis] + up;
        }
        atomicAdd(&cells[8 * cell + feature], weight * g);
    }
    // end of your code
}
