// The GRIM test, exact: can n whole numbers have a mean that is printed as `printed` / scale?
//
// Cell (n, m): is there a whole sum k with |k / n - m / scale| at most half a unit of the last printed digit?
// Multiplied by 2 * n * scale this is 2 * |k * scale - m * n| <= n, in integers, so no rounding rule can hide in it.

// --8<-- [start:grim]
extern "C" __global__ void grim(unsigned char* possible, int scale, int most) {
    int m = blockIdx.x * blockDim.x + threadIdx.x;  // the printed digits
    int n = blockIdx.y + 1;                         // how many were averaged
    if (m >= scale || n > most) return;
    long long wanted = (long long)m * n;                 // scale times the sum, were the mean exact
    long long k = (2 * wanted + scale) / (2LL * scale);  // the whole sum nearest to it
    long long off = k * scale - wanted;
    possible[(long long)(n - 1) * scale + m] = 2 * (off < 0 ? -off : off) <= n;
}
// --8<-- [end:grim]
