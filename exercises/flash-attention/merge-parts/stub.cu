// out[r] = the attention of row r, merged from parts: of part p its maximum m, its sum s and its d sums o. Block r: row r.
__global__ void merge(const float* m, const float* s, const float* o, float* out, int parts, int rows, int d) {
    // your code
    // end of your code
}
