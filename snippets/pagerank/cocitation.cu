// How often are two sources cited together? C = A^T A of a matrix of zeros and ones, kept as bits.

// --8<-- [start:cocite]
// cited[s * words + w] holds, bit by bit, which of pages 64 * w to 64 * w + 63 cite source s.
extern "C" __global__ void cocite(const unsigned long long* cited, int* together, int sources, int words) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y;
    if (i >= sources) return;
    int count = 0;
    for (int w = 0; w < words; ++w) count += __popcll(cited[i * words + w] & cited[j * words + w]);
    together[j * sources + i] = count;
}
// --8<-- [end:cocite]
