// sets[c] is the union, over the cuts k, of both[left[c * cuts + k] << 8 | right[c * cuts + k]].
__global__ void join(const int* both, const int* left, const int* right, int* sets, int n, int cuts) {
    // your code
    // end of your code
}
