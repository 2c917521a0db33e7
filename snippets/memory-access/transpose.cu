// Transpose a matrix of 32-bit words: out[c][r] = in[r][c]. Any number of rows and columns.
//
//   naive      a word a thread
//   tiled      32 × 32 words through shared memory, so that both sides are coalesced
//   padded     the same, with a word of padding a row: no bank conflicts
//   swizzled   the same, without the padding: words are kept at another place
//   wide       16-byte loads and stores of tiles of 64 × 64, down the columns of tiles
//
// Blocks of the first four have 32 × 8 threads, four rows each.
using Index = long long;

constexpr int TILE = 32, ROWS = 8;

// --8<-- [start:naive]
extern "C" __global__ void transpose_naive(const float* in, float* out, int rows, int cols) {
    int c = blockIdx.x * TILE + threadIdx.x;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS) {
        int r = blockIdx.y * TILE + threadIdx.y + j;
        if (r < rows && c < cols) out[(Index)c * rows + r] = in[(Index)r * cols + c];
    }
}
// --8<-- [end:naive]

// --8<-- [start:tiled]
extern "C" __global__ void transpose_tiled(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[TILE * TILE];
    int left = blockIdx.x * TILE, top = blockIdx.y * TILE, x = threadIdx.x;
#pragma unroll
    for (int y = threadIdx.y, j = 0; j < TILE; j += ROWS, y += ROWS)
        if (top + y < rows && left + x < cols) tile[y * TILE + x] = in[(Index)(top + y) * cols + left + x];
    __syncthreads();
#pragma unroll
    for (int y = threadIdx.y, j = 0; j < TILE;
         j += ROWS, y += ROWS)  // row y of the result's tile: column y of this one
        if (left + y < cols && top + x < rows) out[(Index)(left + y) * rows + top + x] = tile[x * TILE + y];
}
// --8<-- [end:tiled]

// --8<-- [start:layouts]
// Where the word of row y and column x of a tile is kept.
struct Padded {
    static constexpr int WORDS = TILE * (TILE + 1);
    static __device__ int at(int y, int x) { return y * (TILE + 1) + x; }
};

struct Swizzled {
    static constexpr int WORDS = TILE * TILE;
    static __device__ int at(int y, int x) { return y * TILE + (x ^ y); }
};

template <typename Layout>
__device__ void transpose_tile(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[Layout::WORDS];
    int left = blockIdx.x * TILE, top = blockIdx.y * TILE, x = threadIdx.x;
#pragma unroll
    for (int y = threadIdx.y, j = 0; j < TILE; j += ROWS, y += ROWS)
        if (top + y < rows && left + x < cols) tile[Layout::at(y, x)] = in[(Index)(top + y) * cols + left + x];
    __syncthreads();
#pragma unroll
    for (int y = threadIdx.y, j = 0; j < TILE; j += ROWS, y += ROWS)
        if (left + y < cols && top + x < rows) out[(Index)(left + y) * rows + top + x] = tile[Layout::at(x, y)];
}

extern "C" __global__ void transpose_padded(const float* in, float* out, int rows, int cols) {
    transpose_tile<Padded>(in, out, rows, cols);
}

extern "C" __global__ void transpose_swizzled(const float* in, float* out, int rows, int cols) {
    transpose_tile<Swizzled>(in, out, rows, cols);
}
// --8<-- [end:layouts]

// --8<-- [start:serial]
// The swizzled kernel as it was first written. Its loops begin at threadIdx.y, so how often they turn is not known.
extern "C" __global__ void transpose_serial(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[Swizzled::WORDS];
    int left = blockIdx.x * TILE, top = blockIdx.y * TILE, x = threadIdx.x;
    for (int y = threadIdx.y; y < TILE; y += ROWS)
        if (top + y < rows && left + x < cols) tile[Swizzled::at(y, x)] = in[(Index)(top + y) * cols + left + x];
    __syncthreads();
    for (int y = threadIdx.y; y < TILE; y += ROWS)
        if (left + y < cols && top + x < rows) out[(Index)(left + y) * rows + top + x] = tile[Swizzled::at(x, y)];
}
// --8<-- [end:serial]

// --8<-- [start:packs]
// Four neighbouring words of a row that has `length` words, from column c on. Rows begin at multiples of 16 bytes if
// their length is a multiple of 4; then a pack is wholly inside or wholly outside. Otherwise it goes word by word.
enum Hint {
    NONE,
    ONCE,  // it will not be asked for again: let the caches drop it first
    AHEAD  // of a load: past the L1, and bring all 256 bytes around it into the L2
};

__device__ float4 load_ahead(const float4* pack) {
    float4 p;
    asm volatile("ld.global.L1::no_allocate.L2::256B.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(p.x), "=f"(p.y), "=f"(p.z), "=f"(p.w)
                 : "l"(pack));
    return p;
}

