// Inclusive prefix sums of n numbers: out[i] = in[0] + … + in[i]. Ten kernels from plain to fast.
//
//   v0…v2  one tile of the array per block, in shared memory; a second launch adds what stands to the left of the tile
//   v3     the same in registers, by shuffles
//   v4     sixteen numbers per thread, read and written 16 bytes at a time
//   v5     adds up first and scans afterwards, so that the array is written once
//   v6…v9  one pass: a block looks back at the blocks before it
//
// v0…v4 also write the sum of each tile; the caller scans these sums and adds them (add_tiles, add_wide).
// Compile with -DELEMENT=int for integers. Arrays begin at multiples of 16 bytes; n may be any number.

#ifndef ELEMENT
#define ELEMENT float
#endif
#ifndef THREADS
#define THREADS 256
#endif
#ifndef ROWS  // of 4 numbers per thread, from v4 on
#define ROWS 4
#endif
#ifndef PARKED  // rows of v8
#define PARKED 8
#endif
using T = ELEMENT;
using Index = long long;

constexpr int BLOCK = THREADS, WARPS = BLOCK / 32;
constexpr unsigned ALL = 0xffffffff;

// --8<-- [start:warp_scan]
// The sum of this lane's x and those of all lanes before it. All 32 lanes must call it.
__device__ T warp_scan(T x) {
    for (int d = 1; d < 32; d *= 2) {
        T left = __shfl_up_sync(ALL, x, d);
        if (threadIdx.x % 32 >= d) x += left;
    }
    return x;
}

// Of one number per warp: returns the sum over the warps before this one, and leaves the sum of all in `total`.
__device__ T sum_before(T warp_sum, T& total) {
    __shared__ T warps[32];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) warps[warp] = warp_sum;
    __syncthreads();
    T sums = warp_scan(lane < WARPS ? warps[lane] : T(0));  // in each warp: cheaper than a second barrier
    total = __shfl_sync(ALL, sums, WARPS - 1);
    T before = __shfl_sync(ALL, sums, warp ? warp - 1 : 0);
    return warp ? before : T(0);
}
// --8<-- [end:warp_scan]

// --8<-- [start:tile]
constexpr int ITEMS = 4 * ROWS, TILE = BLOCK * ITEMS;

struct alignas(16) Pack {
    T x[4];
};

// A tile, as the threads of a block hold it. A warp owns 32 * ITEMS neighbours; in each row of 128 a lane owns four.
struct Tile {
    Pack row[ROWS];
    T before[ROWS];  // what to add to each row

    __device__ static Index start(Index tile) {
        return tile * TILE + threadIdx.x / 32 * (32 * ITEMS) + threadIdx.x % 32 * 4;
    }

    __device__ void load(const T* in, Index tile, Index n) {
        Index i = start(tile);
        if ((tile + 1) * TILE <= n)
            for (int r = 0; r < ROWS; r++) row[r] = *(const Pack*)(in + i + 128 * r);
        else  // the last tile, filled up with zeros
            for (int r = 0; r < ROWS; r++)
                for (int c = 0; c < 4; c++) row[r].x[c] = i + 128 * r + c < n ? in[i + 128 * r + c] : T(0);
    }

    // Scans the block's tile but for `before`; returns the sum of the tile. All threads must call it.
    __device__ T scan() {
        T warp_total = 0, total;
        for (int r = 0; r < ROWS; r++) {
            T* x = row[r].x;
            for (int c = 1; c < 4; c++) x[c] += x[c - 1];
            T sum = warp_scan(x[3]), left = __shfl_up_sync(ALL, sum, 1);
            before[r] = threadIdx.x % 32 ? warp_total + left : warp_total;
            warp_total += __shfl_sync(ALL, sum, 31);
        }
        T left = sum_before(warp_total, total);
        for (int r = 0; r < ROWS; r++) before[r] += left;
        return total;
    }

