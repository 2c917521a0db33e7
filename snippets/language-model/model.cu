// A small language model: the layers between tokens and loss, their gradients, and AdamW.
//
//   embed, embed_backward                    rows of the embedding; tokens that occur in a batch get their gradient added
//   linear                                   y = x w, or y += x w
//   linear_backward_x, linear_backward_w     its gradients; also what the logits need, whose matrix is the embedding
//   normalise, norm_backward, gain_backward  RMSNorm
//   rotary, rotary_backward                  positions: queries and keys are turned, gradients are turned back
//   attention, attention_backward            causal, in one pass, no matrix of weights in memory
//   gelu, gelu_backward
//   loss_backward                            a row of logits becomes its gradient; the loss of the row
//   adamw                                    one step for all parameters
//
// Matrices are row-major, and all sizes are multiples of 8. They are small: only attention has tiles in shared memory.
#ifndef HEAD
#define HEAD 16     // channels of a head
#define CONTEXT 64  // tokens of a sequence; also the threads of a block of attention
#endif

constexpr unsigned ALL = 0xffffffff;
constexpr float EPSILON = 1e-5f;

__device__ float sum_of_warp(float v) {
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(ALL, v, d);
    return v;
}

// --8<-- [start:tile]
// A thread computes 8 rows and 4 neighbouring columns of a product: 32 sums in registers.
struct Tile {
    float v[8][4] = {};
    int row, column;  // where they begin

    __device__ Tile(int width) {
        int at = blockIdx.x * blockDim.x + threadIdx.x;
        row = at / (width / 4) * 8;
        column = at % (width / 4) * 4;
    }

    __device__ void store(float* y, int width, int more) const {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float4* to = (float4*)(y + (row + i) * width + column);
            float4 s = more ? *to : float4{0, 0, 0, 0};
            *to = {s.x + v[i][0], s.y + v[i][1], s.z + v[i][2], s.w + v[i][3]};
        }
    }
};

struct alignas(16) Four {
    float v[4];
};
// --8<-- [end:tile]

extern "C" {

// --8<-- [start:linear]
// y[rows, out] = x[rows, in] w[in, out], added to y if `more`.
__global__ void linear(const float* x, const float* w, float* y, int rows, int in, int out, int more) {
    Tile sums(out);
    if (sums.row >= rows) return;
    for (int i = 0; i < in; i += 4) {
        Four a[8], b[4];
        for (int r = 0; r < 8; ++r) a[r] = *(const Four*)(x + (sums.row + r) * in + i);
        for (int k = 0; k < 4; ++k) b[k] = *(const Four*)(w + (i + k) * out + sums.column);
        for (int r = 0; r < 8; ++r)
            for (int k = 0; k < 4; ++k)
                for (int c = 0; c < 4; ++c) sums.v[r][c] = fmaf(a[r].v[k], b[k].v[c], sums.v[r][c]);
    }
    sums.store(y, out, more);
}

// dx[rows, in] = dy[rows, out] w^T. The logits are such a product, too: their matrix is the transposed embedding.
__global__ void linear_backward_x(const float* dy, const float* w, float* dx, int rows, int in, int out) {
    Tile sums(in);
    if (sums.row >= rows) return;
    for (int o = 0; o < out; o += 4) {
        Four a[8], b[4];
        for (int r = 0; r < 8; ++r) a[r] = *(const Four*)(dy + (sums.row + r) * out + o);
        for (int c = 0; c < 4; ++c) b[c] = *(const Four*)(w + (sums.column + c) * out + o);
        for (int r = 0; r < 8; ++r)
            for (int k = 0; k < 4; ++k)
                for (int c = 0; c < 4; ++c) sums.v[r][c] = fmaf(a[r].v[k], b[c].v[k], sums.v[r][c]);
    }
    sums.store(dx, in, false);
}

// dw[in, out] = x^T dy: a sum over all tokens.
__global__ void linear_backward_w(const float* dy, const float* x, float* dw, int rows, int in, int out) {
    Tile sums(out);
    if (sums.row >= in) return;
    for (int row = 0; row < rows; ++row) {
        Four a[2], b = *(const Four*)(dy + row * out + sums.column);
        for (int k = 0; k < 2; ++k) a[k] = *(const Four*)(x + row * in + sums.row + 4 * k);
        for (int r = 0; r < 8; ++r)
            for (int c = 0; c < 4; ++c) sums.v[r][c] = fmaf(a[r / 4].v[r % 4], b.v[c], sums.v[r][c]);
    }
    sums.store(dw, out, false);
}
// --8<-- [end:linear]

// --8<-- [start:embed]
__global__ void embed(const float* table, const int* tokens, float* x, int rows, int d) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < rows * d) x[at] = table[tokens[at / d] * d + at % d];
}

// A block has a token of the vocabulary. order[begin[t]] to order[begin[t + 1] - 1] are the rows where token t stands: no
// atomics, so the sum is the same in every run. What the logits left in the gradient stays.
__global__ void embed_backward(const float* dx, const int* order, const int* begin, float* dtable, int d) {
    int t = blockIdx.x, first = begin[t], last = begin[t + 1];
    if (first == last) return;
    for (int c = threadIdx.x; c < d; c += blockDim.x) {
        float sum = 0;
        for (int k = first; k < last; ++k) sum += dx[order[k] * d + c];
        dtable[t * d + c] += sum;
    }
}
// --8<-- [end:embed]

