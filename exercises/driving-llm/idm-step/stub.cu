// One step of all cars in a lane: car i follows car i + 1, and nobody is ahead of the last one.
__global__ void idm_step(float* x_next, float* v_next, const float* x, const float* v, float dt, int n) {
    // your code
    // end of your code
}