    // `left` is the sum of all tiles before this one. EXCLUSIVE: out[i] leaves in[i] out.
    template <bool EXCLUSIVE = false>
    __device__ void store(T* out, Index tile, Index n, T left) {
        Index i = start(tile);
        for (int r = 0; r < ROWS; r++)
            for (int c = 3; c >= 0; c--) {
                T x = EXCLUSIVE ? c ? row[r].x[c - 1] : T(0) : row[r].x[c];
                row[r].x[c] = x + (before[r] + left);
            }
        if ((tile + 1) * TILE <= n)
            for (int r = 0; r < ROWS; r++) __stwb((int4*)(out + i + 128 * r), *(int4*)&row[r]);
        else
            for (int r = 0; r < ROWS; r++)
                for (int c = 0; c < 4; c++)
                    if (i + 128 * r + c < n) out[i + 128 * r + c] = row[r].x[c];
    }
};
// --8<-- [end:tile]

// --8<-- [start:state]
// What a block tells the others about its tile, in one word of 64 bits that is read and written whole.
using Word = unsigned long long;
enum State : unsigned {
    EMPTY,   // nothing yet
    SUM,     // the sum of this tile
    PREFIX,  // the sum of this tile and of all tiles before it
};

__device__ Word pack(State state, T value) { return (Word)state << 32 | *(unsigned*)&value; }
__device__ State state(Word w) { return (State)(w >> 32); }
__device__ T value(Word w) {
    unsigned low = (unsigned)w;
    return *(T*)&low;
}
__device__ void publish(Word* at, Word w) {
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(w) : "memory");
}
__device__ Word look(const Word* at) {
    Word w;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(w) : "l"(at) : "memory");
    return w;
}
// --8<-- [end:state]

// --8<-- [start:look_one]
// The sum of all tiles before `tile`: one lane walks to the left until it finds a PREFIX.
__device__ T look_back_alone(const Word* tiles, Index tile) {
    T sum = 0;
    for (Index k = tile - 1; k >= 0; k--) {
        Word w;
        do w = look(tiles + k);
        while (state(w) == EMPTY);
        sum += value(w);
        if (state(w) == PREFIX) break;
    }
    return sum;
}
// --8<-- [end:look_one]

// --8<-- [start:look_warp]
// The same by a warp: its lanes look at 32 tiles at once, lane 0 at the nearest. All lanes get the sum.
__device__ T look_back(const Word* tiles, Index tile) {
    T sum = 0;
    for (Index k = tile - 1 - threadIdx.x % 32;; k -= 32) {
        Word w;
        do w = k >= 0 ? look(tiles + k) : pack(PREFIX, 0);
        while (__any_sync(ALL, state(w) == EMPTY));
        unsigned found = __ballot_sync(ALL, state(w) == PREFIX);
        bool counts = !found || threadIdx.x % 32 < __ffs(found);  // up to the nearest PREFIX, and with it
        sum += __shfl_sync(ALL, warp_scan(counts ? value(w) : T(0)), 31);
        if (found) return sum;
    }
}
// --8<-- [end:look_warp]

// --8<-- [start:one_pass]
// The number of this block's tile. Not blockIdx.x: the blocks with lower tickets are running already.
__device__ Index next_tile(unsigned* next) {
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(next, 1);
    __syncthreads();
    return ticket;
}

// The sum of all tiles before tile k, whose own sum has been published. All threads must call it.
template <bool WARP>
__device__ T sum_left(Word* tiles, Index k, T total) {
    __shared__ T left;
    if (threadIdx.x < (WARP ? 32 : 1)) {
        T sum = WARP ? look_back(tiles, k) : look_back_alone(tiles, k);
        if (threadIdx.x == 0) {
            publish(tiles + k, pack(PREFIX, sum + total));
            left = sum;
        }
    }
    __syncthreads();
    return left;
}
// --8<-- [end:one_pass]

// --8<-- [start:park]
// Starts to copy 16 bytes to shared memory without a register; of those beyond n it makes zeros.
__device__ void copy_async(Pack* to, const T* in, Index i, Index n) {
    int bytes = i + 4 <= n ? 16 : i < n ? 4 * (int)(n - i) : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
                 "l"(i < n ? in + i : in), "r"(bytes)
                 : "memory");
}
__device__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }
// --8<-- [end:park]

