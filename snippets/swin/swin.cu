// Window attention of Swin in fp32: in one kernel with shift, partition and reverse, or as a chain of kernels; its
// backward pass; global attention for comparison; patch merging.
//
// WINDOW is the side of a window, HEAD the channels of a head, a multiple of 4. A map is batch × h × w × channels, and
// that of q, k and v is batch × h × w × 3 × heads × HEAD. h and w are multiples of WINDOW, and 0 <= shift < WINDOW.

#ifndef WINDOW
#define WINDOW 7
#endif
#ifndef HEAD
#define HEAD 32
#endif

constexpr int M = WINDOW, N = M * M, THREADS = (N + 31) / 32 * 32;
constexpr int SIDE = 2 * M - 1;  // of the bias table
constexpr int PACKS = HEAD / 4, WIDE = HEAD + 4;

// --8<-- [start:padded]
// Rows of the table in shared memory begin M banks apart (modulo 32), so lane t reads bank t plus a constant.
constexpr int PADDED = SIDE + (M - SIDE + 64) % 32;
// --8<-- [end:padded]
#ifndef STRIDE
#define STRIDE PADDED
#endif

// --8<-- [start:place]
struct Map {
    int h, w, shift;

    // Row and column of token t of a window, in the map before any shift; at least h or w if they wrap around.
    __device__ int row(int window, int t) const { return window / (w / M) * M + t / M + shift; }
    __device__ int column(int window, int t) const { return window % (w / M) * M + t % M + shift; }

    __device__ int pixel(int window, int t) const {
        int y = row(window, t), x = column(window, t);
        return (y < h ? y : y - h) * w + (x < w ? x : x - w);
    }

    // Tokens attend to each other only if their regions are equal: both rows wrapped or neither, and so the columns.
    __device__ int region(int window, int t) const {
        return (row(window, t) >= h ? 1 : 0) + (column(window, t) >= w ? 2 : 0);
    }
};
// --8<-- [end:place]

struct Places {  // of a window's tokens
    int pixel[N], region[N];
};

__device__ float4 load(const float* from) { return *reinterpret_cast<const float4*>(from); }
__device__ void store(float* to, float4 v) { *reinterpret_cast<float4*>(to) = v; }
__device__ float dot(float4 a, float4 b, float sum) {
    return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}
__device__ float4 times(float4 a, float s) { return make_float4(a.x * s, a.y * s, a.z * s, a.w * s); }
__device__ void add(float4& to, float4 a, float s) {
    to = make_float4(fmaf(a.x, s, to.x), fmaf(a.y, s, to.y), fmaf(a.z, s, to.z), fmaf(a.w, s, to.w));
}

__device__ void find_places(Places& at, const Map& map, bool shifted) {
    int t = threadIdx.x;
    if (t < N) {
        at.pixel[t] = shifted ? map.pixel(blockIdx.x, t) : blockIdx.x * N + t;
        at.region[t] = map.region(blockIdx.x, t);
    }
}

template <int APART>
__device__ void load_table(float* to, const float* table) {
    for (int i = threadIdx.x; i < SIDE * SIDE; i += THREADS)
        to[i / SIDE * APART + i % SIDE] = table[blockIdx.y * SIDE * SIDE + i];
}

// --8<-- [start:query]
struct Query {
    float4 q[PACKS], o[PACKS];
    float top = -1e30f, sum = 0;  // finite: a first row of keys that is masked whole gives exp(-inf), not NaN

    __device__ explicit Query(const float* from) {
        for (int p = 0; p < PACKS; ++p) q[p] = load(from + 4 * p), o[p] = make_float4(0, 0, 0, 0);
    }

    // N keys and values from shared memory, M at a time; extra(r, c) is added to the score of key M * r + c.
    template <class Extra>
    __device__ void attend(const float* keys, const float* values, Extra extra) {
        for (int r = 0; r < M; ++r) {
            float s[M], now = top;
#pragma unroll
            for (int c = 0; c < M; ++c) {
                const float* key = keys + (r * M + c) * HEAD;
                float score = 0;
#pragma unroll
                for (int p = 0; p < PACKS; ++p) score = dot(q[p], load(key + 4 * p), score);
                s[c] = score + extra(r, c);
                now = fmaxf(now, s[c]);
            }
            float shrink = expf(top - now);
            top = now;
            sum *= shrink;
#pragma unroll
            for (int p = 0; p < PACKS; ++p) o[p] = times(o[p], shrink);
#pragma unroll
            for (int c = 0; c < M; ++c) {
                const float* value = values + (r * M + c) * HEAD;
                float weight = expf(s[c] - top);
                sum += weight;
#pragma unroll
                for (int p = 0; p < PACKS; ++p) add(o[p], load(value + 4 * p), weight);
            }
        }
    }
};
// --8<-- [end:query]

