// index[i]: below n, each value as likely as any other; from the first of four words that is not refused, else n.
__global__ void fair(const unsigned* words, unsigned* index, unsigned n, int count) {
    // your code
    // end of your code
}
