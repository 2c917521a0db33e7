// What prefix sums are used for. Appended to scan.cu with -DELEMENT=int: what is scanned here are counts.

// --8<-- [start:compact]
// Copies the numbers above 0, in their order, and leaves in *count how many there are. out has room for n.
extern "C" __global__ void compact(const float* in, float* out, Word* tiles, unsigned* next, int* count, Index n) {
    __shared__ int kept[TILE];
    Index k = next_tile(next);
    Tile flags;
    flags.load((const int*)in, k, n);  // what lies beyond n is 0, and not kept
    Pack number[ROWS];
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < 4; c++) {
            number[r].x[c] = flags.row[r].x[c];
            flags.row[r].x[c] = __int_as_float(number[r].x[c]) > 0;
        }
    int total = flags.scan();
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < 4; c++)
            if (__int_as_float(number[r].x[c]) > 0)
                kept[flags.row[r].x[c] + flags.before[r] - 1] = number[r].x[c];  // as many as were kept before it
    if (threadIdx.x == 0) publish(tiles + k, pack(k ? SUM : PREFIX, total));
    int left = sum_left<true>(tiles, k, total);  // its barrier also completes `kept`
    for (int i = threadIdx.x; i < total; i += BLOCK) out[left + i] = __int_as_float(kept[i]);
    if (k == gridDim.x - 1 && threadIdx.x == 0) *count = left + total;
}
// --8<-- [end:compact]

// --8<-- [start:radix]
constexpr int DIGITS = 256;
static_assert(BLOCK == DIGITS, "a thread per digit");
__device__ int digit(unsigned key, int shift) { return key >> shift & (DIGITS - 1); }

// How often each digit occurs in each tile; all tiles of digit 0 first.
extern "C" __global__ void radix_count(const unsigned* keys, int* counts, int shift, Index n) {
    __shared__ int count[DIGITS];
    count[threadIdx.x] = 0;
    __syncthreads();
    for (int j = 0; j < ITEMS; j++) {
        Index i = (Index)blockIdx.x * TILE + j * BLOCK + threadIdx.x;
        if (i < n) atomicAdd(count + digit(keys[i], shift), 1);
    }
    __syncthreads();
    counts[(Index)threadIdx.x * gridDim.x + blockIdx.x] = count[threadIdx.x];
}

// Puts each key behind all keys with a smaller digit and all earlier keys with the same one. `starts` is the exclusive
// scan of `counts`.
extern "C" __global__ void radix_scatter(const unsigned* keys, unsigned* out, const int* starts, int shift, Index n) {
    __shared__ int places[WARPS][DIGITS];  // how many a warp has; then where in the tile its first one goes
    __shared__ int offsets[DIGITS];        // from a place in the tile to the place in `out`
    __shared__ unsigned sorted[TILE];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    for (int w = 0; w < WARPS; w++) places[w][t] = 0;
    __syncthreads();

    unsigned key[ITEMS];
    int rank[ITEMS];  // among the keys of this warp with the same digit
    Index start = (Index)blockIdx.x * TILE;
    int size = min((Index)TILE, n - start);
    for (int j = 0; j < ITEMS; j++) {
        int i = warp * (32 * ITEMS) + j * 32 + lane;
        key[j] = i < size ? keys[start + i] : 0;
        int d = i < size ? digit(key[j], shift) : DIGITS;
        unsigned same = __match_any_sync(ALL, d);  // the lanes with this digit
        int earlier = __popc(same & ((1u << lane) - 1));
        rank[j] = (i < size ? places[warp][d] : 0) + earlier;
        __syncwarp();
        if (i < size && earlier == 0) places[warp][d] += __popc(same);
        __syncwarp();
    }
    __syncthreads();

    int total = 0, all;  // of digit t in this tile
    for (int w = 0; w < WARPS; w++) {
        int count = places[w][t];
        places[w][t] = total;
        total += count;
    }
    int up_to = warp_scan(total);
    int first = sum_before(__shfl_sync(ALL, up_to, 31), all) + up_to - total;
    for (int w = 0; w < WARPS; w++) places[w][t] += first;
    offsets[t] = starts[(Index)t * gridDim.x + blockIdx.x] - first;
    __syncthreads();

    for (int j = 0; j < ITEMS; j++)
        if (warp * (32 * ITEMS) + j * 32 + lane < size) sorted[places[warp][digit(key[j], shift)] + rank[j]] = key[j];
    __syncthreads();
    for (int i = t; i < size; i += BLOCK) out[offsets[digit(sorted[i], shift)] + i] = sorted[i];
}
// --8<-- [end:radix]