extern "C" {

// --8<-- [start:window]
// A block takes a window of one head of one image; a thread takes a query. `partitioned` says that the map was shifted
// and cut into windows before; the result must then be joined and shifted back.
__global__ void __launch_bounds__(THREADS) window_attention(const float* qkv, const float* table, float* out, int h,
                                                            int w, int shift, float scale, int partitioned) {
    __shared__ __align__(16) float rows[N * WIDE], keys[N * HEAD], values[N * HEAD];
    __shared__ float bias[SIDE * STRIDE];
    __shared__ Places at;
    Map map{h, w, shift};
    int t = threadIdx.x, head = blockIdx.y, heads = gridDim.y;
    size_t image = (size_t)blockIdx.z * h * w;
    find_places(at, map, !partitioned);
    load_table<STRIDE>(bias, table);
    __syncthreads();
    for (int i = t; i < N * PACKS; i += THREADS) {
        int token = i / PACKS, c = i % PACKS * 4;
        const float* from = qkv + ((image + at.pixel[token]) * 3 * heads + head) * HEAD + c;
        store(rows + token * WIDE + c, times(load(from), scale));
        store(keys + token * HEAD + c, load(from + heads * HEAD));
        store(values + token * HEAD + c, load(from + 2 * heads * HEAD));
    }
    __syncthreads();
    if (t < N) {
        Query query(rows + t * WIDE);
        const float* own = bias + (t / M + M - 1) * STRIDE + t % M + M - 1;
        int region = at.region[t];
        query.attend(keys, values,
                     [&](int r, int c) { return at.region[r * M + c] == region ? own[-(r * STRIDE + c)] : -INFINITY; });
        for (int p = 0; p < PACKS; ++p) store(rows + t * WIDE + 4 * p, times(query.o[p], 1 / query.sum));
    }
    __syncthreads();
    for (int i = t; i < N * PACKS; i += THREADS) {
        int token = i / PACKS, c = i % PACKS * 4;
        store(out + ((image + at.pixel[token]) * heads + head) * HEAD + c, load(rows + token * WIDE + c));
    }
}
// --8<-- [end:window]

// --8<-- [start:chain]
// out[y][x] = in[(y + by) % h][(x + by) % w], four channels per thread; by is in (-h, h) and (-w, w).
__global__ void roll(const float* in, float* out, int h, int w, int packs, int by, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int pack = i % packs, x = i / packs % w, y = i / packs / w % h;
    size_t image = i / packs / w / h * h;
    size_t from = ((image + (y + by + h) % h) * w + (x + by + w) % w) * packs + pack;
    store(out + 4 * i, load(in + 4 * from));
}

// Pack i of the map, as it lies window by window: all tokens of the first window, then of the second.
__device__ size_t in_windows(size_t i, int h, int w, int packs) {
    int pack = i % packs, x = i / packs % w, y = i / packs / w % h;
    size_t image = i / packs / w / h;
    int window = y / M * (w / M) + x / M, t = y % M * M + x % M;
    return (image * h * w + window * N + t) * packs + pack;
}

__global__ void partition(const float* in, float* out, int h, int w, int packs, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) store(out + 4 * in_windows(i, h, w, packs), load(in + 4 * i));
}

__global__ void reverse(const float* in, float* out, int h, int w, int packs, size_t count) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) store(out + 4 * i, load(in + 4 * in_windows(i, h, w, packs)));
}
// --8<-- [end:chain]

