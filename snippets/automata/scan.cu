// A deterministic automaton over a long text, as a reduction: symbols are functions from state to state, and functions
// compose. A symbol is a byte of which the lowest bit counts (the last kernels: the lowest BITS bits).
//
//   scan_serial   one thread, one table lookup a symbol
//   scan_lanes    one warp: lane q holds where state q has come to, and one shuffle takes all 32 a symbol further
//   scan_packed   one lane: where 8 states go are the 8 bytes of two registers, and __byte_perm() composes them
//   scan_table    the same for 8 symbols at a time, whose composed function is looked up in shared memory
//   scan_banked   the same with 32 copies of the table, one for each lane, so that no two lanes want the same bank
//   scan_ahead    scan_table again; a warp asks for its next tile before it works on this one
//
// All answer two numbers: the state at the end, and after how many symbols the automaton stood in an accepting state.
using Index = long long;

constexpr int WARP = 32;
constexpr int CHUNK = 16;  // groups of 8 symbols that a lane takes at a time: 128 symbols, so a byte can count them
extern __shared__ uint4 room[];  // as much as the host asks for

// --8<-- [start:piece]
// What a piece of text does to state q: the state that it leads to, and 32 times how often it was accepted on the way.
// Lane q of a warp holds that of state q. One shuffle composes two pieces: an index is taken modulo 32, so `earlier`
// itself says which lane of `later` to ask.
__device__ unsigned then(unsigned earlier, unsigned later) {
    return __shfl_sync(~0u, later, earlier) + (earlier & ~31u);
}
// --8<-- [end:piece]

