// Partial sums of a row-major matrix, PART numbers per thread, in the order that is good for a CPU and in the other one.

constexpr int PART = 64;

// --8<-- [start:rows]
// Each thread adds PART neighbours of a row, as a core would. Neighbouring threads take neighbouring rows.
extern "C" __global__ void along_rows(const unsigned* x, unsigned* sums, int height, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * PART;
    if (row >= height) return;
    unsigned sum = 0;
    for (int j = first; j < min(first + PART, width); ++j) sum += x[(long long)row * width + j];
    sums[(long long)blockIdx.y * height + row] = sum;
}
// --8<-- [end:rows]

// --8<-- [start:columns]
// Each thread adds PART numbers down a column. Neighbouring threads take neighbouring columns.
extern "C" __global__ void down_columns(const unsigned* x, unsigned* sums, int height, int width) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * PART;
    if (column >= width) return;
    unsigned sum = 0;
    for (int i = first; i < min(first + PART, height); ++i) sum += x[(long long)i * width + column];
    sums[(long long)blockIdx.y * width + column] = sum;
}
// --8<-- [end:columns]
