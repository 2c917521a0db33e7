// Other ways to transpose, for sweep.py. Follows transpose.cu in the same module.

// Which tile of `across` × `down` a block takes. Bands of `band` rows of tiles are walked column by column, so that the
// blocks that run at the same time read, and write, pieces of rows that lie side by side.
__device__ int2 place(int block, int across, int down, int band) {
    int first = block / (band * across) * band;  // the band's first row of tiles
    int height = min(band, down - first), i = block - first * across;
    return {i / height, first + i % height};
}

template <int H, int W, int THREADS, Hint IN_HINT, Hint OUT_HINT>
__device__ void transpose_packs(const float* in, float* out, int rows, int cols, int band) {
    using Part = Tile<H, W, THREADS, IN_HINT, OUT_HINT>;
    __shared__ float4 tile[Part::PACKS];
    int2 at = place(blockIdx.x, (cols + W - 1) / W, (rows + H - 1) / H, band);
    Part part;
    part.load(in, rows, cols, at.y * H, at.x * W);
    part.keep(tile);
    __syncthreads();
    part.store(tile, out, rows, cols, at.y * H, at.x * W);
}

// --8<-- [start:registers]
// No shared memory. A warp is LX × LY lanes, each with 4 × 4 words: LX * 16 bytes of a row are read together, LY * 16
// bytes of a row written. Whole sectors both ways if LX and LY are 2 or more. A block's tile is 64 × 64.
template <int LX, Hint IN_HINT, Hint OUT_HINT>
__device__ void transpose_registers(const float* in, float* out, int rows, int cols, int band) {
    constexpr int LY = 32 / LX, WARPS_X = 16 / LX;
    int2 at = place(blockIdx.x, (cols + 63) / 64, (rows + 63) / 64, band);
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int c = at.x * 64 + 4 * (warp % WARPS_X * LX + lane % LX), r = at.y * 64 + 4 * (warp / WARPS_X * LY + lane / LX);
    float4 q[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
        q[j] = r + j < rows ? load_pack<IN_HINT>(in + (Index)(r + j) * cols, c, cols) : float4{};
    float4 turned[4] = {{q[0].x, q[1].x, q[2].x, q[3].x},
                        {q[0].y, q[1].y, q[2].y, q[3].y},
                        {q[0].z, q[1].z, q[2].z, q[3].z},
                        {q[0].w, q[1].w, q[2].w, q[3].w}};
#pragma unroll
    for (int j = 0; j < 4; ++j)
        if (c + j < cols) store_pack<OUT_HINT>(out + (Index)(c + j) * rows, r, rows, turned[j]);
}
// --8<-- [end:registers]

// --8<-- [start:persistent]
// As many blocks as fit; each goes from tile to tile and loads the next one before it stores the one it has.
template <int H, int W, int THREADS, Hint IN_HINT, Hint OUT_HINT>
__device__ void transpose_persistent(const float* in, float* out, int rows, int cols, int band) {
    using Part = Tile<H, W, THREADS, IN_HINT, OUT_HINT>;
    __shared__ float4 tile[Part::PACKS];
    int across = (cols + W - 1) / W, down = (rows + H - 1) / H, block = blockIdx.x;
    if (block >= across * down) return;
    Part part;
    int2 at = place(block, across, down, band);
    part.load(in, rows, cols, at.y * H, at.x * W);
    while (true) {
        part.keep(tile);
        __syncthreads();
        int2 now = at;
        block += gridDim.x;
        bool more = block < across * down;
        if (more) {
            at = place(block, across, down, band);
            part.load(in, rows, cols, at.y * H, at.x * W);
        }
        part.store(tile, out, rows, cols, now.y * H, now.x * W);
        if (!more) return;
        __syncthreads();
    }
}
// --8<-- [end:persistent]

// --8<-- [start:large]
// transpose_packs with tiles of more than 48 KiB.
template <int H, int W, int THREADS, Hint IN_HINT, Hint OUT_HINT>
__device__ void transpose_large(const float* in, float* out, int rows, int cols, int band) {
    using Part = Tile<H, W, THREADS, IN_HINT, OUT_HINT>;
    extern __shared__ float4 large[];
    int2 at = place(blockIdx.x, (cols + W - 1) / W, (rows + H - 1) / H, band);
    Part part;
    part.load(in, rows, cols, at.y * H, at.x * W);
    part.keep(large);
    __syncthreads();
    part.store(large, out, rows, cols, at.y * H, at.x * W);
}
// --8<-- [end:large]

// Copies with other numbers of loads in flight.
template <int LOADS, bool STREAM>
__device__ void copy_packs(const float4* in, float4* out, Index packs) {
    Index i = (Index)blockIdx.x * LOADS * blockDim.x + threadIdx.x;
    float4 p[LOADS];
#pragma unroll
    for (int k = 0; k < LOADS; ++k)
        if (i + k * blockDim.x < packs) p[k] = STREAM ? __ldcs(in + i + k * blockDim.x) : in[i + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < LOADS; ++k)
        if (i + k * blockDim.x < packs) {
            if (STREAM)
                __stcs(out + i + k * blockDim.x, p[k]);
            else
                out[i + k * blockDim.x] = p[k];
        }
}
