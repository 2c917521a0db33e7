// Decodes one token per sequence: appends its key and value to the cache, then attends to all keys. A warp per sequence.
__global__ void step(const float* q, const float* kv, float* k, float* v, const int* length, float* out, int most) {
    // your code
    // end of your code
}
