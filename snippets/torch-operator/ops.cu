// The kernels of three operators, for float or double (-DREAL=double). Three builds use this file as it is.
#ifndef REAL
#define REAL float
#endif
typedef REAL real;

// --8<-- [start:gelu]
__device__ real gelu_of(real v) {
    real inner = real(0.7978845608028654) * (v + real(0.044715) * (v * v * v));
    return real(0.5) * (v * (tanh(inner) + real(1)));
}

extern "C" __global__ void gelu_single(const real* x, real* y, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i < n) y[i] = gelu_of(x[i]);
}
// --8<-- [end:gelu]

// --8<-- [start:gelu_packed]
struct alignas(16) Pack {
    real v[16 / sizeof(real)];
};

// A thread takes 16 bytes, in one load if x and y begin at multiples of 16 bytes.
extern "C" __global__ void gelu(const real* x, real* y, long long n) {
    const int many = 16 / sizeof(real);
    long long first = (blockIdx.x * (long long)blockDim.x + threadIdx.x) * many;
    bool aligned = ((size_t)x | (size_t)y) % 16 == 0;
    if (aligned && first + many <= n) {
        Pack pack = *(const Pack*)(x + first);
        for (int k = 0; k < many; k++) pack.v[k] = gelu_of(pack.v[k]);
        *(Pack*)(y + first) = pack;
    } else {
        for (long long i = first; i < first + many && i < n; i++) y[i] = gelu_of(x[i]);
    }
}
// --8<-- [end:gelu_packed]

// --8<-- [start:corners]
// Splits a coordinate into the cell it lies in and the fraction along that cell. The cell always has two corners.
__device__ real locate(real coordinate, long long corners, long long& cell) {
    cell = (long long)fmin(fmax(floor(coordinate), real(0)), real(corners - 2));  // of NaN: 0
    return coordinate - real(cell);
}

// The eight corners of a point's cell: weight of each, and where its first channel is.
struct Corners {
    long long first, along[3];  // elements from a corner to its neighbours along x, y, z
    real u[3];                  // fractions along x, y, z

    __device__ Corners(const real* point, long long depth, long long height, long long width, long long channels) {
        long long x, y, z;
        u[0] = locate(point[0], width, x);
        u[1] = locate(point[1], height, y);
        u[2] = locate(point[2], depth, z);
        along[0] = channels, along[1] = width * channels, along[2] = height * along[1];
        first = x * along[0] + y * along[1] + z * along[2];
    }
    // Bits 0, 1 and 2 of `corner` say which end of the cell along x, y and z.
    __device__ long long at(int corner) const {
        return first + (corner & 1) * along[0] + (corner >> 1 & 1) * along[1] + (corner >> 2) * along[2];
    }
    __device__ real factor(int corner, int axis) const { return corner >> axis & 1 ? u[axis] : real(1) - u[axis]; }
};
// --8<-- [end:corners]

// --8<-- [start:trilinear]
// A row of blockDim.x lanes takes one point and all its channels; grid is [depth, height, width, channels].
extern "C" __global__ void trilinear(const real* grid, const real* points, real* out, long long count, long long depth,
                                     long long height, long long width, long long channels) {
    long long p = blockIdx.x * (long long)blockDim.y + threadIdx.y;
    if (p >= count) return;
    Corners cell(points + 3 * p, depth, height, width, channels);
    for (long long c = threadIdx.x; c < channels; c += blockDim.x) {
        real sum = 0;
        for (int i = 0; i < 8; i++)
            sum += cell.factor(i, 0) * cell.factor(i, 1) * cell.factor(i, 2) * grid[cell.at(i) + c];
        out[p * channels + c] = sum;
    }
}
// --8<-- [end:trilinear]