// --8<-- [start:norm]
// A warp has a row.
__global__ void normalise(const float* x, const float* gain, float* y, float* scale, int rows, int d) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float squares = 0;
    for (int c = threadIdx.x; c < d; c += 32) squares += x[row * d + c] * x[row * d + c];
    float f = rsqrtf(sum_of_warp(squares) / d + EPSILON);
    for (int c = threadIdx.x; c < d; c += 32) y[row * d + c] = x[row * d + c] * f * gain[c];
    if (threadIdx.x == 0) scale[row] = f;
}

// The residual stream goes around the layer, so what comes through the layer is added to its gradient if `more`.
__global__ void norm_backward(const float* dy, const float* x, const float* gain, const float* scale, float* dx,
                              int rows, int d, int more) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float f = scale[row], tilt = 0;
    for (int c = threadIdx.x; c < d; c += 32) tilt += dy[row * d + c] * gain[c] * x[row * d + c] * f;
    tilt = sum_of_warp(tilt) / d;
    for (int c = threadIdx.x; c < d; c += 32) {
        float own = f * (dy[row * d + c] * gain[c] - x[row * d + c] * f * tilt);
        dx[row * d + c] = more ? dx[row * d + c] + own : own;
    }
}

// 32 columns per block of 32 x 32 threads.
__global__ void gain_backward(const float* dy, const float* x, const float* scale, float* dgain, int rows, int d) {
    __shared__ float sums[32][33];
    int c = blockIdx.x * 32 + threadIdx.x;
    float sum = 0;
    if (c < d)
        for (int row = threadIdx.y; row < rows; row += 32)
            sum = fmaf(dy[row * d + c], x[row * d + c] * scale[row], sum);
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    sum = sum_of_warp(sums[threadIdx.x][threadIdx.y]);  // a warp has a column now
    c = blockIdx.x * 32 + threadIdx.y;
    if (threadIdx.x == 0 && c < d) dgain[c] = sum;
}
// --8<-- [end:norm]

// --8<-- [start:rotary]
// A thread has a pair of channels of the queries or the keys in qkv[rows, 3 d]. turn[position][pair] is cosine, sine.
__global__ void rotary(float2* qkv, const float2* turn, int rows, int d) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, row = at / d, pair = at % d;  // d / 2 pairs each
    if (row >= rows) return;
    float2 t = turn[row % CONTEXT * (HEAD / 2) + pair % (HEAD / 2)], *p = qkv + row * (3 * d / 2) + pair;
    *p = {p->x * t.x - p->y * t.y, p->x * t.y + p->y * t.x};
}

__global__ void rotary_backward(float2* dqkv, const float2* turn, int rows, int d) {
    int at = blockIdx.x * blockDim.x + threadIdx.x, row = at / d, pair = at % d;
    if (row >= rows) return;
    float2 t = turn[row % CONTEXT * (HEAD / 2) + pair % (HEAD / 2)], *p = dqkv + row * (3 * d / 2) + pair;
    *p = {p->x * t.x + p->y * t.y, p->y * t.x - p->x * t.y};
}
// --8<-- [end:rotary]

// --8<-- [start:attention]
// A block has a head of a sequence, a thread a query. lse is log(sum of exp(scores)) for the backward pass.
__global__ void attention(const float* qkv, float* out, float* lse, int d) {
    __shared__ float keys[CONTEXT][HEAD], values[CONTEXT][HEAD];
    int i = threadIdx.x, head = blockIdx.x * HEAD;
    const float* row = qkv + (blockIdx.y * CONTEXT + i) * 3 * d + head;
    float q[HEAD], o[HEAD] = {}, top = -INFINITY, sum = 0;
#pragma unroll
    for (int c = 0; c < HEAD; ++c) {
        q[c] = row[c] * rsqrtf(HEAD);
        keys[i][c] = row[d + c];
        values[i][c] = row[2 * d + c];
    }
    __syncthreads();
    for (int j = 0; j <= i; ++j) {
        float s = 0;
#pragma unroll
        for (int c = 0; c < HEAD; ++c) s = fmaf(q[c], keys[j][c], s);
        float now = fmaxf(top, s), shrink = expf(top - now), weight = expf(s - now);
        sum = sum * shrink + weight;
#pragma unroll
        for (int c = 0; c < HEAD; ++c) o[c] = fmaf(weight, values[j][c], o[c] * shrink);
        top = now;
    }
    float* to = out + (blockIdx.y * CONTEXT + i) * d + head;
#pragma unroll
    for (int c = 0; c < HEAD; ++c) to[c] = o[c] / sum;
    lse[(blockIdx.y * gridDim.x + blockIdx.x) * CONTEXT + i] = top + logf(sum);
}
// --8<-- [end:attention]

