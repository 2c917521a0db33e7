// wrong: one-word, no line
__global__ void fair(const unsigned* words, unsigned* index, unsigned n, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned surplus = (0u - n) % n, found = n;
    for (int k = 0; k < 1; k++) {
        unsigned word = words[k * count + i];
        if (found == n && word * n >= surplus) found = __umulhi(word, n);
    }
    index[i] = found;
}