// --8<-- [start:finish]
// Every warp brings its piece. The block composes them in the warps' order; the last block to arrive composes those of
// all blocks, reads the n % 8 symbols that are left, and writes state and count.
__device__ void finish(unsigned piece, const unsigned char* text, Index n, const unsigned* step, int bits, int start,
                       unsigned* pieces, unsigned* arrived, unsigned long long* out) {
    __shared__ unsigned shared[WARP][WARP];
    __shared__ bool last;
    int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    shared[warp][lane] = piece;
    __syncthreads();
    if (warp == 0) {
        for (int k = 1; k < warps; ++k) piece = then(piece, shared[k][lane]);
        pieces[blockIdx.x * WARP + lane] = piece;
        __threadfence();
        __syncwarp();  // 32 lanes have written, and the ticket is for all of them
        if (lane == 0) last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    piece = lane;
#pragma unroll 8
    for (int k = gridDim.x * warp / warps; k < gridDim.x * (warp + 1) / warps; ++k)
        piece = then(piece, pieces[k * WARP + lane]);
    shared[warp][lane] = piece;
    __syncthreads();
    if (threadIdx.x > 0) return;
    unsigned state = start;
    unsigned long long count = 0;  // 27 bits are enough for a block's share, and not for all
    for (int k = 0; k < warps; ++k) {
        unsigned now = shared[k][state];
        count += now / WARP, state = now % WARP;
    }
    for (Index i = n / 8 * 8; i < n; ++i) {
        unsigned now = step[(text[i] & ((1 << bits) - 1)) * WARP + state];
        count += now / WARP, state = now % WARP;
    }
    out[0] = state, out[1] = count;
}
// --8<-- [end:finish]

// The groups of 8 symbols that this warp takes, cut at multiples of `tile`.
struct Share {
    Index begin, end;
};
__device__ Share share(Index groups, int tile) {
    Index tiles = (groups + tile - 1) / tile, warps = gridDim.x * (blockDim.x / WARP);
    Index w = (blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    return {min(groups, tiles * w / warps * tile), min(groups, tiles * (w + 1) / warps * tile)};
}

// --8<-- [start:packed]
// What symbols do to eight states: byte q of `to` (states 0-3 in x, 4-7 in y) is where state q goes, byte q of `count`
// how often it was accepted on the way.
struct Packed {
    uint2 to = {0x03020100, 0x07060504}, count = {0, 0};
};

constexpr unsigned STAY = 0x76543210;  // the function that leaves every state where it is

// Bytes of `v`, chosen by eight numbers of 4 bits.
__device__ uint2 choose(uint2 v, unsigned by) { return {__byte_perm(v.x, v.y, by), __byte_perm(v.x, v.y, by >> 16)}; }

// A function of eight states as eight numbers of 4 bits: what choose() takes.
__device__ unsigned nibbles(uint2 v) { return __byte_perm(v.x | v.x >> 4, v.y | v.y >> 4, 0x6420); }

// Symbols first, then p. `by` is what they do, `counts` how often they are accepted: state q's at 8 (q % 4) + q / 4 * 4.
__device__ void put_before(Packed& p, uint2 symbols) {
    p.to = choose(p.to, symbols.x);
    p.count = choose(p.count, symbols.x);
    p.count.x += symbols.y & 0x0f0f0f0f;
    p.count.y += symbols.y >> 4 & 0x0f0f0f0f;
}
// --8<-- [end:packed]

// --8<-- [start:together]
// The pieces of 32 lanes, composed in the lanes' order: a prefix scan of functions says in which state each lane's
// symbols find an automaton that starts the tile in state q; then counts can be added. Lane q gets the piece of state q.
__device__ unsigned together(Packed p) {
    int lane = threadIdx.x % WARP;
    uint2 to = p.to;
    unsigned function = nibbles(to);
    for (int d = 1; d < WARP; d *= 2) {
        unsigned earlier = __shfl_up_sync(~0u, function, d);
        to = choose(to, lane >= d ? earlier : STAY);
        function = nibbles(to);
    }
    unsigned before = __shfl_up_sync(~0u, function, 1);
    p.count = choose(p.count, lane ? before : STAY);
    unsigned even[2] = {p.count.x & 0x00ff00ff, p.count.y & 0x00ff00ff};  // two counts a word: up to 32 * 128
    unsigned odd[2] = {p.count.x >> 8 & 0x00ff00ff, p.count.y >> 8 & 0x00ff00ff};
    for (int h = 0; h < 2; ++h) even[h] = __reduce_add_sync(~0u, even[h]), odd[h] = __reduce_add_sync(~0u, odd[h]);
    unsigned both = lane & 4 ? (lane & 1 ? odd[1] : even[1]) : (lane & 1 ? odd[0] : even[0]);
    unsigned count = lane & 2 ? both >> 16 : both & 0xffff;
    return count * WARP | (__shfl_sync(~0u, function, WARP - 1) >> 4 * (lane % 8) & 7);
}
// --8<-- [end:together]

// --8<-- [start:tiles]
// Each lane wants 128 neighbouring symbols, and each load wants neighbouring lanes: the warp reads a tile of 4 KiB
// as it lies and hands it over through shared memory, whose rows are 16 bytes longer than what they hold.
constexpr int PACKS = CHUNK / 2, ROW = PACKS + 1;  // of 16 bytes: that a lane takes; from row to row
constexpr int TILE = WARP * CHUNK;                 // groups of 8 symbols

__device__ void load(uint4 (&packs)[PACKS], const uint4* text, Index group) {
    for (int k = 0; k < PACKS; ++k) packs[k] = text[group / 2 + k * WARP + threadIdx.x % WARP];
}

template <bool AHEAD, class Walk>
__device__ unsigned tiles(const uint4* text, Index n, uint4* stage, const Walk& walk) {
    int lane = threadIdx.x % WARP;
    stage += threadIdx.x / WARP * WARP * ROW;
    Share mine = share(n / 8, TILE);
    uint4 packs[PACKS];
    if (AHEAD && mine.end - mine.begin >= TILE) load(packs, text, mine.begin);
    walk.prepare();
    unsigned piece = lane;  // nothing read: every state stays
    for (Index g = mine.begin; g < mine.end; g += TILE) {
        Packed p;
        if (mine.end - g >= TILE) {
            if (!AHEAD) load(packs, text, g);
            __syncwarp();
            for (int k = 0; k < PACKS; ++k) {
                int at = k * WARP + lane;
                stage[at / PACKS * ROW + at % PACKS] = packs[k];
            }
            __syncwarp();
            if (AHEAD && mine.end - g >= 2 * TILE) load(packs, text, g + TILE);
            for (int k = PACKS - 1; k >= 0; --k) {
                uint4 w = stage[lane * ROW + k];
                walk(p, w.z, w.w);
                walk(p, w.x, w.y);
            }
        } else {  // the text's last tile
            const uint2* groups = (const uint2*)text;
            Index from = min(mine.end, g + lane * CHUNK), to = min(mine.end, from + CHUNK);
            for (Index i = to - 1; i >= from; --i) walk(p, groups[i].x, groups[i].y);
        }
        piece = then(piece, together(p));
    }
    return piece;
}
// --8<-- [end:tiles]

// --8<-- [start:index]
// The eight bits by which the table is asked: those of 8 symbols of one bit, of 4 of two bits, 2 of four or 1 of eight.
// `at` counts the lookups of a group of 8 symbols; x and y are their bytes.
template <int BITS>
__device__ unsigned index(unsigned x, unsigned y, int at) {
    if (BITS == 1) return ((x & 0x01010101) | (y & 0x01010101) << 4) * 0x01020408 >> 24;
    unsigned w = at * (8 / BITS) < 4 ? x : y;
    if (BITS == 2) return (w & 0x03030303) * 0x01041040 >> 24;
    w >>= 8 * (at * (8 / BITS) % 4);
    return BITS == 4 ? (w & 15) | (w >> 4 & 0xf0) : w & 255;
}
// --8<-- [end:index]

// --8<-- [start:table]
// The table lies in shared memory, COPIES times: entry e of copy c at COPIES * e + c.
template <int BITS, int COPIES>
struct Lookup {
    const uint2* table;
    uint2* copies;

    __device__ void prepare() const {
        for (int i = threadIdx.x; i < 256 * COPIES; i += blockDim.x) copies[i] = table[i / COPIES];
        __syncthreads();
    }
    __device__ void operator()(Packed& p, unsigned x, unsigned y) const {
        const uint2* mine = copies + threadIdx.x % COPIES;
        for (int at = BITS - 1; at >= 0; --at)  // from the last symbols to the first
            put_before(p, mine[index<BITS>(x, y, at) * COPIES]);
    }
};

template <int BITS, int COPIES, bool AHEAD>
__device__ void by_table(const uint4* text, Index n, const unsigned* step, const uint2* table, int start,
                         unsigned* pieces, unsigned* arrived, unsigned long long* out) {
    Lookup<BITS, COPIES> walk = {table, (uint2*)room};
    unsigned piece = tiles<AHEAD>(text, n, room + 256 * COPIES / 2, walk);
    finish(piece, (const unsigned char*)text, n, step, BITS, start, pieces, arrived, out);
}
// --8<-- [end:table]

extern "C" {

// --8<-- [start:serial]
__global__ void scan_serial(const uint4* text, Index n, const unsigned* step, const uint2*, int start, unsigned*,
                            unsigned*, unsigned long long* out) {
    __shared__ unsigned table[2 * WARP];
    for (int i = 0; i < 2 * WARP; ++i) table[i] = step[i];
    unsigned state = start, count = 0;
    const unsigned char* bytes = (const unsigned char*)text;
    for (Index i = 0; i < n / 16; ++i) {
        uint4 pack = text[i];
        unsigned words[4] = {pack.x, pack.y, pack.z, pack.w};
        for (int k = 0; k < 16; ++k) {
            unsigned now = table[(words[k / 4] >> 8 * (k % 4) & 1) * WARP + state];
            count += now / WARP, state = now % WARP;
        }
    }
    for (Index i = n / 16 * 16; i < n; ++i) {
        unsigned now = table[(bytes[i] & 1) * WARP + state];
        count += now / WARP, state = now % WARP;
    }
    out[0] = state, out[1] = count;
}
// --8<-- [end:serial]

// --8<-- [start:lanes]
__global__ void scan_lanes(const uint4* text, Index n, const unsigned* step, const uint2*, int start, unsigned* pieces,
                           unsigned* arrived, unsigned long long* out) {
    const unsigned* words = (const unsigned*)text;
    int lane = threadIdx.x % WARP;
    unsigned zero = step[lane], one = step[WARP + lane];  // what one symbol does to state `lane`
    unsigned piece = lane;
    Share mine = share(n / 8, 16);
    for (Index g = mine.begin; g < mine.end; g += 16) {  // 128 symbols, four a lane
        bool here = 2 * g + lane < 2 * mine.end;
        unsigned word = here ? words[2 * g + lane] : 0, bits[4];
        for (int k = 0; k < 4; ++k) bits[k] = __ballot_sync(~0u, word >> 8 * k & 1);
        if (mine.end - g >= 16) {
#pragma unroll
            for (int i = 0; i < 128; ++i) piece = then(piece, bits[i % 4] >> i / 4 & 1 ? one : zero);
        } else {
            for (int i = 0; i < 8 * (mine.end - g); ++i) {
                unsigned symbol = __shfl_sync(~0u, word, i / 4) >> 8 * (i % 4) & 1;
                piece = then(piece, symbol ? one : zero);
            }
        }
    }
    finish(piece, (const unsigned char*)text, n, step, 1, start, pieces, arrived, out);
}
// --8<-- [end:lanes]

// --8<-- [start:one]
struct OneByOne {
    unsigned zero, one;  // what the symbols do, as eight numbers of 4 bits
    uint2 accepting;     // 1 in the bytes of accepting states

    __device__ void prepare() const {}
    __device__ void step(Packed& p, unsigned symbol) const {
        p.count.x += accepting.x, p.count.y += accepting.y;  // each state counts itself, then is asked for
        unsigned by = symbol ? one : zero;
        p.to = choose(p.to, by);
        p.count = choose(p.count, by);
    }
    __device__ void operator()(Packed& p, unsigned x, unsigned y) const {
        for (int k = 3; k >= 0; --k) step(p, y >> 8 * k & 1);
        for (int k = 3; k >= 0; --k) step(p, x >> 8 * k & 1);
    }
};

__global__ void scan_packed(const uint4* text, Index n, const unsigned* step, const uint2* table, int start,
                            unsigned* pieces, unsigned* arrived, unsigned long long* out) {
    OneByOne walk = {table[256].x, table[257].x, table[258]};
    unsigned piece = tiles<false>(text, n, room, walk);
    finish(piece, (const unsigned char*)text, n, step, 1, start, pieces, arrived, out);
}
// --8<-- [end:one]

// --8<-- [start:kernel_table]
__global__ void scan_table(const uint4* text, Index n, const unsigned* step, const uint2* table, int start,
                           unsigned* pieces, unsigned* arrived, unsigned long long* out) {
    by_table<1, 1, false>(text, n, step, table, start, pieces, arrived, out);
}
// --8<-- [end:kernel_table]

__global__ void scan_banked(const uint4* text, Index n, const unsigned* step, const uint2* table, int start,
                            unsigned* pieces, unsigned* arrived, unsigned long long* out) {
    by_table<1, WARP, false>(text, n, step, table, start, pieces, arrived, out);
}

__global__ void scan_ahead(const uint4* text, Index n, const unsigned* step, const uint2* table, int start,
                           unsigned* pieces, unsigned* arrived, unsigned long long* out) {
    by_table<1, 1, true>(text, n, step, table, start, pieces, arrived, out);
}

// Larger alphabets: 4, 16 and 256 letters.
__global__ void scan_letters4(const uint4* text, Index n, const unsigned* step, const uint2* table, int start,
                              unsigned* pieces, unsigned* arrived, unsigned long long* out) {
    by_table<2, 1, true>(text, n, step, table, start, pieces, arrived, out);
}
__global__ void scan_letters16(const uint4* text, Index n, const unsigned* step, const uint2* table, int start,
                               unsigned* pieces, unsigned* arrived, unsigned long long* out) {
    by_table<4, 1, true>(text, n, step, table, start, pieces, arrived, out);
}
__global__ void scan_letters256(const uint4* text, Index n, const unsigned* step, const uint2* table, int start,
                                unsigned* pieces, unsigned* arrived, unsigned long long* out) {
    by_table<8, 1, true>(text, n, step, table, start, pieces, arrived, out);
}

// The yardsticks: read every byte once and do next to nothing with it; copy every byte.
__global__ void read_all(const uint4* text, Index n, unsigned* out) {
    Index apart = (Index)gridDim.x * blockDim.x, i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = 0;
    for (; i + 7 * apart < n / 16; i += 8 * apart) {
        uint4 p[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) p[k] = text[i + k * apart];
#pragma unroll
        for (int k = 0; k < 8; ++k) x ^= p[k].x ^ p[k].y ^ p[k].z ^ p[k].w;
    }
    for (; i < n / 16; i += apart) x ^= text[i].x ^ text[i].y ^ text[i].z ^ text[i].w;
    x = __reduce_xor_sync(~0u, x);
    if (threadIdx.x % WARP == 0) atomicXor(out, x);
}

__global__ void copy(const uint4* text, uint4* out, Index n) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 16) out[i] = text[i];
}

}  // extern "C"