// --8<-- [start:backward]
// The weights are computed again from lse. Thread i first goes over the keys that query i sees, for dq; then over the queries
// that see key i, for dk and dv. So each sum belongs to one thread.
__global__ void attention_backward(const float* dout, const float* out, const float* qkv, const float* lse, float* dqkv,
                                   int d) {
    __shared__ float queries[CONTEXT][HEAD], keys[CONTEXT][HEAD], values[CONTEXT][HEAD], up[CONTEXT][HEAD];
    __shared__ float level[CONTEXT], logs[CONTEXT];
    int i = threadIdx.x, head = blockIdx.x * HEAD, at = blockIdx.y * CONTEXT + i;
    const float* row = qkv + at * 3 * d + head;
    float own = 0;
#pragma unroll
    for (int c = 0; c < HEAD; ++c) {
        queries[i][c] = row[c] * rsqrtf(HEAD);
        keys[i][c] = row[d + c];
        values[i][c] = row[2 * d + c];
        up[i][c] = dout[at * d + head + c];
        own = fmaf(up[i][c], out[at * d + head + c], own);
    }
    level[i] = own;  // the sum over j of weight * dweight
    logs[i] = lse[(blockIdx.y * gridDim.x + blockIdx.x) * CONTEXT + i];
    __syncthreads();

    float dq[HEAD] = {}, dk[HEAD] = {}, dv[HEAD] = {};
    for (int j = 0; j <= i; ++j) {
        float s = 0, dw = 0;
#pragma unroll
        for (int c = 0; c < HEAD; ++c) {
            s = fmaf(queries[i][c], keys[j][c], s);
            dw = fmaf(up[i][c], values[j][c], dw);
        }
        float ds = expf(s - logs[i]) * (dw - level[i]) * rsqrtf(HEAD);
#pragma unroll
        for (int c = 0; c < HEAD; ++c) dq[c] = fmaf(ds, keys[j][c], dq[c]);
    }
    for (int j = i; j < CONTEXT; ++j) {
        float s = 0, dw = 0;
#pragma unroll
        for (int c = 0; c < HEAD; ++c) {
            s = fmaf(queries[j][c], keys[i][c], s);
            dw = fmaf(up[j][c], values[i][c], dw);
        }
        float weight = expf(s - logs[j]), ds = weight * (dw - level[j]);
#pragma unroll
        for (int c = 0; c < HEAD; ++c) {
            dk[c] = fmaf(ds, queries[j][c], dk[c]);  // the queries hold 1 / sqrt(HEAD) already
            dv[c] = fmaf(weight, up[j][c], dv[c]);
        }
    }
    float* to = dqkv + at * 3 * d + head;
#pragma unroll
    for (int c = 0; c < HEAD; ++c) {
        to[c] = dq[c];
        to[d + c] = dk[c];
        to[2 * d + c] = dv[c];
    }
}
// --8<-- [end:backward]

constexpr float SLOPE = 1.5957691216f, CUBIC = 0.044715f;  // twice the root of 2 / pi

__global__ void gelu(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / (1 + expf(-SLOPE * (x[i] + CUBIC * x[i] * x[i] * x[i])));
}

__global__ void gelu_backward(float* dy, const float* x, int n) {  // in place
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], s = 1 / (1 + expf(-SLOPE * (v + CUBIC * v * v * v)));
    dy[i] *= s + v * s * (1 - s) * (SLOPE * (1 + 3 * CUBIC * v * v));
}

// --8<-- [start:loss]
// A warp has a row of logits, and leaves its gradient in their place. `share` is 1 / the number of all tokens.
__global__ void loss_backward(float* logits, const int* target, float* loss, int rows, int n, float share) {
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float *own = logits + row * n, top = -INFINITY, sum = 0;
    for (int c = threadIdx.x; c < n; c += 32) top = fmaxf(top, own[c]);
    for (int d = 16; d > 0; d /= 2) top = fmaxf(top, __shfl_xor_sync(ALL, top, d));
    float chosen = own[target[row]];
    __syncwarp();  // all have read it before it changes
    for (int c = threadIdx.x; c < n; c += 32) sum += own[c] = expf(own[c] - top);
    sum = sum_of_warp(sum);
    for (int c = threadIdx.x; c < n; c += 32) own[c] = share * (own[c] / sum - (c == target[row]));
    if (threadIdx.x == 0) loss[row] = top + logf(sum) - chosen;
}
// --8<-- [end:loss]

// --8<-- [start:adamw]
// The first `decaying` parameters are matrices. fresh is 1 - beta, computed in float64 by the host, as are c1 and c2.
__global__ void adamw(float* w, const float* g, float* m, float* v, int n, int decaying, float rate, float shrink,
                      float fresh, float fresh2, float c1, float c2, float tiny) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float slope = g[i], mean = m[i] + fresh * (slope - m[i]), square = v[i] + fresh2 * (slope * slope - v[i]);
    float kept = i < decaying ? w[i] * (1 - rate * shrink) : w[i];
    w[i] = kept - rate * (mean / c1) / (sqrtf(square / c2) + tiny);
    m[i] = mean;
    v[i] = square;
}
// --8<-- [end:adamw]

}  // extern "C"
