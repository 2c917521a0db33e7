// Turns pair p of each head, channels 2 p and 2 p + 1, by the angle whose cosine and sine are tabled per position.
constexpr int HEAD = 16;

__global__ void rotate(const float* x, const float* cosine, const float* sine, float* y, int tokens, int d) {
    // your code
    // end of your code
}
