// The kernels between the matrix products of a network, each in one pass over memory:
//
//   norm_forward                        LayerNorm: y = gamma (x - mean) / deviation + beta
//   norm_backward                       dx, and per block a partial sum of dgamma and dbeta
//   norm_columns                        dgamma and dbeta: the partial sums of all blocks, in a fixed order
//   gelu_forward, gelu_backward         the tanh form
//   classifier                          a row of logits becomes its gradient in place; the loss of the row
//   classifier_online                   the same for rows that do not fit into registers, in two passes
//   adamw                               one step for every parameter
//   variance_squares, _welford, _twice  three ways to a variance, to compare their errors
//
// With CENTRED false the first two are RMSNorm, y = gamma x / root mean square; the host gives them the layer's name.
//
// THREADS threads share a row of n floats and move them in packs of four; a block has one row or, if a warp is enough,
// as many as it has warps (blockDim.y). n is a multiple of 4, pointers are multiples of 16 bytes, and for kernels
// that keep a row in registers n <= 4 * THREADS * PACKS.
#ifndef RESIDENT
#define RESIDENT 2048  // threads of a multiprocessor, at most
#endif
#ifndef THREADS
#define THREADS 256
#define PACKS 4
#endif
#ifndef CENTRED
#define CENTRED true
#endif

using Index = long long;

constexpr int WARPS = THREADS / 32;                   // of a row
constexpr int BLOCK = THREADS > 256 ? THREADS : 256;  // threads of a block, at most
constexpr unsigned ALL = 0xffffffff;
static_assert(WARPS * 32 == THREADS && (WARPS & (WARPS - 1)) == 0 && WARPS <= 32);

struct alignas(16) Pack {
    float v[4];
};

// --8<-- [start:over]
struct Pair {
    float a, b;
};

__device__ float swap(float v, int lane) { return __shfl_xor_sync(ALL, v, lane); }
__device__ Pair swap(Pair p, int lane) { return {swap(p.a, lane), swap(p.b, lane)}; }
__device__ float add(float a, float b) { return a + b; }
__device__ Pair add(Pair p, Pair q) { return {p.a + q.a, p.b + q.b}; }

// v of all threads of a row, combined; every thread gets the same bits. Calls in turn take slot 0 and slot 1: a slot is
// written again only after the barrier of the other one, when everybody has read it.
template <class T, class Combine>
__device__ T over_row(T v, int slot, Combine combine) {
    for (int d = 16; d > 0; d /= 2) v = combine(v, swap(v, d));
    if constexpr (WARPS > 1) {
        __shared__ T of_warp[2][WARPS];
        if (threadIdx.x % 32 == 0) of_warp[slot][threadIdx.x / 32] = v;
        __syncthreads();
        v = of_warp[slot][threadIdx.x % WARPS];
        for (int d = WARPS / 2; d > 0; d /= 2) v = combine(v, swap(v, d));
    }
    return v;
}

template <class T>
__device__ T sum_of_row(T v, int slot) {
    return over_row(v, slot, [](T a, T b) { return add(a, b); });
}
// --8<-- [end:over]

// --8<-- [start:row]
__device__ Index my_row() { return (Index)blockIdx.x * blockDim.y + threadIdx.y; }
__device__ int place(int k) { return k * THREADS + threadIdx.x; }  // of this thread's pack k in its row

// This thread's share of a row, in registers: every load is issued before the first is used. Beyond the row: `beyond`.
struct Share {
    Pack pack[PACKS];

    __device__ Share(const float* row, int n, float beyond = 0) {
        Pack none = {beyond, beyond, beyond, beyond};
#pragma unroll
        for (int k = 0; k < PACKS; ++k) pack[k] = place(k) < n / 4 ? ((const Pack*)row)[place(k)] : none;
    }
};
// --8<-- [end:row]

// --8<-- [start:part]
// What some logits of a row amount to: their maximum, the sum of exp(x - maximum), and their own sum.
struct Part {
    float m, s, x;
};

constexpr float LOWEST = -3.402823466e38f;  // not -infinity: the difference of two of those is NaN

