// Appended to scan.cu.

// --8<-- [start:clocked]
// v7 with clocks: how many cycles a tile waited for its numbers and scanned them, and then for the tiles before it.
extern "C" __global__ void scan_clocked(const T* in, T* out, Word* tiles, unsigned* next, Index n, long long* cycles) {
    Index k = next_tile(next);
    long long started = clock64();
    Tile tile;
    tile.load(in, k, n);
    T total = tile.scan();
    long long scanned = clock64();
    if (threadIdx.x == 0) publish(tiles + k, pack(k ? SUM : PREFIX, total));
    T left = sum_left<true>(tiles, k, total);
    long long looked = clock64();
    tile.store(out, k, n, left);
    if (threadIdx.x == 0) cycles[2 * k] = scanned - started, cycles[2 * k + 1] = looked - scanned;
}
// --8<-- [end:clocked]
