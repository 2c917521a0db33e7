// Products of tiles in shared memory, fp32: what tiled.cu and backward.cu are made of.
//
// A block has 128 threads: 8 of them below each other (y), 16 side by side (x). A tile of sums has 64 rows; thread
// (x, y) has rows y, y + 8, …, y + 56, and in each of them either columns x, x + 16, x + 32, x + 48 (of scores) or
// HEAD / 16 neighbours (of values).
#ifndef HEAD
#define HEAD 64  // elements of a row of Q, K, V and O
#endif

constexpr int THREADS = 128;
constexpr int SIDE = 64;           // rows of a tile, and columns of a tile of scores
constexpr int WIDE = HEAD + 16;    // floats from row to row where a warp's two rows are read: 16 banks apart
constexpr int NARROW = HEAD + 4;   // … where eight neighbouring rows are read at once: 4 banks apart
constexpr int SCORES = SIDE + 16;  // … of a tile of scores
constexpr int OWN = HEAD / 16;     // columns of values a thread has
constexpr float LOG2E = 1.44269504f;

struct Thread {
    int x = threadIdx.x % 16, y = threadIdx.x / 16;
};

// --8<-- [start:load]
// Brings 64 rows, of which `left` exist, into shared memory; the others become zeros.
__device__ void load(float* to, int stride, const float* from, int left) {
    for (int i = threadIdx.x; i < SIDE * HEAD / 4; i += THREADS) {
        int row = i / (HEAD / 4), column = i % (HEAD / 4) * 4;
        float4 four =
            row < left ? *reinterpret_cast<const float4*>(from + row * HEAD + column) : make_float4(0, 0, 0, 0);
        *reinterpret_cast<float4*>(to + row * stride + column) = four;
    }
}
// --8<-- [end:load]

// --8<-- [start:products]
// s[i][j] += row y + 8 i of a · row x + 16 j of b
__device__ void rows_by_rows(float (&s)[8][4], const float* a, const float* b, Thread t) {
#pragma unroll 2
    for (int d = 0; d < HEAD; d += 4) {
        float4 row[8], column[4];
#pragma unroll
        for (int i = 0; i < 8; ++i) row[i] = *reinterpret_cast<const float4*>(a + (t.y + 8 * i) * WIDE + d);
#pragma unroll
        for (int j = 0; j < 4; ++j) column[j] = *reinterpret_cast<const float4*>(b + (t.x + 16 * j) * NARROW + d);
#pragma unroll
        for (int i = 0; i < 8; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                s[i][j] = fmaf(row[i].x, column[j].x, s[i][j]);
                s[i][j] = fmaf(row[i].y, column[j].y, s[i][j]);
                s[i][j] = fmaf(row[i].z, column[j].z, s[i][j]);
                s[i][j] = fmaf(row[i].w, column[j].w, s[i][j]);
            }
    }
}

// o[i][c] += Σ p[y + 8 i][k] * b[k][column c of the thread]
__device__ void scores_by_rows(float (&o)[8][OWN], const float* p, const float* b, int stride, Thread t) {
#pragma unroll 2
    for (int k = 0; k < SIDE; k += 4) {
        float4 row[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) row[i] = *reinterpret_cast<const float4*>(p + (t.y + 8 * i) * SCORES + k);
#pragma unroll
        for (int e = 0; e < 4; ++e)
#pragma unroll
            for (int c = 0; c < OWN; c += 4) {  // neighbours are 4 columns; a second four lies 64 columns further
                float4 four = *reinterpret_cast<const float4*>(b + (k + e) * stride + t.x * 4 + c * 16);
#pragma unroll
                for (int i = 0; i < 8; ++i) {
                    float weight = e == 0 ? row[i].x : e == 1 ? row[i].y : e == 2 ? row[i].z : row[i].w;
                    o[i][c] = fmaf(weight, four.x, o[i][c]);
                    o[i][c + 1] = fmaf(weight, four.y, o[i][c + 1]);
                    o[i][c + 2] = fmaf(weight, four.z, o[i][c + 2]);
                    o[i][c + 3] = fmaf(weight, four.w, o[i][c + 3]);
                }
            }
    }
}
// --8<-- [end:products]

// Writes a tile of values, each row times `factor` of it; rows from `left` on do not exist.
__device__ void store(float* to, const float (&o)[8][OWN], const float (&factor)[8], int left, Thread t) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int c = 0; c < OWN; c += 4)
            if (t.y + 8 * i < left)
                *reinterpret_cast<float4*>(to + (t.y + 8 * i) * HEAD + t.x * 4 + c * 16) = make_float4(
                    o[i][c] * factor[i], o[i][c + 1] * factor[i], o[i][c + 2] * factor[i], o[i][c + 3] * factor[i]);
}
