// One step of AdamW for parameters in fp32 and their copy in bf16, which the products read. Clipping and the update are
// those of training-tricks; what is new is the copy, and that only the first `decaying` parameters decay.
#ifndef PARTS
#define PARTS 1024  // blocks that add up squares of the gradient
#endif
#include <cuda_bf16.h>
#include "../training-tricks/adamw.cu"

// --8<-- [start:step]
// Four parameters per thread; n and `decaying` are multiples of 4. The moments and w stay in fp32, so that a step smaller
// than half a unit in bf16's last place is not lost.
extern "C" __global__ void adamw_bf16(float4* w, __nv_bfloat162* copy, const float4* g, float4* m, float4* v, Step s,
                                      const float* part, float most, long long decaying, long long n) {
    const float times = factor(part, most);
    const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (4 * i >= n) return;
    if (4 * i >= decaying) s.keep = 1;
    float4 W = w[i], M = m[i], V = v[i], G = g[i];
    update(W.x, times * G.x, M.x, V.x, s);
    update(W.y, times * G.y, M.y, V.y, s);
    update(W.z, times * G.z, M.z, V.z, s);
    update(W.w, times * G.w, M.w, V.w, s);
    w[i] = W, m[i] = M, v[i] = V;
    copy[2 * i] = __floats2bfloat162_rn(W.x, W.y);
    copy[2 * i + 1] = __floats2bfloat162_rn(W.z, W.w);
}
// --8<-- [end:step]
