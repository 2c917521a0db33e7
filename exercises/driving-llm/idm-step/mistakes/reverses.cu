// wrong: reverses, no line
__global__ void idm_step(float* x_next, float* v_next, const float* x, const float* v, float dt, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float share = v[i] / 20, press = 0;
    if (i + 1 < n) {
        float gap = x[i + 1] - x[i] - 5;
        float wanted = 2 + fmaxf(0, 1.2f * v[i] + v[i] * (v[i] - v[i + 1]) / sqrtf(12));
        press = wanted / gap;
    }
    float accel = fmaxf(-8, 1.5f * (1 - share * share * share * share - press * press));
    float after = v[i] + accel * dt;
    x_next[i] = x[i] + after * dt;
    v_next[i] = after;
}
