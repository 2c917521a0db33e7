// slow: uncoalesced
__global__ void fair(const unsigned* words, unsigned* index, unsigned n, int count) {
    int threads = gridDim.x * blockDim.x, each = (count + threads - 1) / threads;
    int t = (blockIdx.x * blockDim.x + threadIdx.x);
    int spread = (count + 7) / 8;
    for (int e = 0; e < each; e++) {
        int i = t % spread * 8 + t / spread;
        if (t / spread >= 8 || i >= count) return;
        unsigned surplus = (0u - n) % n, found = n;
        for (int k = 0; k < 4; k++) {
            unsigned word = words[k * count + i];  // <-- here
            if (found == n && word * n >= surplus) found = __umulhi(word, n);
        }
        index[i] = found;
    }
}
