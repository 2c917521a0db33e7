// index[i]: below n, each value as likely as any other; from the first of four words that is not refused, else n.
__global__ void fair(const unsigned* words, unsigned* index, unsigned n, int count) {
    // your code
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned surplus = (0u - n) % n, found = n;
    for (int k = 0; k < 4; k++) {
        unsigned word = words[k * count + i];
        if (found == n && word * n >= surplus) found = __umulhi(word, n);
    }
    index[i] = found;
    // end of your code
}
