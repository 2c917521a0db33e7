// Boundaries of label maps, a byte per pixel: classes 0 to CLASSES - 1, any other number is void.
// A set of classes is a word: bit c for class c, and a bit each for void and for what lies outside the image.

#ifndef CLASSES
#define CLASSES 19
#endif
#define ROWS 8  // that a thread walks down

typedef unsigned char u8;
typedef unsigned u32;

constexpr u32 ALL = (1u << CLASSES) - 1, VOID = 1u << 30, OUTSIDE = 1u << 31;

extern "C" {

// --8<-- [start:v0]
__global__ void one_hot(const u8* labels, float* planes, int pixels) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, image = blockIdx.y;
    if (i >= pixels) return;
    u8 label = labels[(size_t)image * pixels + i];
    for (int c = 0; c < CLASSES; ++c) planes[((size_t)image * CLASSES + c) * pixels + i] = label == c;
}

__global__ void convolve(const float* planes, float* edges, int h, int w) {
    int x = blockIdx.x * 32 + threadIdx.x, y = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    if (x >= w || y >= h) return;
    const float* plane = planes + (size_t)blockIdx.z * h * w;
    float* out = edges + (size_t)blockIdx.z * h * w;
    auto sum = [&](int y, float& middle) {  // of three neighbours in a row, zeros outside
        if (y < 0 || y >= h) return 0.0f;
        const float* row = plane + (size_t)y * w;
        middle = row[x];
        return (x > 0 ? row[x - 1] : 0) + middle + (x + 1 < w ? row[x + 1] : 0);
    };
    float at = 0, next = 0, above = sum(y - 1, at), here = sum(y, at);
    for (int i = 0; i < ROWS && y + i < h; ++i) {
        float below = sum(y + i + 1, next);
        float laplacian = 9 * at - (above + here + below);
        out[(size_t)(y + i) * w + x] = laplacian > 0.1f ? 1.0f : 0.0f;
        above = here, here = below, at = next;
    }
}
// --8<-- [end:v0]

// --8<-- [start:sets]
__device__ u32 set_of(u8 label) { return label < CLASSES ? 1u << label : VOID; }

__device__ u32 neighbours(const u8* labels, int x, int y, int h, int w) {
    u32 set = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
            int u = x + dx, v = y + dy;
            bool inside = 0 <= u && u < w && 0 <= v && v < h;
            set |= inside ? set_of(labels[v * w + u]) : OUTSIDE;
        }
    return set;
}
// --8<-- [end:sets]

// --8<-- [start:v1]
__global__ void edge_planes(const u8* labels, float* edges, int h, int w) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, image = blockIdx.z;
    if (x >= w || y >= h) return;
    const u8* map = labels + (size_t)image * h * w;
    u8 label = map[y * w + x];
    bool edge = __popc(neighbours(map, x, y, h, w)) > 1;
    for (int c = 0; c < CLASSES; ++c) edges[(((size_t)image * CLASSES + c) * h + y) * w + x] = edge && label == c;
}
// --8<-- [end:v1]

// --8<-- [start:v2]
__global__ void class_sets(const u8* labels, u32* sets, int h, int w) {
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    size_t image = (size_t)blockIdx.z * h * w;
    sets[image + y * w + x] = neighbours(labels + image, x, y, h, w);
}
// --8<-- [end:v2]

// --8<-- [start:row]
struct alignas(16) Four {
    u32 of[4];
};

// The sets of four neighbouring pixels, each with the pixels to its left and right; all lanes must call it.
__device__ Four row_sets(const u8* labels, int x, int y, int h, int w, u32* own) {
    bool row = 0 <= y && y < h, inside = row && x < w;
    const u8* at = labels + y * w + x;
    u32 four = inside ? *(const u32*)at : 0, set[4];
    for (int k = 0; k < 4; ++k) own[k] = set[k] = inside ? set_of(four >> 8 * k & 255) : OUTSIDE;
    int lane = threadIdx.x;
    u32 left = __shfl_up_sync(~0u, set[3], 1), right = __shfl_down_sync(~0u, set[0], 1);
    if (lane == 0) left = inside && x > 0 ? set_of(at[-1]) : OUTSIDE;
    if (lane == 31) right = inside && x + 4 < w ? set_of(at[4]) : OUTSIDE;
    return {left | set[0] | set[1], set[0] | set[1] | set[2], set[1] | set[2] | set[3], set[2] | set[3] | right};
}
// --8<-- [end:row]

// --8<-- [start:v3]
__global__ void class_sets_by_four(const u8* labels, u32* sets, int h, int w) {
    int x = 4 * (blockIdx.x * 32 + threadIdx.x), y = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    size_t image = (size_t)blockIdx.z * h * w;
    u32 own[4];
    Four above = row_sets(labels + image, x, y - 1, h, w, own), here = row_sets(labels + image, x, y, h, w, own);
    for (int i = 0; i < ROWS && y + i < h; ++i) {
        Four below = row_sets(labels + image, x, y + i + 1, h, w, own), set;
        for (int k = 0; k < 4; ++k) set.of[k] = above.of[k] | here.of[k] | below.of[k];
        if (x < w) *(uint4*)(sets + image + (size_t)(y + i) * w + x) = *(uint4*)&set;
        above = here, here = below;
    }
}
// --8<-- [end:v3]

// --8<-- [start:v4]
// A bit per pixel: whether its 3 x 3 window holds more than one of the bits in `counted`; void pixels have none.
__global__ void edge_bits(const u8* labels, u32* bits, int h, int w, u32 counted) {
    int x = 4 * (blockIdx.x * 32 + threadIdx.x), y = (blockIdx.y * blockDim.y + threadIdx.y) * ROWS;
    const u8* map = labels + (size_t)blockIdx.z * h * w;
    u32 own[4], next[4];
    int words = (w + 31) / 32, lane = threadIdx.x;
    Four above = row_sets(map, x, y - 1, h, w, own), here = row_sets(map, x, y, h, w, own);
    for (int i = 0; i < ROWS && y + i < h; ++i) {
        Four below = row_sets(map, x, y + i + 1, h, w, next);
        u32 word = 0;
        for (int k = 0; k < 4; ++k) {
            u32 set = (above.of[k] | here.of[k] | below.of[k]) & counted;
            word |= (u32)(own[k] & ALL && set & set - 1) << k;
            own[k] = next[k];
        }
        word <<= 4 * (lane % 8);
        for (int d = 1; d < 8; d *= 2) word |= __shfl_xor_sync(~0u, word, d);
        if (lane % 8 == 0 && x < w) bits[((size_t)blockIdx.z * h + y + i) * words + x / 32] = word;
        above = here, here = below;
    }
}
// --8<-- [end:v4]

__global__ void copy(const u32* from, u32* to, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) ((uint4*)to)[i] = ((const uint4*)from)[i];
}

}  // extern "C"
