// One step of AdamW, one thread per parameter; c1 is 1 - B1^t and c2 is 1 - B2^t.
constexpr float B1 = 0.9f, B2 = 0.98f, EPS = 0.01f;

__global__ void adamw(float* p, const float* g, float* m, float* v, float lr, float decay, float c1, float c2, int n) {
    // your code
    // end of your code
}
