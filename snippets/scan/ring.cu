// Appended to scan.cu. One block per SM, whose warps share the work: while some wait for the look-back of one tile, others
// load and add up the next ones.

// --8<-- [start:ring]
constexpr int SQUAD = 8, SHARE = 8;  // warps that add up, and as many that scan; rows of 128 numbers per warp and tile
constexpr int STAGES = 6;            // tiles in shared memory
constexpr int SLOTS = 2 * STAGES;    // for sums: they are still needed when the tile's stage is being filled again
constexpr int RING_TILE = SQUAD * SHARE * 128, RING_THREADS = 32 * (2 + 2 * SQUAD);

struct Ring {
    Pack tile[STAGES][SQUAD][SHARE][32];
    Word full[STAGES], empty[STAGES], known[SLOTS];  // mbarriers
    Index number[STAGES];                            // of the tile; -1: there are no more
    T sums[SLOTS][SQUAD], left[SLOTS];               // of each warp's share, and of all tiles before
};
// --8<-- [end:ring]

// --8<-- [start:mbarriers]
__device__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ void init(Word* barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
__device__ void arrive(Word* barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ void wait(Word* barrier, int parity) {
    unsigned done = 0;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(shared_address(barrier)), "r"(parity)
                     : "memory");
}

// Arrives, and has the copy engine bring a tile.
__device__ void fetch_tile(void* to, const T* from, Word* barrier) {
    constexpr unsigned bytes = RING_TILE * sizeof(T);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(to)),
                 "l"(from), "r"(bytes), "r"(shared_address(barrier))
                 : "memory");
}
// --8<-- [end:mbarriers]

__device__ T warp_sum(T x) {
    for (int d = 16; d; d /= 2) x += __shfl_xor_sync(ALL, x, d);
    return x;
}

// The rows of a warp's share, which begins at i; of a partial tile from global memory, with zeros behind its end.
__device__ void read_share(Pack (&row)[SHARE], const Pack (&share)[SHARE][32], bool whole, const T* in, Index i,
                           Index n) {
    int lane = threadIdx.x % 32;
    if (whole)
        for (int r = 0; r < SHARE; r++) row[r] = share[r][lane];
    else
        for (int r = 0; r < SHARE; r++)
            for (int c = 0; c < 4; c++) {
                Index at = i + 128 * r + 4 * lane + c;
                row[r].x[c] = at < n ? in[at] : T(0);
            }
}

// --8<-- [start:published]
// Adds up what the tiles from `from` to `to` - 1 have published, and waits where they have not. All lanes get the sum.
__device__ T sum_published(const Word* tiles, Index from, Index to) {
    constexpr int EACH = 3;  // looks per lane that are under way together
    T sum = 0;
    for (; from < to; from += 32 * EACH) {
        Word w[EACH];
        bool missing;
        for (int u = 0; u < EACH; u++) w[u] = from + 32 * u + threadIdx.x % 32 < to ? pack(EMPTY, 0) : pack(SUM, 0);
        do {
            missing = false;
            for (int u = 0; u < EACH; u++)
                if (state(w[u]) == EMPTY) w[u] = look(tiles + from + 32 * u + threadIdx.x % 32);
            for (int u = 0; u < EACH; u++) missing |= state(w[u]) == EMPTY;
        } while (__any_sync(ALL, missing));
        for (int u = 0; u < EACH; u++) sum += value(w[u]);
    }
    return warp_sum(sum);
}
// --8<-- [end:published]

// --8<-- [start:roles]
// One thread: whenever a stage is free, draws a ticket and asks for that tile.
template <bool TICKETS>
__device__ void load_tiles(Ring& ring, const T* in, unsigned* next, Index n, Index count) {
    for (int i = 0;; i++) {
        int s = i % STAGES;
        if (i >= STAGES) wait(ring.empty + s, (i / STAGES - 1) % 2);
        Index k = TICKETS ? (Index)atomicAdd(next, 1) : blockIdx.x + (Index)i * gridDim.x;
        ring.number[s] = k < count ? k : -1;
        if ((k + 1) * RING_TILE <= n)
            fetch_tile(ring.tile[s], in + k * RING_TILE, ring.full + s);
        else
            arrive(ring.full + s);  // a partial tile, or none
        if (k >= count) return;
    }
}