extern "C" {

// --8<-- [start:v0]
// Hillis and Steele: in each step every thread adds what stands d places to its left. Two rows take turns.
__global__ void scan_v0(const T* in, T* out, T* sums, Index n) {
    __shared__ T tile[2][BLOCK];
    int t = threadIdx.x, now = 0;
    Index i = (Index)blockIdx.x * BLOCK + t;
    tile[0][t] = i < n ? in[i] : T(0);
    __syncthreads();
    for (int d = 1; d < BLOCK; d *= 2) {
        T x = tile[now][t];
        if (t >= d) x += tile[now][t - d];
        now = 1 - now;
        tile[now][t] = x;
        __syncthreads();
    }
    if (i < n) out[i] = tile[now][t];
    if (t == BLOCK - 1) sums[blockIdx.x] = tile[now][t];
}
// --8<-- [end:v0]

// Adds to each tile but the first the sum of all tiles before it. `sums` has been scanned.
// --8<-- [start:add]
__global__ void add_tiles(T* out, const T* sums, Index n, int tile) {
    if (blockIdx.x == 0) return;
    T left = sums[blockIdx.x - 1];
    Index start = (Index)blockIdx.x * tile;
    for (int k = threadIdx.x; k < tile; k += BLOCK)
        if (start + k < n) out[start + k] += left;
}
// --8<-- [end:add]

// --8<-- [start:v1]
// Blelloch: sums of 2, 4, 8, … on the way up; on the way down each node hands its left child what stands to the left,
// and its right child that and the left child's sum. Two numbers per thread.
__global__ void scan_v1(const T* in, T* out, T* sums, Index n) {
    constexpr int SIZE = 2 * BLOCK;
    __shared__ T tile[SIZE];
    int t = threadIdx.x;
    Index i = (Index)blockIdx.x * SIZE + t;
    T a = i < n ? in[i] : T(0), b = i + BLOCK < n ? in[i + BLOCK] : T(0);
    tile[t] = a;
    tile[t + BLOCK] = b;
    for (int d = 1; d < SIZE; d *= 2) {
        __syncthreads();
        int right = 2 * d * (t + 1) - 1;
        if (right < SIZE) tile[right] += tile[right - d];
    }
    if (t == 0) {
        sums[blockIdx.x] = tile[SIZE - 1];
        tile[SIZE - 1] = 0;
    }
    for (int d = BLOCK; d > 0; d /= 2) {
        __syncthreads();
        int right = 2 * d * (t + 1) - 1;
        if (right < SIZE) {
            T sum = tile[right - d];
            tile[right - d] = tile[right];
            tile[right] += sum;
        }
    }
    __syncthreads();
    if (i < n) out[i] = tile[t] + a;
    if (i + BLOCK < n) out[i + BLOCK] = tile[t + BLOCK] + b;
}
// --8<-- [end:v1]

// --8<-- [start:v2]
// v1 with a gap of one word after every 32.
__global__ void scan_v2(const T* in, T* out, T* sums, Index n) {
    constexpr int SIZE = 2 * BLOCK;
    auto at = [](int i) { return i + i / 32; };
    __shared__ T tile[SIZE + SIZE / 32];
    int t = threadIdx.x;
    Index i = (Index)blockIdx.x * SIZE + t;
    T a = i < n ? in[i] : T(0), b = i + BLOCK < n ? in[i + BLOCK] : T(0);
    tile[at(t)] = a;
    tile[at(t + BLOCK)] = b;
    for (int d = 1; d < SIZE; d *= 2) {
        __syncthreads();
        int right = 2 * d * (t + 1) - 1;
        if (right < SIZE) tile[at(right)] += tile[at(right - d)];
    }
    if (t == 0) {
        sums[blockIdx.x] = tile[at(SIZE - 1)];
        tile[at(SIZE - 1)] = 0;
    }
    for (int d = BLOCK; d > 0; d /= 2) {
        __syncthreads();
        int right = 2 * d * (t + 1) - 1;
        if (right < SIZE) {
            T sum = tile[at(right - d)];
            tile[at(right - d)] = tile[at(right)];
            tile[at(right)] += sum;
        }
    }
    __syncthreads();
    if (i < n) out[i] = tile[at(t)] + a;
    if (i + BLOCK < n) out[i + BLOCK] = tile[at(t + BLOCK)] + b;
}
// --8<-- [end:v2]

// --8<-- [start:v3]
// A warp scans 32 numbers in five shuffles; shared memory holds one sum per warp.
__global__ void scan_v3(const T* in, T* out, T* sums, Index n) {
    Index i = (Index)blockIdx.x * BLOCK + threadIdx.x;
    T x = warp_scan(i < n ? in[i] : T(0)), total;
    T left = sum_before(__shfl_sync(ALL, x, 31), total);
    if (i < n) out[i] = left + x;
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}
// --8<-- [end:v3]

// --8<-- [start:v4]
// Sixteen numbers per thread.
__global__ void scan_v4(const T* in, T* out, T* sums, Index n) {
    Tile tile;
    tile.load(in, blockIdx.x, n);
    T total = tile.scan();
    tile.store(out, blockIdx.x, n, 0);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void add_wide(T* out, const T* sums, Index n) {
    if (blockIdx.x == 0) return;
    Tile tile;
    tile.load(out, blockIdx.x, n);
    for (int r = 0; r < ROWS; r++) tile.before[r] = 0;
    tile.store(out, blockIdx.x, n, sums[blockIdx.x - 1]);
}
// --8<-- [end:v4]

// --8<-- [start:v5]
// First only the sums of the tiles; once these are scanned, the tiles, each with what stands to its left.
__global__ void sum_tiles(const T* in, T* sums, Index n) {
    Tile tile;
    tile.load(in, blockIdx.x, n);
    T x = 0, total;
    for (int r = 0; r < ROWS; r++) x += (tile.row[r].x[0] + tile.row[r].x[1]) + (tile.row[r].x[2] + tile.row[r].x[3]);
    sum_before(__shfl_sync(ALL, warp_scan(x), 31), total);
    if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

__global__ void scan_v5(const T* in, T* out, const T* sums, Index n) {
    Tile tile;
    tile.load(in, blockIdx.x, n);
    tile.scan();
    tile.store(out, blockIdx.x, n, blockIdx.x ? sums[blockIdx.x - 1] : T(0));
}
// --8<-- [end:v5]

// --8<-- [start:v6]
// One pass. `tiles` and `*next` are 0 before the launch.
__global__ void scan_v6(const T* in, T* out, Word* tiles, unsigned* next, Index n) {
    Index k = next_tile(next);
    Tile tile;
    tile.load(in, k, n);
    T total = tile.scan();
    if (threadIdx.x == 0) publish(tiles + k, pack(k ? SUM : PREFIX, total));
    T left = sum_left<false>(tiles, k, total);
    tile.store(out, k, n, left);
}
// --8<-- [end:v6]

// --8<-- [start:v7]
__global__ void scan_v7(const T* in, T* out, Word* tiles, unsigned* next, Index n) {
    Index k = next_tile(next);
    Tile tile;
    tile.load(in, k, n);
    T total = tile.scan();
    if (threadIdx.x == 0) publish(tiles + k, pack(k ? SUM : PREFIX, total));
    T left = sum_left<true>(tiles, k, total);
    tile.store(out, k, n, left);
}
// --8<-- [end:v7]

__global__ void scan_exclusive(const T* in, T* out, Word* tiles, unsigned* next, Index n) {
    Index k = next_tile(next);
    Tile tile;
    tile.load(in, k, n);
    T total = tile.scan();
    if (threadIdx.x == 0) publish(tiles + k, pack(k ? SUM : PREFIX, total));
    T left = sum_left<true>(tiles, k, total);
    tile.store<true>(out, k, n, left);
}

// --8<-- [start:v8]
// v7 with its tile in shared memory, where it takes no registers while the block waits.
__global__ void scan_v8(const T* in, T* out, Word* tiles, unsigned* next, Index n) {
    __shared__ Pack parked[PARKED][BLOCK];  // each thread reads and writes only its own
    int t = threadIdx.x;
    Index k = next_tile(next), size = PARKED * 4 * BLOCK;
    Index i = k * size + t / 32 * (PARKED * 128) + t % 32 * 4;
    for (int r = 0; r < PARKED; r++) copy_async(&parked[r][t], in, i + 128 * r, n);
    wait_for_copies();
    T sum = 0, total;
    for (int r = 0; r < PARKED; r++) {
        Pack p = parked[r][t];
        sum += (p.x[0] + p.x[1]) + (p.x[2] + p.x[3]);
    }
    T before = sum_before(__shfl_sync(ALL, warp_scan(sum), 31), total);
    if (t == 0) publish(tiles + k, pack(k ? SUM : PREFIX, total));

    for (int r = 0; r < PARKED; r++) {  // now that the others know the sum, there is time to scan
        Pack p = parked[r][t];
        for (int c = 1; c < 4; c++) p.x[c] += p.x[c - 1];
        T row = warp_scan(p.x[3]), left = __shfl_up_sync(ALL, row, 1);
        for (int c = 0; c < 4; c++) p.x[c] += t % 32 ? before + left : before;
        parked[r][t] = p;
        before += __shfl_sync(ALL, row, 31);
    }
    T left = sum_left<true>(tiles, k, total);
    for (int r = 0; r < PARKED; r++) {
        Pack p = parked[r][t];
        for (int c = 0; c < 4; c++) p.x[c] += left;
        if ((k + 1) * size <= n)
            __stwb((int4*)(out + i + 128 * r), *(int4*)&p);
        else
            for (int c = 0; c < 4; c++)
                if (i + 128 * r + c < n) out[i + 128 * r + c] = p.x[c];
    }
}
// --8<-- [end:v8]

// --8<-- [start:v9]
// v8 with blocks that stay: while one tile is being scanned, the copies of the block's next tile are on their way.
__global__ void scan_v9(const T* in, T* out, Word* tiles, unsigned* next, Index n) {
    constexpr int HALF = PARKED / 2;  // rows of each of two tiles
    __shared__ Pack parked[2][HALF][BLOCK];
    int t = threadIdx.x;
    Index size = HALF * 4 * BLOCK, count = (n + size - 1) / size, start = t / 32 * (HALF * 128) + t % 32 * 4;
    auto fetch = [&](int half, Index k) {
        if (k < count)
            for (int r = 0; r < HALF; r++) copy_async(&parked[half][r][t], in, k * size + start + 128 * r, n);
        asm volatile("cp.async.commit_group;" ::: "memory");  // empty groups count, too
    };
    Index k = next_tile(next);
    __syncthreads();  // all have read this ticket before the next one is drawn
    fetch(0, k);
    for (int half = 0; k < count; half = 1 - half) {
        Index after = next_tile(next);
        fetch(1 - half, after);
        asm volatile("cp.async.wait_group 1;" ::: "memory");  // all but the last group: this tile is here
        Pack(*mine)[BLOCK] = parked[half];
        T sum = 0, total;
        for (int r = 0; r < HALF; r++) {
            Pack p = mine[r][t];
            sum += (p.x[0] + p.x[1]) + (p.x[2] + p.x[3]);
        }
        T before = sum_before(__shfl_sync(ALL, warp_scan(sum), 31), total);
        if (t == 0) publish(tiles + k, pack(k ? SUM : PREFIX, total));
        for (int r = 0; r < HALF; r++) {
            Pack p = mine[r][t];
            for (int c = 1; c < 4; c++) p.x[c] += p.x[c - 1];
            T row = warp_scan(p.x[3]), left = __shfl_up_sync(ALL, row, 1);
            for (int c = 0; c < 4; c++) p.x[c] += t % 32 ? before + left : before;
            mine[r][t] = p;
            before += __shfl_sync(ALL, row, 31);
        }
        T left = sum_left<true>(tiles, k, total);
        Index i = k * size + start;
        for (int r = 0; r < HALF; r++) {
            Pack p = mine[r][t];
            for (int c = 0; c < 4; c++) p.x[c] += left;
            if ((k + 1) * size <= n)
                __stwb((int4*)(out + i + 128 * r), *(int4*)&p);
            else
                for (int c = 0; c < 4; c++)
                    if (i + 128 * r + c < n) out[i + 128 * r + c] = p.x[c];
        }
        k = after;
    }
}
// --8<-- [end:v9]

// The yardstick: reads and writes every byte once. n must be a multiple of 4; launch one thread for 16 numbers.
__global__ void copy(const T* from, T* to, Index n) {
    Index i = (Index)blockIdx.x * (4 * BLOCK) + threadIdx.x;
    Pack p[4];
    for (int k = 0; k < 4; ++k)
        if (i + k * BLOCK < n / 4) p[k] = reinterpret_cast<const Pack*>(from)[i + k * BLOCK];
    for (int k = 0; k < 4; ++k)
        if (i + k * BLOCK < n / 4) reinterpret_cast<Pack*>(to)[i + k * BLOCK] = p[k];
}

}  // extern "C"
