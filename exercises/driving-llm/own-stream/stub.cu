// out[t * n + i]: the word of drive i at step t. One thread per drive.
__device__ unsigned mix(unsigned h) {
    h ^= h >> 16;
    h *= 0x7d4e9c2bu;
    h ^= h >> 15;
    h *= 0x5a3b9e6du;
    h ^= h >> 16;
    return h;
}

__global__ void draw_words(int* out, unsigned seed, int steps, int n) {
    // your code
    // end of your code
}
