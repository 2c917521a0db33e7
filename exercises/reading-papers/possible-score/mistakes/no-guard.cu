// wrong: out-of-bounds
__global__ void scores(const int* tenths, const int* problems, unsigned char* verdict, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int n = problems[i], wanted = tenths[i] * n;  // <-- here
    int off = (wanted + 500) / 1000 * 1000 - wanted, above = (wanted + 999) / 1000 * 1000 - wanted;
    bool rounded = 2 * (off < 0 ? -off : off) <= n, cut = above < n;
    verdict[i] = rounded ? 2 : cut ? 1 : 0;
}
