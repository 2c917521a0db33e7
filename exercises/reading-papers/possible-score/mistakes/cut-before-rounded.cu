// wrong: cut-first, no line
__global__ void scores(const int* tenths, const int* problems, unsigned char* verdict, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int n = problems[i], wanted = tenths[i] * n;  // 1000 times the right answers, were the score exact
    int off = (wanted + 500) / 1000 * 1000 - wanted, above = (wanted + 999) / 1000 * 1000 - wanted;
    bool rounded = 2 * (off < 0 ? -off : off) <= n, cut = above < n;
    verdict[i] = cut ? 1 : rounded ? 2 : 0;
}
