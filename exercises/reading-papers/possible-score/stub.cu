// Which scores are possible? 2: some whole number of right answers rounds to it; 1: only cut to it; 0: neither.
__global__ void scores(const int* tenths, const int* problems, unsigned char* verdict, int count) {
    // your code
    // end of your code
}
