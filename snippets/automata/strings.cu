// All short strings over {0, 1}, one a thread: does the automaton accept it?
extern "C" {

// --8<-- [start:accepts]
// String number i is the binary form of i + 1 without its leading 1: "", 0, 1, 00, 01, 10, 11, 000, …
__global__ void accepts(const unsigned char* step, const unsigned char* accepting, unsigned char* out, int strings) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= strings) return;
    int q = 0;
    for (int k = 30 - __clz(i + 1); k >= 0; --k) q = step[2 * q + ((i + 1) >> k & 1)];
    out[i] = accepting[q];
}
// --8<-- [end:accepts]

}  // extern "C"
