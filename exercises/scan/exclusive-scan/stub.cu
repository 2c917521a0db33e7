// starts[i] is the sum of the counts before i in the same tile of 256; sums[b] is the sum of tile b.
__global__ void offsets(const int* counts, int* starts, int* sums, int n) {
    // your code
    // end of your code
}
