// to = 3 * from + 1 for matrices whose rows begin every `pitch` bytes.

extern "C" {

// --8<-- [start:rows]
__global__ void rows(const int* from, size_t from_pitch, int* to, size_t to_pitch, int nx, int ny) {
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix < nx && iy < ny) {
        auto source = (const int*)((const char*)from + iy * from_pitch);  // the pitch counts bytes, not elements
        auto target = (int*)((char*)to + iy * to_pitch);
        target[ix] = 3 * source[ix] + 1;
    }
}
// --8<-- [end:rows]

}  // extern "C"