// --8<-- [start:trilinear_backward]
// grad is [count, channels]. Adds to grid_grad, which must be zero, and writes point_grad.
extern "C" __global__ void trilinear_backward(const real* grad, const real* grid, const real* points, real* grid_grad,
                                              real* point_grad, long long count, long long depth, long long height,
                                              long long width, long long channels) {
    long long p = blockIdx.x * (long long)blockDim.y + threadIdx.y;
    bool real_point = p < count;  // the others go along to the shuffles
    Corners cell(points + 3 * (real_point ? p : 0), depth, height, width, channels);
    real slope[3] = {0, 0, 0};
    for (long long c = threadIdx.x; real_point && c < channels; c += blockDim.x) {
        real g = grad[p * channels + c];
        for (int i = 0; i < 8; i++) {
            real fx = cell.factor(i, 0), fy = cell.factor(i, 1), fz = cell.factor(i, 2);
            atomicAdd(&grid_grad[cell.at(i) + c], fx * fy * fz * g);
            real value = g * grid[cell.at(i) + c];
            slope[0] += (i & 1 ? value : -value) * fy * fz;
            slope[1] += (i & 2 ? value : -value) * fx * fz;
            slope[2] += (i & 4 ? value : -value) * fx * fy;
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        real sum = slope[axis];
        for (int step = blockDim.x / 2; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step, blockDim.x);
        if (real_point && threadIdx.x == 0) point_grad[3 * p + axis] = sum;
    }
}
// --8<-- [end:trilinear_backward]

// --8<-- [start:fixed]
// The gradient of the grid in whole multiples of 2^-exponent. Sums of integers do not depend on their order.
extern "C" __global__ void trilinear_backward_fixed(const real* grad, const real* points, long long* sums,
                                                    long long count, long long depth, long long height, long long width,
                                                    long long channels, long long exponent) {
    long long p = blockIdx.x * (long long)blockDim.y + threadIdx.y;
    if (p >= count) return;
    Corners cell(points + 3 * p, depth, height, width, channels);
    for (long long c = threadIdx.x; c < channels; c += blockDim.x) {
        for (int i = 0; i < 8; i++) {
            real term = cell.factor(i, 0) * cell.factor(i, 1) * cell.factor(i, 2) * grad[p * channels + c];
            long long whole = llrint(ldexp((double)term, (int)exponent));
            atomicAdd((unsigned long long*)&sums[cell.at(i) + c], (unsigned long long)whole);
        }
    }
}
// --8<-- [end:fixed]

// --8<-- [start:scan]
// The sum over this lane and those before it.
__device__ real scan(real x) {
    for (int step = 1; step < 32; step *= 2) {
        real left = __shfl_up_sync(~0u, x, step);
        if (threadIdx.x % 32 >= step) x += left;
    }
    return x;
}
// --8<-- [end:scan]

// --8<-- [start:composite]
// A warp takes a ray, 32 samples at a time. Ray r has the samples start[r] to start[r + 1] - 1; out is [rays, 4].
extern "C" __global__ void composite(const real* tau, const real* colour, const long long* start, real* out,
                                     long long rays) {
    long long ray = blockIdx.x * (long long)(blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (ray >= rays) return;  // whole warps
    long long end = start[ray + 1];
    real behind = 0, sum[4] = {0, 0, 0, 0};  // optical depth of the chunks so far; red, green, blue, opacity
    for (long long chunk = start[ray]; chunk < end; chunk += 32) {
        long long i = chunk + lane;
        real t = i < end ? tau[i] : real(0);
        real to = behind + scan(t);
        real weight = exp(t - to) * -expm1(-t);  // the light that reaches the sample, times what it absorbs
        for (int k = 0; k < 3 && i < end; k++) sum[k] += weight * colour[3 * i + k];
        sum[3] += weight;
        behind = __shfl_sync(~0u, to, 31);
    }
    for (int k = 0; k < 4; k++) {
        for (int step = 16; step > 0; step /= 2) sum[k] += __shfl_down_sync(~0u, sum[k], step);
        if (lane == 0) out[4 * ray + k] = sum[k];
    }
}
// --8<-- [end:composite]

// --8<-- [start:composite_backward]
extern "C" __global__ void composite_backward(const real* grad, const real* out, const real* tau, const real* colour,
                                              const long long* start, real* tau_grad, real* colour_grad,
                                              long long rays) {
    long long ray = blockIdx.x * (long long)(blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (ray >= rays) return;
    long long end = start[ray + 1];
    real g[4], rest = 0;  // what this sample and those behind it add to the loss
    for (int k = 0; k < 4; k++) g[k] = grad[4 * ray + k], rest += g[k] * out[4 * ray + k];
    real behind = 0;
    for (long long chunk = start[ray]; chunk < end; chunk += 32) {
        long long i = chunk + lane;
        real t = i < end ? tau[i] : real(0);
        real to = behind + scan(t);
        real weight = exp(t - to) * -expm1(-t), shade = g[3];
        for (int k = 0; k < 3 && i < end; k++) {
            shade += g[k] * colour[3 * i + k];
            colour_grad[3 * i + k] = weight * g[k];
        }
        real upto = scan(weight * shade);
        if (i < end) tau_grad[i] = exp(-to) * shade - (rest - upto);
        rest -= __shfl_sync(~0u, upto, 31);
        behind = __shfl_sync(~0u, to, 31);
    }
}
// --8<-- [end:composite_backward]