__device__ Part swap(Part p, int lane) { return {swap(p.m, lane), swap(p.s, lane), swap(p.x, lane)}; }
__device__ Part merge(Part a, Part b) {
    float down = expf(-fabsf(a.m - b.m));  // for the sum whose maximum is the smaller
    float s = a.m > b.m ? a.s + b.s * down : a.s * down + b.s;
    return {fmaxf(a.m, b.m), s, a.x + b.x};
}

__device__ Part of_row(Part p) {
    p = over_row(p, 0, [](Part a, Part b) { return merge(a, b); });
    if (WARPS == 1) __syncwarp();  // as the barrier of several warps: what was read before is read, and may be replaced
    return p;
}

// The loss of a row whose target has the logit `at`: the label's share of it is 1 - smoothing, everybody's smoothing / n.
__device__ float loss_of(Part p, float at, int n, float smoothing) {
    float shared = smoothing > 0 ? smoothing * (p.x / n) : 0;  // without smoothing, a logit of -infinity is harmless
    return p.m + logf(p.s) - (1 - smoothing) * at - shared;
}
// --8<-- [end:part]

extern "C" {

// --8<-- [start:forward]
__global__ void __launch_bounds__(BLOCK) norm_forward(const float* x, const float* gamma, const float* beta, float* y,
                                                      float* mean, float* scale, int rows, int n, float epsilon) {
    Index r = my_row();
    if (r >= rows) return;
    Share s(x + r * n, n);
    float m = 0, squares = 0;
    if (CENTRED) {
#pragma unroll
        for (Pack& p : s.pack)
            for (float v : p.v) m += v;
        m = sum_of_row(m, 0) / n;
    }
#pragma unroll
    for (int k = 0; k < PACKS; ++k)
        for (float& v : s.pack[k].v) {
            v = place(k) < n / 4 ? v - m : 0;  // beyond the row there are zeros, whose deviation is not 0
            squares += v * v;
        }
    float f = rsqrtf(sum_of_row(squares, 1) / n + epsilon);
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        if (place(k) >= n / 4) break;
        Pack g = ((const Pack*)gamma)[place(k)], b = {};
        if (CENTRED) b = ((const Pack*)beta)[place(k)];
        for (int j = 0; j < 4; ++j) b.v[j] += s.pack[k].v[j] * f * g.v[j];
        ((Pack*)(y + r * n))[place(k)] = b;
    }
    if (threadIdx.x == 0) {
        if (CENTRED) mean[r] = m;
        scale[r] = f;
    }
}
// --8<-- [end:forward]

// --8<-- [start:backward]
__global__ void __launch_bounds__(BLOCK, 1024 / BLOCK)
    norm_backward(const float* dy, const float* x, const float* gamma, const float* mean, const float* scale, float* dx,
                  float* partial, int rows, int n) {
    Pack dgamma[PACKS] = {}, dbeta[PACKS] = {};  // of this thread's columns, over the rows of this block
    Index step = (Index)gridDim.x * blockDim.y;
    int slot = 0;
    for (Index r = my_row(); r < rows; r += step, slot ^= 1) {
        Share d(dy + r * n, n), s(x + r * n, n);
        float m = CENTRED ? mean[r] : 0, f = scale[r];
        Pair sums = {0, 0};  // of g, and of g times the normalised x
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            Pack g = {};
            if (place(k) < n / 4) g = ((const Pack*)gamma)[place(k)];
            for (int j = 0; j < 4; ++j) {
                float up = d.pack[k].v[j], normal = (s.pack[k].v[j] - m) * f;
                dgamma[k].v[j] += up * normal;
                if (CENTRED) dbeta[k].v[j] += up;
                s.pack[k].v[j] = normal;
                d.pack[k].v[j] = up * g.v[j];
                sums = add(sums, Pair{d.pack[k].v[j], d.pack[k].v[j] * normal});
            }
        }
        sums = sum_of_row(sums, slot);
        float level = CENTRED ? sums.a / n : 0, tilt = sums.b / n;
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            if (place(k) >= n / 4) break;
            for (int j = 0; j < 4; ++j) d.pack[k].v[j] = f * (d.pack[k].v[j] - level - s.pack[k].v[j] * tilt);
            ((Pack*)(dx + r * n))[place(k)] = d.pack[k];
        }
    }
    float* line = partial + my_row() * n;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        if (place(k) >= n / 4) break;
        ((Pack*)line)[place(k)] = dgamma[k];
        if (CENTRED) ((Pack*)(line + step * n))[place(k)] = dbeta[k];
    }
}
// --8<-- [end:backward]

