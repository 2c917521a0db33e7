// One step of PageRank, pulled: y[i] = base + damping * (the sum of share[j] over all j that cite i).
//
// The graph is in CSR by the node that is cited: row i holds, in sources[offsets[i] .. offsets[i + 1]), who cites i.
// share[j] is j's rank divided by how many it cites, so a row needs no values, only the sum of what it gathers.

constexpr unsigned ALL = 0xffffffffu;
#ifndef LANES
#define LANES 32  // of pull_lanes: how many lanes work at one row; a power of two, at most 32
#endif
#ifndef TILE
#define TILE 2048  // of pull_tile: edges and ends of rows that a block takes
#endif
#ifndef TEAM
#define TEAM 2  // of pull_tile: lanes that add up one row
#endif
#ifndef SHARE
#define SHARE double  // of gather: what it gathers
#endif
constexpr int BLOCK = 256;

// --8<-- [start:spread]
// What each node hands on, and the rank of those that cite nobody, which everybody shares. Clears the ranks behind it.
extern "C" __global__ void spread(double* rank, const int* degree, double* share, double* dangling, int n) {
    __shared__ double lost[BLOCK / 32];
    double mine = 0;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
        double r = rank[i];
        int d = degree[i];
        share[i] = d ? r / d : 0.0;
        rank[i] = 0;
        if (!d) mine += r;
    }
    for (int s = 16; s; s /= 2) mine += __shfl_xor_sync(ALL, mine, s);
    if (threadIdx.x % 32 == 0) lost[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x) return;
    for (int w = 1; w < BLOCK / 32; ++w) mine += lost[w];
    atomicAdd(dangling, mine);  // one a block: additions to one address wait for each other
}
// --8<-- [end:spread]

__device__ double base(const double* dangling, double damping, int n) {
    return (1.0 - damping + damping * dangling[0]) / n;
}

// --8<-- [start:thread]
extern "C" __global__ void pull_thread(const int* offsets, const int* sources, const double* share,
                                       const double* dangling, double* rank, double damping, int n) {
    int row = blockIdx.x * BLOCK + threadIdx.x;
    if (row >= n) return;
    int end = offsets[row + 1];
    double sum = 0;
    for (int e = offsets[row]; e < end; ++e) {
        int source = sources[e];
        sum += share[source];
    }
    rank[row] = base(dangling, damping, n) + damping * sum;
}
// --8<-- [end:thread]

// --8<-- [start:lanes]
extern "C" __global__ void pull_lanes(const int* offsets, const int* sources, const double* share,
                                      const double* dangling, double* rank, double damping, int n) {
    int row = (blockIdx.x * BLOCK + threadIdx.x) / LANES, lane = threadIdx.x % LANES;
    double sum = 0;
    if (row < n) {
        int end = offsets[row + 1];
        for (int e = offsets[row] + lane; e < end; e += LANES) {
            int source = sources[e];
            sum += share[source];
        }
    }
    for (int s = LANES / 2; s; s /= 2) sum += __shfl_xor_sync(ALL, sum, s);
    if (row < n && lane == 0) rank[row] = base(dangling, damping, n) + damping * sum;
}
// --8<-- [end:lanes]

// --8<-- [start:cut]
// Where each tile starts: how many rows end within the first `from` steps of the path that takes a row's edges, one a
// step, and then the row's end. The graph stays the same, so this is asked once.
extern "C" __global__ void cut_tiles(const int* offsets, int* first_rows, int tiles, int n, int edges) {
    int tile = blockIdx.x * BLOCK + threadIdx.x;
    if (tile > tiles) return;
    int from = min(tile * TILE, n + edges), low = max(0, from - edges), high = min(from, n);
    while (low < high) {
        int row = (low + high) / 2;
        if (offsets[row + 1] <= from - row - 1)
            low = row + 1;
        else
            high = row;
    }
    first_rows[tile] = low;
}
// --8<-- [end:cut]

// --8<-- [start:tile]
extern "C" __global__ void pull_tile(const int* offsets, const int* sources, const double* share,
                                     const double* dangling, double* rank, double damping, int n, const int* first_rows,
                                     int edges) {
    __shared__ double gathered[TILE];
    int first_row = first_rows[blockIdx.x], last_row = first_rows[blockIdx.x + 1];
    int first = blockIdx.x * TILE - first_row, last = min((blockIdx.x + 1) * TILE, n + edges) - last_row;
#pragma unroll
    for (int k = 0; k < TILE; k += BLOCK) {
        int e = first + k + threadIdx.x;
        if (e < last) {
            int source = sources[e];
            gathered[k + threadIdx.x] = share[source];
        }
    }
    __syncthreads();

    unsigned team = ((1ull << TEAM) - 1) << (threadIdx.x % 32 / TEAM * TEAM);  // the lanes that share my row
    for (int row = first_row + threadIdx.x / TEAM; row <= last_row && row < n; row += BLOCK / TEAM) {
        int begin = max(offsets[row], first), end = min(offsets[row + 1], last);
        double sum = 0;
        for (int e = begin + threadIdx.x % TEAM; e < end; e += TEAM) sum += gathered[e - first];
        for (int s = TEAM / 2; s; s /= 2) sum += __shfl_xor_sync(team, sum, s);
        if (threadIdx.x % TEAM) continue;
        sum *= damping;
        if (row < last_row) sum += base(dangling, damping, n);  // a row's end lies in one tile only
        if (row == first_row || row == last_row)
            atomicAdd(&rank[row], sum);  // other tiles may hold more of this row; `spread` left a zero
        else
            rank[row] = sum;
    }
}
// --8<-- [end:tile]

// --8<-- [start:gather]
// The yardstick: reads every index and gathers every share, eight in flight, and knows nothing of rows.
extern "C" __global__ void gather(const int* sources, const SHARE* share, double* out, int edges) {
    double sum = 0;
    int first = blockIdx.x * 8 * BLOCK + threadIdx.x;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        int e = first + k * BLOCK;
        if (e < edges) {
            int source = sources[e];
            sum += share[source];
        }
    }
    for (int s = 16; s; s /= 2) sum += __shfl_xor_sync(ALL, sum, s);
    if (threadIdx.x % 32 == 0) out[(blockIdx.x * BLOCK + threadIdx.x) / 32] = sum;
}
// --8<-- [end:gather]
