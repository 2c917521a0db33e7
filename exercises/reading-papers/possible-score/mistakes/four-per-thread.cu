// slow: uncoalesced
__global__ void scores(const int* tenths, const int* problems, unsigned char* verdict, int count) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    for (int i = first; i < first + 4 && i < count; i++) {
        int n = problems[i], wanted = tenths[i] * n;  // <-- here
        int off = (wanted + 500) / 1000 * 1000 - wanted, above = (wanted + 999) / 1000 * 1000 - wanted;
        bool rounded = 2 * (off < 0 ? -off : off) <= n, cut = above < n;
        verdict[i] = rounded ? 2 : cut ? 1 : 0;
    }
}