// --8<-- [start:backward]
// The gradients of q, k and v, and one line of partial[image][window][head][SIDE * SIDE] for the table.
__global__ void __launch_bounds__(THREADS)
    window_backward(const float* dout, const float* qkv, const float* table, float* dqkv, float* partial, int h, int w,
                    int shift, float scale) {
    constexpr int ODD = N | 1;
    __shared__ __align__(16) float rows[N * WIDE], douts[N * WIDE], keys[N * HEAD], values[N * HEAD];
    __shared__ float weights[N * ODD], slopes[N * ODD], bias[SIDE * SIDE];
    __shared__ Places at;
    Map map{h, w, shift};
    int t = threadIdx.x, head = blockIdx.y, heads = gridDim.y;
    size_t image = (size_t)blockIdx.z * h * w;
    find_places(at, map, true);
    load_table<SIDE>(bias, table);
    __syncthreads();
    for (int i = t; i < N * PACKS; i += THREADS) {
        int token = i / PACKS, c = i % PACKS * 4;
        size_t pixel = image + at.pixel[token];
        const float* from = qkv + (pixel * 3 * heads + head) * HEAD + c;
        store(rows + token * WIDE + c, load(from));
        store(keys + token * HEAD + c, load(from + heads * HEAD));
        store(values + token * HEAD + c, load(from + 2 * heads * HEAD));
        store(douts + token * WIDE + c, load(dout + (pixel * heads + head) * HEAD + c));
    }
    __syncthreads();

    float4 first[PACKS], second[PACKS];
    if (t < N) {  // as query t: the softmax again, then its slopes, then dq
        float *weight = weights + t * ODD, *slope = slopes + t * ODD, top = -1e30f, sum = 0, mean = 0;
        const float* own = bias + (t / M + M - 1) * SIDE + t % M + M - 1;
        for (int p = 0; p < PACKS; ++p) first[p] = load(rows + t * WIDE + 4 * p);
        for (int p = 0; p < PACKS; ++p) second[p] = load(douts + t * WIDE + 4 * p);
        for (int j = 0; j < N; ++j) {
            float score = 0, dp = 0;
#pragma unroll
            for (int p = 0; p < PACKS; ++p) {
                score = dot(first[p], load(keys + j * HEAD + 4 * p), score);
                dp = dot(second[p], load(values + j * HEAD + 4 * p), dp);
            }
            score = at.region[j] == at.region[t] ? score * scale + own[-(j / M * SIDE + j % M)] : -INFINITY;
            top = fmaxf(top, score);
            weight[j] = score;
            slope[j] = dp;
        }
        for (int j = 0; j < N; ++j) {
            weight[j] = expf(weight[j] - top);
            sum += weight[j];
            mean += weight[j] * slope[j];
        }
        mean /= sum;
        for (int p = 0; p < PACKS; ++p) first[p] = make_float4(0, 0, 0, 0);
        for (int j = 0; j < N; ++j) {
            weight[j] /= sum;
            slope[j] = weight[j] * (slope[j] - mean);
#pragma unroll
            for (int p = 0; p < PACKS; ++p) add(first[p], load(keys + j * HEAD + 4 * p), slope[j] * scale);
        }
    }
    __syncthreads();  // every weight and slope is there, and nobody needs the keys and values any more
    if (t < N)
        for (int p = 0; p < PACKS; ++p) store(keys + t * HEAD + 4 * p, first[p]);

    if (t < N) {  // as key t: dk and dv
        for (int p = 0; p < PACKS; ++p) first[p] = second[p] = make_float4(0, 0, 0, 0);
        for (int i = 0; i < N; ++i) {
            float slope = slopes[i * ODD + t] * scale, weight = weights[i * ODD + t];
#pragma unroll
            for (int p = 0; p < PACKS; ++p) {
                add(first[p], load(rows + i * WIDE + 4 * p), slope);
                add(second[p], load(douts + i * WIDE + 4 * p), weight);
            }
        }
    }

    // Entry e of the table was added to the score of every pair with its offset: dy = e / SIDE - (M - 1), and so dx.
    size_t line = ((size_t)blockIdx.z * gridDim.x + blockIdx.x) * heads + head;
    for (int e = t; e < SIDE * SIDE; e += THREADS) {
        int dy = e / SIDE - (M - 1), dx = e % SIDE - (M - 1);
        float sum = 0;
        for (int y = max(0, dy); y < min(M, M + dy); ++y)
            for (int x = max(0, dx); x < min(M, M + dx); ++x) sum += slopes[(y * M + x) * ODD + (y - dy) * M + x - dx];
        partial[line * SIDE * SIDE + e] = sum;
    }
    __syncthreads();  // the queries and dout have been used
    if (t < N)
        for (int p = 0; p < PACKS; ++p) {
            store(rows + t * WIDE + 4 * p, first[p]);
            store(douts + t * WIDE + 4 * p, second[p]);
        }
    __syncthreads();
    for (int i = t; i < N * PACKS; i += THREADS) {
        int token = i / PACKS, c = i % PACKS * 4;
        float* to = dqkv + ((image + at.pixel[token]) * 3 * heads + head) * HEAD + c;
        store(to, load(keys + token * HEAD + c));
        store(to + heads * HEAD, load(rows + token * WIDE + c));
        store(to + 2 * heads * HEAD, load(douts + token * WIDE + c));
    }
}
// --8<-- [end:backward]

