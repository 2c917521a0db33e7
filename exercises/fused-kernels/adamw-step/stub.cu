// One step of AdamW: p, and the averages m and v.
__global__ void adamw(float* p, const float* g, float* m, float* v, float lr, float decay, float c1, float c2, int n) {
    // your code
    // end of your code
}
