// c = a + b for matrices of nx columns and ny rows, row after row in memory: one thread an element.

extern "C" {

// --8<-- [start:add]
__global__ void matrix_add(const int* a, const int* b, int* c, int nx, int ny) {
    int ix = blockIdx.x * blockDim.x + threadIdx.x;  // column
    int iy = blockIdx.y * blockDim.y + threadIdx.y;  // row
    if (ix < nx && iy < ny) {
        int i = iy * nx + ix;
        c[i] = a[i] + b[i];
    }
}
// --8<-- [end:add]

}  // extern "C"
