// y = 2x for n floats, in two versions.  --8<-- marks the sections that the pages show.

extern "C" {

// --8<-- [start:v0]
__global__ void twice_v0(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
// --8<-- [end:v0]

// --8<-- [start:v1]
__global__ void twice_v1(const float* x, float* y, int n) {
    int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i + 3 < n) {
        float4 v = *reinterpret_cast<const float4*>(x + i);
        *reinterpret_cast<float4*>(y + i) = make_float4(2.0f * v.x, 2.0f * v.y, 2.0f * v.z, 2.0f * v.w);
    } else {
        for (; i < n; i++) y[i] = 2.0f * x[i];  // the last floats, if n is no multiple of 4
    }
}
// --8<-- [end:v1]

}  // extern "C"