// --8<-- [start:sum]
// dtable[c] = the sum of column c over all lines, in a fixed order; a block takes 32 columns with 32 × 32 threads.
__global__ void table_backward(const float* partial, float* dtable, int lines, int columns) {
    __shared__ float sums[32][33];
    int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 32 + x;
    float sum = 0;
    if (column < columns)
        for (int line = y; line < lines; line += 32) sum += partial[(size_t)line * columns + column];
    sums[y][x] = sum;
    __syncthreads();
    sum = sums[x][y];  // a warp has a column now
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
    column = blockIdx.x * 32 + y;
    if (x == 0 && column < columns) dtable[column] = sum;
}
// --8<-- [end:sum]

// --8<-- [start:global]
// Every pixel attends to every pixel: the same queries, keys N at a time, no bias, no mask. n is a multiple of N.
__global__ void __launch_bounds__(THREADS) global_attention(const float* qkv, float* out, int n, float scale) {
    __shared__ __align__(16) float rows[THREADS * WIDE], keys[N * HEAD], values[N * HEAD];
    int t = threadIdx.x, head = blockIdx.y, heads = gridDim.y, first = blockIdx.x * THREADS,
        here = min(THREADS, n - first);
    size_t image = (size_t)blockIdx.z * n;
    for (int i = t; i < THREADS * PACKS; i += THREADS) {
        int token = i / PACKS, c = i % PACKS * 4;
        const float* from = qkv + ((image + first + token) * 3 * heads + head) * HEAD + c;
        store(rows + token * WIDE + c, token < here ? times(load(from), scale) : make_float4(0, 0, 0, 0));
    }
    __syncthreads();
    Query query(rows + t * WIDE);
    for (int start = 0; start < n; start += N) {
        __syncthreads();  // the keys and values before these have been used
        for (int i = t; i < N * PACKS; i += THREADS) {
            int token = i / PACKS, c = i % PACKS * 4;
            const float* from = qkv + ((image + start + token) * 3 * heads + head) * HEAD + c;
            store(keys + token * HEAD + c, load(from + heads * HEAD));
            store(values + token * HEAD + c, load(from + 2 * heads * HEAD));
        }
        __syncthreads();
        query.attend(keys, values, [](int, int) { return 0.0f; });
    }
    for (int p = 0; p < PACKS; ++p) store(rows + t * WIDE + 4 * p, times(query.o[p], 1 / query.sum));
    __syncthreads();
    for (int i = t; i < here * PACKS; i += THREADS) {
        int token = i / PACKS, c = i % PACKS * 4;
        store(out + ((image + first + token) * heads + head) * HEAD + c, load(rows + token * WIDE + c));
    }
}
// --8<-- [end:global]

// --8<-- [start:merge]
// Four neighbouring pixels become one with four times the channels: (0, 0), (1, 0), (0, 1), (1, 1), row before column.
// So two rows interleave: pixel x of the upper row goes to place 2x, that of the lower row to place 2x + 1.
// A row has `row` packs of four channels, a pixel `packs`; blockIdx.x is the pair of rows, blockIdx.y a piece of it.
__global__ void merge_patches(const float4* in, float4* out, unsigned row, unsigned packs) {
    unsigned i = blockIdx.y * blockDim.x + threadIdx.x;
    if (i >= row) return;
    size_t pair = (size_t)blockIdx.x * 2 * row;
    float4 upper = __ldcs(in + pair + i), lower = __ldcs(in + pair + row + i);  // streaming: each is used once
    float4* to = out + pair + i + i / packs * packs;
    __stcs(to, upper);
    __stcs(to + packs, lower);
}
// --8<-- [end:merge]

}  // extern "C"