// --8<-- [start:columns]
// out[c] = the sum of column c of partial, for 32 columns per block of 32 x 32 threads.
__global__ void norm_columns(const float* partial, float* out, int lines, int n) {
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x;
    float s = 0;
    if (c < n)
#pragma unroll 4
        for (int i = threadIdx.y; i < lines; i += 32) s += partial[((Index)blockIdx.y * lines + i) * n + c];
    tile[threadIdx.y][threadIdx.x] = s;
    __syncthreads();
    s = tile[threadIdx.x][threadIdx.y];  // a warp has a column now
    for (int d = 16; d > 0; d /= 2) s += swap(s, d);
    c = blockIdx.x * 32 + threadIdx.y;
    if (threadIdx.x == 0 && c < n) out[(Index)blockIdx.y * n + c] = s;
}
// --8<-- [end:columns]

// --8<-- [start:gelu]
constexpr float K = 1.5957691216f, CUBIC = 0.044715f;  // twice the root of 2 / pi

__global__ void gelu_forward(const Pack* x, Pack* y, Index packs) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= packs) return;
    Pack p = x[i];
    for (float& v : p.v) v = v / (1 + expf(-K * (v + CUBIC * v * v * v)));
    y[i] = p;
}

__global__ void gelu_backward(const Pack* dy, const Pack* x, Pack* dx, Index packs) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= packs) return;
    Pack d = dy[i], p = x[i];
    for (int j = 0; j < 4; ++j) {
        float v = p.v[j], s = 1 / (1 + expf(-K * (v + CUBIC * v * v * v)));
        d.v[j] *= s + v * s * (1 - s) * (K * (1 + 3 * CUBIC * v * v));
    }
    dx[i] = d;
}
// --8<-- [end:gelu]

// --8<-- [start:classifier]
// In two instructions; expf takes eight. x log2(e) is rounded once, as x itself was before.
__device__ float fast_exp(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x * 1.44269504f));
    return y;
}

// Up to eight logits per thread fit into the 32 registers that let every warp of a multiprocessor be resident.
__global__ void __launch_bounds__(BLOCK, PACKS > 2 ? 1 : RESIDENT / BLOCK)
    classifier(float* logits, const int* label, float* loss, int rows, int n, float smoothing, float weight) {
    Index r = my_row();
    if (r >= rows) return;
    float* row = logits + r * n;
    Share s(row, n, LOWEST);
    int target = label[r];  // no load of the row waits for it
    bool ignored = target < 0, mine = threadIdx.x == (ignored ? 0 : target / 4 % THREADS);
    float at = mine && !ignored ? row[target] : 0;  // this thread will also overwrite it
    float m = LOWEST;
    Pair sums = {0, 0};  // of exp(x - m), and of x
#pragma unroll
    for (Pack& q : s.pack)
        for (float v : q.v) m = fmaxf(m, v);
    m = over_row(m, 0, [](float a, float b) { return fmaxf(a, b); });
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        if (place(k) >= n / 4) break;
        for (float& v : s.pack[k].v) {
            sums.b += v;
            sums.a += v = fast_exp(v - m);
        }
    }
    sums = sum_of_row(sums, 1);
    float factor = weight / sums.a, others = smoothing / n * weight;
#pragma unroll
    for (int k = 0; k < PACKS; ++k) {
        if (place(k) >= n / 4) break;
        for (float& v : s.pack[k].v) v = ignored ? 0 : v * factor - others;
        ((Pack*)row)[place(k)] = s.pack[k];
    }
    if (!mine) return;
    if (!ignored) row[target] = fast_exp(at - m) * factor - others - (1 - smoothing) * weight;
    loss[r] = ignored ? 0 : loss_of({m, sums.a, sums.b}, at, n, smoothing);
}
// --8<-- [end:classifier]

