// matrix_add of add.cu with the pitch of a row mistaken, for matrices of any number of rows,
// and with nothing left to do.

extern "C" {

// --8<-- [start:faulty]
__global__ void matrix_add_faulty(const int* a, const int* b, int* c, int nx, int ny) {
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix < nx && iy < ny) {
        int i = iy * ny + ix;  // wrong: a row has nx elements
        c[i] = a[i] + b[i];
    }
}
// --8<-- [end:faulty]

// --8<-- [start:half]
__global__ void matrix_add_half(const int* a, const int* b, int* c, int nx, int ny) {
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    int iy = blockIdx.y * blockDim.y + threadIdx.y;
    if (ix < nx && iy < ny) c[iy * ny + ix] = a[iy * nx + ix] + b[iy * nx + ix];  // two pitches in one line
}
// --8<-- [end:half]

// --8<-- [start:tall]
__global__ void matrix_add_tall(const int* a, const int* b, int* c, int nx, int ny) {
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    if (ix >= nx) return;
    for (int iy = blockIdx.y * blockDim.y + threadIdx.y; iy < ny; iy += gridDim.y * blockDim.y) {
        int i = iy * nx + ix;
        c[i] = a[i] + b[i];
    }
}
// --8<-- [end:tall]

// --8<-- [start:born]
__global__ void born(int* blocks) {  // next to nothing, so that a launch is all birth and death of blocks
    bool last = blockIdx.x == gridDim.x - 1 && blockIdx.y == gridDim.y - 1;
    if (last && threadIdx.x == 0) *blocks = gridDim.x * gridDim.y;
}
// --8<-- [end:born]

}  // extern "C"
