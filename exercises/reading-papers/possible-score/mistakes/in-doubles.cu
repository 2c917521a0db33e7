// wrong: ties, no line
__global__ void scores(const int* tenths, const int* problems, unsigned char* verdict, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int n = problems[i], wanted = tenths[i] * n;  // 1000 times the right answers, were the score exact
    int above = (wanted + 999) / 1000 * 1000 - wanted;
    bool rounded = fabs(100.0 * ((wanted + 500) / 1000) / n - tenths[i] / 10.0) <= 0.05, cut = above < n;
    verdict[i] = rounded ? 2 : cut ? 1 : 0;
}
