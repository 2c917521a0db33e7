// One step of AdamW, one thread per parameter; c1 is 1 - b1^t and c2 is 1 - b2^t.
__global__ void adamw(float* p, const float* g, float* m, float* v, float lr, float b1, float b2, float eps, float decay,
                      float c1, float c2, int n) {
    // your code
    // end of your code
}
