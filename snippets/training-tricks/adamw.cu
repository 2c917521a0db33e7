// AdamW: one kernel for the whole step, its operations as kernels of their own, and the clipping of a global norm.

// --8<-- [start:update]
// What is the same for all parameters in one step, computed by the host in double precision.
struct Step {
    float keep;    // 1 - lr * decay: the decay does not pass through the moments
    float b1, n1;  // beta1, 1 - beta1
    float b2, n2;
    float rate;  // lr / (1 - beta1^t)
    float root;  // 1 / sqrt(1 - beta2^t)
    float eps;
};

__device__ void update(float& p, float g, float& m, float& v, const Step& s) {
    m = s.b1 * m + s.n1 * g;
    v = s.b2 * v + s.n2 * g * g;
    p = s.keep * p - s.rate * m / (sqrtf(v) * s.root + s.eps);
}
// --8<-- [end:update]

// --8<-- [start:adamw]
__device__ void update_four(float* p, const float* g, float* m, float* v, const Step& s, float times, long long n) {
    long long i = 4 * (blockIdx.x * (long long)blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        float4 P = *(float4*)(p + i), M = *(float4*)(m + i), V = *(float4*)(v + i);
        float4 G = *(const float4*)(g + i);
        update(P.x, times * G.x, M.x, V.x, s);
        update(P.y, times * G.y, M.y, V.y, s);
        update(P.z, times * G.z, M.z, V.z, s);
        update(P.w, times * G.w, M.w, V.w, s);
        *(float4*)(p + i) = P;
        *(float4*)(m + i) = M;
        *(float4*)(v + i) = V;
    } else {
        for (; i < n; ++i) update(p[i], times * g[i], m[i], v[i], s);
    }
}

extern "C" __global__ void adamw(float* p, const float* g, float* m, float* v, Step s, long long n) {
    update_four(p, g, m, v, s, 1.0f, n);
}
// --8<-- [end:adamw]

// --8<-- [start:norm]
// The sum of `mine` over the block, for every thread; blocks have 256.
__device__ float over_block(float mine) {
    __shared__ float warps[8];
    for (int d = 16; d > 0; d /= 2) mine += __shfl_xor_sync(~0u, mine, d);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = mine;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 8; ++i) sum += warps[i];
    return sum;
}

// PARTS blocks leave a sum of squares each.
extern "C" __global__ void squares(const float* g, float* part, long long n) {
    float sum = 0;
    for (long long i = 4 * (blockIdx.x * 256ll + threadIdx.x); i < n; i += 4 * 256ll * PARTS) {
        if (i + 4 <= n) {
            float4 G = *(const float4*)(g + i);
            sum += G.x * G.x + G.y * G.y + G.z * G.z + G.w * G.w;
        } else {
            for (long long j = i; j < n; ++j) sum += g[j] * g[j];
        }
    }
    sum = over_block(sum);
    if (threadIdx.x == 0) part[blockIdx.x] = sum;
}

// By what every gradient is multiplied. Each block adds up the parts again, so that no host has to wait for them.
__device__ float factor(const float* part, float most) {
    float sum = 0;
    for (int i = threadIdx.x; i < PARTS; i += 256) sum += part[i];
    float f = most / (sqrtf(over_block(sum)) + 1e-6f);
    return f > 1 ? 1 : f;  // not fminf(f, 1), which would turn a NaN into 1
}

extern "C" __global__ void clip(float* g, const float* part, float most, long long n) {
    float times = factor(part, most);
    long long i = 4 * (blockIdx.x * 256ll + threadIdx.x);
    if (i + 4 <= n) {
        float4 G = *(float4*)(g + i);
        *(float4*)(g + i) = make_float4(times * G.x, times * G.y, times * G.z, times * G.w);
    } else {
        for (; i < n; ++i) g[i] *= times;
    }
}

extern "C" __global__ void adamw_clipped(float* p, const float* g, float* m, float* v, Step s, const float* part,
                                         float most, long long n) {
    update_four(p, g, m, v, s, factor(part, most), n);
}
// --8<-- [end:norm]

// --8<-- [start:single]
// One operation on arrays each, as a framework launches them: four elements per thread, like the kernel above.
template <class F>
__device__ void each(float* out, const float* x, const float* y, const float* z, long long n, F f) {
    long long i = 4 * (blockIdx.x * (long long)blockDim.x + threadIdx.x);
    if (i + 4 <= n) {
        float4 X = *(const float4*)(x + i), Y = X, Z = X;
        if (y) Y = *(const float4*)(y + i);
        if (z) Z = *(const float4*)(z + i);
        *(float4*)(out + i) = make_float4(f(X.x, Y.x, Z.x), f(X.y, Y.y, Z.y), f(X.z, Y.z, Z.z), f(X.w, Y.w, Z.w));
    } else {
        for (; i < n; ++i) out[i] = f(x[i], y ? y[i] : 0, z ? z[i] : 0);
    }
}

#define OPERATION(NAME, Y, Z, RESULT)                                                                    \
    extern "C" __global__ void NAME(float* out, const float* x, const float* y, const float* z, float a, \
                                    long long n) {                                                       \
        each(out, x, Y, Z, n, [a](float x, float y, float z) { return RESULT; });                        \
    }
OPERATION(scaled, nullptr, nullptr, a* x)
OPERATION(shifted, nullptr, nullptr, x + a)
OPERATION(rooted, nullptr, nullptr, sqrtf(x))
OPERATION(added, y, nullptr, x + y)
OPERATION(subtracted, y, nullptr, x - y)
OPERATION(multiplied, y, nullptr, x* y)
OPERATION(divided, y, nullptr, x / y)
OPERATION(lerped, y, nullptr, x + a * (y - x))
OPERATION(addcmul, y, z, x + a * y * z)
OPERATION(addcdiv, y, z, x + a * y / z)
// --8<-- [end:single]