template <Hint HINT>
__device__ float4 load_pack(const float* row, int c, int length) {
    if (length % 4 == 0) {
        const float4* pack = reinterpret_cast<const float4*>(row + c);
        return c >= length ? float4{} : HINT == ONCE ? __ldcs(pack) : HINT == AHEAD ? load_ahead(pack) : *pack;
    }
    float4 p = {};
    if (c < length) p.x = row[c];
    if (c + 1 < length) p.y = row[c + 1];
    if (c + 2 < length) p.z = row[c + 2];
    if (c + 3 < length) p.w = row[c + 3];
    return p;
}

template <Hint HINT>
__device__ void store_pack(float* row, int c, int length, float4 p) {
    if (length % 4 == 0) {
        float4* pack = reinterpret_cast<float4*>(row + c);
        if (c >= length) return;
        if (HINT == ONCE)
            __stcs(pack, p);
        else
            *pack = p;
        return;
    }
    if (c < length) row[c] = p.x;
    if (c + 1 < length) row[c + 1] = p.y;
    if (c + 2 < length) row[c + 2] = p.z;
    if (c + 3 < length) row[c + 3] = p.w;
}
// --8<-- [end:packs]

// --8<-- [start:pieces]
// The parts of a transpose by tiles of H rows and W columns. A thread takes 4 × 4 words at a time: it loads four packs
// from four rows, turns them in its registers, and keeps four packs of the result's rows in shared memory. There pack p
// of row r is at p ^ (r / 4 % 8): eight lanes that write eight rows, and eight lanes that read one, use all 32 banks.
template <int H, int W, int THREADS, Hint IN_HINT, Hint OUT_HINT>
struct Tile {
    static_assert(H % 32 == 0 && W % 32 == 0 && H * W % (16 * THREADS) == 0, "whole 4 x 4 pieces for every thread");
    static constexpr int PIECES = H * W / 16 / THREADS;
    static constexpr int IN = W / 4, OUT = H / 4;  // packs in a row of the tile, and of the turned tile
    static constexpr int PACKS = W * OUT;
    float4 p[PIECES][4];

    __device__ void load(const float* in, int rows, int cols, int top, int left) {
#pragma unroll
        for (int k = 0; k < PIECES; ++k) {
            int piece = k * THREADS + threadIdx.x, c = left + piece % IN * 4, r = top + piece / IN * 4;
#pragma unroll
            for (int j = 0; j < 4; ++j)
                p[k][j] = r + j < rows ? load_pack<IN_HINT>(in + (Index)(r + j) * cols, c, cols) : float4{};
        }
    }

    __device__ void keep(float4* tile) const {
#pragma unroll
        for (int k = 0; k < PIECES; ++k) {
            int piece = k * THREADS + threadIdx.x, x = piece % IN, y = piece / IN;
            const float4* q = p[k];
            float4* row = tile + 4 * x * OUT + (y ^ x % 8);
            row[0 * OUT] = {q[0].x, q[1].x, q[2].x, q[3].x};
            row[1 * OUT] = {q[0].y, q[1].y, q[2].y, q[3].y};
            row[2 * OUT] = {q[0].z, q[1].z, q[2].z, q[3].z};
            row[3 * OUT] = {q[0].w, q[1].w, q[2].w, q[3].w};
        }
    }

    static __device__ void store(const float4* tile, float* out, int rows, int cols, int top, int left) {
#pragma unroll
        for (int k = 0; k < 4 * PIECES; ++k) {
            int pack = k * THREADS + threadIdx.x, y = pack % OUT, r = pack / OUT, c = left + r;
            if (c >= cols) continue;
            store_pack<OUT_HINT>(out + (Index)c * rows, top + 4 * y, rows, tile[r * OUT + (y ^ r / 4 % 8)]);
        }
    }
};
// --8<-- [end:pieces]

// --8<-- [start:wide]
// Blocks with neighbouring numbers take tiles below one another: blockIdx.x runs down the columns of tiles.
extern "C" __global__ void transpose_wide(const float* in, float* out, int rows, int cols) {
    using Part = Tile<64, 64, 256, NONE, ONCE>;
    __shared__ float4 tile[Part::PACKS];
    int top = blockIdx.x * 64, left = blockIdx.y * 64;
    Part part;
    part.load(in, rows, cols, top, left);
    part.keep(tile);
    __syncthreads();
    part.store(tile, out, rows, cols, top, left);
}
// --8<-- [end:wide]

extern "C" {

// --8<-- [start:copy]
// The yardstick: as many bytes in and out, 16 a thread. More loads in flight make it slower (sweep.py).
__global__ void copy(const float4* in, float4* out, Index packs) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < packs) out[i] = in[i];
}
// --8<-- [end:copy]

}  // extern "C"