// A squad: the sum of this tile, as soon as it has arrived.
__device__ void publish_sum(Ring& ring, const Pack (&row)[SHARE], int slot, int w, Word* tile) {
    T sum = 0;
    for (int r = 0; r < SHARE; r++) sum += (row[r].x[0] + row[r].x[1]) + (row[r].x[2] + row[r].x[3]);
    sum = warp_sum(sum);
    int lane = threadIdx.x % 32;
    if (lane == 0) {
        ring.sums[slot][w] = sum;
        arrive(ring.known + slot);
    }
    asm volatile("bar.sync 1, %0;" ::"n"(32 * SQUAD) : "memory");  // of this squad only
    if (w == 0) {
        T total = warp_sum(lane < SQUAD ? ring.sums[slot][lane] : T(0));
        if (lane == 0) publish(tile, pack(SUM, total));
    }
}

// The other squad: scans in registers, waits until all that stands to the left is known, and stores.
__device__ void scan_share(Ring& ring, Pack (&row)[SHARE], int i, int w, T* out, Index first, bool whole, Index n) {
    int slot = i % SLOTS, lane = threadIdx.x % 32;
    T before[SHARE], sum = 0;
    for (int r = 0; r < SHARE; r++) {
        T* x = row[r].x;
        for (int c = 1; c < 4; c++) x[c] += x[c - 1];
        T up_to = warp_scan(x[3]), near = __shfl_up_sync(ALL, up_to, 1);
        before[r] = lane ? sum + near : sum;
        sum += __shfl_sync(ALL, up_to, 31);
    }
    wait(ring.known + slot, i / SLOTS % 2);
    T left = ring.left[slot];
    for (int j = 0; j < SQUAD; j++)
        if (j < w) left += ring.sums[slot][j];
    for (int r = 0; r < SHARE; r++) {
        Index at = first + 128 * r + 4 * lane;
        for (int c = 0; c < 4; c++) row[r].x[c] += left + before[r];
        if (whole)
            __stwb((int4*)(out + at), *(int4*)&row[r]);
        else
            for (int c = 0; c < 4; c++)
                if (at + c < n) out[at + c] = row[r].x[c];
    }
}
// --8<-- [end:roles]

// --8<-- [start:v10]
template <bool TICKETS>
__device__ void scan_ring(const T* in, T* out, Word* tiles, unsigned* next, Index n) {
    extern __shared__ __align__(128) unsigned char memory[];
    Ring& ring = *(Ring*)memory;
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, w = (warp - 2) % SQUAD;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) init(ring.full + s, 1), init(ring.empty + s, 1 + 2 * SQUAD);
        for (int s = 0; s < SLOTS; s++) init(ring.known + s, 1 + SQUAD);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");  // the copy engine must see them, too
    }
    __syncthreads();
    if (warp == 0) {
        if (lane == 0) load_tiles<TICKETS>(ring, in, next, n, (n + RING_TILE - 1) / RING_TILE);
        return;
    }
    Index last = 0;  // the tile that the block had before this one,
    T left = 0;      // and the sum of all tiles before that
    for (int i = 0;; i++) {
        int s = i % STAGES, slot = i % SLOTS;
        wait(ring.full + s, i / STAGES % 2);
        Index k = ring.number[s], first = k * RING_TILE + w * (SHARE * 128);
        if (k < 0) return;
        if (warp == 1) {
            __syncwarp();  // every lane has read the number
            if (lane == 0) arrive(ring.empty + s);
            left += sum_published(tiles, last, k);
            last = k;
            if (lane == 0) {
                ring.left[slot] = left;
                arrive(ring.known + slot);
            }
            continue;
        }
        Pack row[SHARE];
        bool whole = (k + 1) * RING_TILE <= n;
        read_share(row, ring.tile[s][w], whole, in, first, n);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // read before the copy engine writes again
        __syncwarp();
        if (lane == 0) arrive(ring.empty + s);
        if (warp < 2 + SQUAD)
            publish_sum(ring, row, slot, w, tiles + k);
        else
            scan_share(ring, row, i, w, out, first, whole, n);
    }
}

extern "C" __global__ void __launch_bounds__(RING_THREADS, 1)
    scan_v10(const T* in, T* out, Word* tiles, unsigned* next, Index n) {
    scan_ring<true>(in, out, tiles, next, n);
}

// Without tickets: tiles are dealt out in turn, so all blocks must be resident, and the order of additions is fixed.
extern "C" __global__ void __launch_bounds__(RING_THREADS, 1)
    scan_dealt(const T* in, T* out, Word* tiles, unsigned* next, Index n) {
    scan_ring<false>(in, out, tiles, next, n);
}
// --8<-- [end:v10]
