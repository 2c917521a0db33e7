// Distances to the next edge, and the counts of boundary metrics.

#ifndef CLASSES
#define CLASSES 19
#endif
#ifndef RADIUS
#define RADIUS 3  // tolerance of the counts, in pixels
#endif
#define NONE 255  // no class: void, outside, or no edge
#define FAR 16384
#define KINDS 7

typedef unsigned char u8;
typedef unsigned u32;

extern "C" {

// --8<-- [start:distances]
// To the next edge in the same column; a thread per column walks down and up.
__global__ void column_distances(const u32* bits, int* distance, int h, int w) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    if (x >= w) return;
    const u32* edges = bits + (size_t)blockIdx.y * h * ((w + 31) / 32) + x / 32;
    int* out = distance + (size_t)blockIdx.y * h * w + x;
    int d = FAR;
    for (int y = 0; y < h; ++y) {
        d = edges[(size_t)y * ((w + 31) / 32)] >> x % 32 & 1 ? 0 : min(d + 1, FAR);
        out[(size_t)y * w] = d;
    }
    for (int y = h - 1; y >= 0; --y) {
        int before = out[(size_t)y * w];
        d = before == 0 ? 0 : min(d + 1, FAR);
        out[(size_t)y * w] = min(d, before);
    }
}

// The squared Euclidean distance: a column that is dx away helps only while dx * dx is below the best so far.
__global__ void nearest_squared(const int* distance, int* squared, int h, int w, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= w) return;
    const int* row = distance + ((size_t)blockIdx.z * h + y) * w;
    int best = min(row[x] * row[x], limit * limit + 1);
    for (int dx = 1; dx * dx < best && dx < w; ++dx) {
        int left = x >= dx ? row[x - dx] : FAR, right = x + dx < w ? row[x + dx] : FAR;
        int nearer = min(left, right);
        best = min(best, dx * dx + nearer * nearer);
    }
    squared[((size_t)blockIdx.z * h + y) * w + x] = best;
}
// --8<-- [end:distances]

// --8<-- [start:counts]
#define TX (32 + 2 * RADIUS)  // edges that a block of 32 x 8 pixels must know
#define TY (8 + 2 * RADIUS)

// The class of a pixel if one of its neighbours has another class; void and the frame do not count.
__device__ u8 edge_class(const u8* labels, int at) {
    u8 own = labels[at];
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            u8 other = labels[at + dy * (TX + 2) + dx];
            if (own != NONE && other != NONE && other != own) return own;
        }
    return NONE;
}

// Per class: edges of the guess, those with a true edge of this class within RADIUS; the same the other way round;
// and near any true edge: pixels where both maps have the class, where the truth has it, where the guess has it.
__global__ void boundary_counts(const u8* truth, const u8* guess, u32* counts, int h, int w) {
    __shared__ u8 map[2][(TX + 2) * (TY + 2)], edge[2][TX * TY];
    __shared__ u32 sums[KINDS * CLASSES];
    int thread = threadIdx.y * 32 + threadIdx.x, left = blockIdx.x * 32 - RADIUS, top = blockIdx.y * 8 - RADIUS;
    size_t image = (size_t)blockIdx.z * h * w;
    for (int i = thread; i < KINDS * CLASSES; i += 256) sums[i] = 0;
    for (int i = thread; i < (TX + 2) * (TY + 2); i += 256) {
        int x = left - 1 + i % (TX + 2), y = top - 1 + i / (TX + 2);
        bool inside = 0 <= x && x < w && 0 <= y && y < h;
        u8 t = inside ? truth[image + y * w + x] : NONE, g = inside ? guess[image + y * w + x] : NONE;
        if (t >= CLASSES) t = g = NONE;  // what the truth leaves open is not judged
        map[0][i] = t, map[1][i] = g < CLASSES ? g : NONE;
    }
    __syncthreads();
    bool any = false;
    for (int i = thread; i < TX * TY; i += 256)
        for (int k = 0; k < 2; ++k) {
            u8 c = edge_class(map[k], (i / TX + 1) * (TX + 2) + i % TX + 1);
            edge[k][i] = c;
            any |= c != NONE;
        }
    if (!__syncthreads_or(any)) return;  // no edge here: nothing to count

    int at = (threadIdx.y + RADIUS) * TX + threadIdx.x + RADIUS;  // NONE outside the image
    int centre = (threadIdx.y + RADIUS + 1) * (TX + 2) + threadIdx.x + RADIUS + 1;
    u8 t = map[0][centre], g = map[1][centre], own[2] = {edge[0][at], edge[1][at]};
    bool near = false, met[2] = {false, false};
    for (int dy = -RADIUS; dy <= RADIUS; ++dy)
        for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
            if (dx * dx + dy * dy > RADIUS * RADIUS) continue;
            u8 true_edge = edge[0][at + dy * TX + dx], guessed_edge = edge[1][at + dy * TX + dx];
            near |= true_edge != NONE;
            met[0] |= own[1] == true_edge, met[1] |= own[0] == guessed_edge;
        }
    if (own[1] != NONE) atomicAdd(&sums[own[1]], 1), atomicAdd(&sums[CLASSES + own[1]], met[0]);
    if (own[0] != NONE) atomicAdd(&sums[2 * CLASSES + own[0]], 1), atomicAdd(&sums[3 * CLASSES + own[0]], met[1]);
    if (near && t != NONE) {
        if (t == g) atomicAdd(&sums[4 * CLASSES + t], 1);
        atomicAdd(&sums[5 * CLASSES + t], 1);
        if (g != NONE) atomicAdd(&sums[6 * CLASSES + g], 1);
    }
    __syncthreads();
    for (int i = thread; i < KINDS * CLASSES; i += 256)
        if (sums[i]) atomicAdd(&counts[i], sums[i]);
}
// --8<-- [end:counts]

}  // extern "C"
