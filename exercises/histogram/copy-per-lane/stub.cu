// counts[v] grows by how often v occurs in data[0 … n-1]; all elements are below 64.
__global__ void histogram(const unsigned char* data, unsigned* counts, int n) {
    // your code
    // end of your code
}