// --8<-- [start:online]
__global__ void __launch_bounds__(BLOCK)
    classifier_online(float* logits, const int* label, float* loss, int rows, int n, float smoothing, float weight) {
    Index r = my_row();
    if (r >= rows) return;
    float* row = logits + r * n;
    int target = label[r];
    if (target < 0) {
        for (int i = threadIdx.x; i < n / 4; i += THREADS) ((Pack*)row)[i] = {};
        if (threadIdx.x == 0) loss[r] = 0;
        return;
    }
    float at = threadIdx.x == 0 ? row[target] : 0;
    Part p = {LOWEST, 0, 0};
    for (int i = threadIdx.x; i < n / 4; i += THREADS) {
        Pack q = ((Pack*)row)[i];
        float m = fmaxf(p.m, fmaxf(fmaxf(q.v[0], q.v[1]), fmaxf(q.v[2], q.v[3])));
        p.s *= expf(p.m - m);
        for (float v : q.v) p.s += expf(v - m), p.x += v;
        p.m = m;
    }
    p = of_row(p);
    for (int i = threadIdx.x; i < n / 4; i += THREADS) {
        Pack q = ((Pack*)row)[i];
        for (int j = 0; j < 4; ++j) {
            float wanted = smoothing / n + (4 * i + j == target ? 1 - smoothing : 0);
            q.v[j] = (expf(q.v[j] - p.m) / p.s - wanted) * weight;
        }
        ((Pack*)row)[i] = q;
    }
    if (threadIdx.x == 0) loss[r] = loss_of(p, at, n, smoothing);
}
// --8<-- [end:online]

// --8<-- [start:adamw]
// keep = 1 - rate * decay; rate1 = rate / (1 - beta1^t); correction2 = 1 / (1 - beta2^t): once per step, by the host.
__global__ void adamw(Pack* p, const Pack* g, Pack* m, Pack* v, Index packs, float one_minus_beta1,
                      float one_minus_beta2, float keep, float rate1, float correction2, float epsilon) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= packs) return;
    Pack q = p[i], d = g[i], a = m[i], b = v[i];
    for (int j = 0; j < 4; ++j) {
        a.v[j] += one_minus_beta1 * (d.v[j] - a.v[j]);
        b.v[j] += one_minus_beta2 * (d.v[j] * d.v[j] - b.v[j]);
        q.v[j] = keep * q.v[j] - rate1 * a.v[j] / (sqrtf(b.v[j] * correction2) + epsilon);
    }
    p[i] = q, m[i] = a, v[i] = b;
}
// --8<-- [end:adamw]

// --8<-- [start:variances]
// The variance of each row, by a warp: from the mean of the squares,
__global__ void variance_squares(const float* x, float* variance, int n) {
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        float v = x[(Index)blockIdx.x * n + i];
        sum += v, squares += v * v;
    }
    for (int d = 16; d > 0; d /= 2) sum += swap(sum, d), squares += swap(squares, d);
    if (threadIdx.x == 0) variance[blockIdx.x] = squares / n - (sum / n) * (sum / n);
}

// by Welford's update, and the merging of two parts,
__global__ void variance_welford(const float* x, float* variance, int n) {
    float count = 0, mean = 0, spread = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        float v = x[(Index)blockIdx.x * n + i], from_old = v - mean;
        mean += from_old / ++count;
        spread += from_old * (v - mean);
    }
    for (int d = 16; d > 0; d /= 2) {
        float others = swap(count, d), gap = swap(mean, d) - mean, share = others / fmaxf(count + others, 1);
        spread += swap(spread, d) + gap * gap * count * share;
        mean += gap * share;
        count += others;
    }
    if (threadIdx.x == 0) variance[blockIdx.x] = spread / n;
}

// and from the deviations, once the mean is known.
__global__ void variance_twice(const float* x, float* variance, int n) {
    float sum = 0, squares = 0;
    for (int i = threadIdx.x; i < n; i += 32) sum += x[(Index)blockIdx.x * n + i];
    for (int d = 16; d > 0; d /= 2) sum += swap(sum, d);
    for (int i = threadIdx.x; i < n; i += 32) {
        float deviation = x[(Index)blockIdx.x * n + i] - sum / n;
        squares += deviation * deviation;
    }
    for (int d = 16; d > 0; d /= 2) squares += swap(squares, d);
    if (threadIdx.x == 0) variance[blockIdx.x] = squares / n;
}
// --8<-- [end:variances]

// --8<-- [start:copy]
__global__ void copy(const Pack* in, Pack* out, Index packs) {
    Index i = (Index)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < packs) out[i] = in[i];
}
// --8<-- [end:copy]

}  // extern "C"
