#include <cuda_fp16.h>

// --8<-- [start:survive]
// What becomes of each float16 h if it is divided by 2^shift and stored in float16: 0 it comes back exactly, 1 it comes
// back rounded, 2 it is lost to zero, 3 it was no finite number other than zero. One block column for each shift.
extern "C" __global__ void survive(unsigned char* fate) {
    unsigned bits = blockIdx.x * blockDim.x + threadIdx.x, shift = blockIdx.y;
    float h = __half2float(__ushort_as_half((unsigned short)bits));
    float back = __half2float(__float2half_rn(ldexpf(h, -(int)shift)));
    bool counts = h != 0 && isfinite(h);
    fate[shift * 65536 + bits] = !counts ? 3 : back == 0 ? 2 : ldexpf(back, (int)shift) == h ? 0 : 1;
}
// --8<-- [end:survive]
