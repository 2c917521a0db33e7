// A table of records of eight 32-bit fields, as an array of structures (AoS) and as a structure of arrays (SoA).
// weigh_… reads all eight fields of a record, pick_… one. Integers, so results are exact.
using Index = long long;

constexpr int FIELDS = 8;   // 32 bytes a record: one sector
constexpr int BLOCK = 256;  // threads, and records of a block of weigh_…
constexpr int EACH = 4;     // records a thread of pick_…

// --8<-- [start:record]
struct Record {
    unsigned field[FIELDS];
};

__device__ unsigned weigh(const Record& r) {
    unsigned sum = 0;
#pragma unroll
    for (int f = 0; f < FIELDS; ++f) sum += (f + 1) * r.field[f];
    return sum;
}
// --8<-- [end:record]

extern "C" {

// --8<-- [start:pick]
// Four independent loads before the first store, so that enough bytes are in flight.
__global__ void pick_aos(const Record* table, unsigned* out, Index n) {
    Index i = (Index)blockIdx.x * EACH * BLOCK + threadIdx.x;
    unsigned picked[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (i + k * BLOCK < n) picked[k] = table[i + k * BLOCK].field[3];
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (i + k * BLOCK < n) out[i + k * BLOCK] = picked[k];
}

__global__ void pick_soa(const unsigned* columns, unsigned* out, Index n) {
    const unsigned* column = columns + 3 * n;
    Index i = (Index)blockIdx.x * EACH * BLOCK + threadIdx.x;
    unsigned picked[EACH];
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (i + k * BLOCK < n) picked[k] = column[i + k * BLOCK];
#pragma unroll
    for (int k = 0; k < EACH; ++k)
        if (i + k * BLOCK < n) out[i + k * BLOCK] = picked[k];
}
// --8<-- [end:pick]

// --8<-- [start:weigh]
__global__ void weigh_aos(const Record* table, unsigned* out, Index n) {
    Index i = (Index)blockIdx.x * BLOCK + threadIdx.x;
    if (i < n) out[i] = weigh(table[i]);
}

__global__ void weigh_soa(const unsigned* columns, unsigned* out, Index n) {
    Index i = (Index)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    Record r;
#pragma unroll
    for (int f = 0; f < FIELDS; ++f) r.field[f] = columns[f * n + i];
    out[i] = weigh(r);
}
// --8<-- [end:weigh]

// --8<-- [start:vector]
// Two loads of 16 bytes. A uint4 promises that it begins at a multiple of 16, which Record does not.
__global__ void weigh_vector(const uint4* table, unsigned* out, Index n) {
    Index i = (Index)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    uint4 a = table[2 * i], b = table[2 * i + 1];
    out[i] = weigh({a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w});
}
// --8<-- [end:vector]

// --8<-- [start:shared]
// The block's records come in as they lie, 512 bytes in a row a warp; each thread takes its own from shared memory.
// Packs of 16 bytes are kept at p ^ (p / 8 % 2): eight lanes that read every second one then use all 32 banks.
__global__ void weigh_shared(const uint4* table, unsigned* out, Index n) {
    __shared__ uint4 packs[2 * BLOCK];
    Index first = (Index)blockIdx.x * BLOCK;
    int t = threadIdx.x;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        int p = k * BLOCK + t;
        if (2 * first + p < 2 * n) packs[p ^ (p / 8 % 2)] = table[2 * first + p];
    }
    __syncthreads();
    if (first + t >= n) return;
    int p = 2 * t, turn = p / 8 % 2;
    uint4 a = packs[p ^ turn], b = packs[(p + 1) ^ turn];
    out[first + t] = weigh({a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w});
}
// --8<-- [end:shared]

}  // extern "C"
