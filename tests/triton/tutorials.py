"""Six kernels of the kinds that Triton's tutorials teach, written afresh: what most Triton programs are made of."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, rows, columns, BLOCK: tl.constexpr):
    """A persistent kernel: a program takes every num_programs-th row."""
    j = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=2):
        values = tl.load(x + row * columns + j, mask=j < columns, other=-float("inf"))
        raised = tl.exp(values - tl.max(values, axis=0))
        tl.store(out + row * columns + j, raised / tl.sum(raised, axis=0), mask=j < columns)


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
           ACTIVATION: tl.constexpr):  # fmt: skip
    """Row-major A times row-major B; programs are numbered in groups of GROUP rows of tiles, for the L2 cache."""
    number, down, across = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = number // (GROUP * across) * GROUP
    height = min(down - first, GROUP)
    row, column = first + number % (GROUP * across) % height, number % (GROUP * across) // height
    m = (row * BM + tl.arange(0, BM)) % M
    n = (column * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    left, right = a + m[:, None] * K + k[None, :], b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for done in range(tl.cdiv(K, BK)):
        rest = K - done * BK
        part = tl.load(left, mask=k[None, :] < rest, other=0.0)
        total = tl.dot(part, tl.load(right, mask=k[:, None] < rest, other=0.0), total)
        left += BK
        right += BK * N
    if ACTIVATION is not None:
        total = ACTIVATION(total)
    m, n = row * BM + tl.arange(0, BM), column * BN + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty), mask=inside)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    """The mask is not stored: Philox gives it again from the seed."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(tl.rand(seed, i) > p, values / (1 - p), 0.0), mask=i < n)


@triton.jit
def layer_norm(x, weight, bias, out, means, inverses, columns, epsilon, BLOCK: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    inside = j < columns
    values = tl.load(x + row * columns + j, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / columns
    apart = tl.where(inside, values - mean, 0.0)
    inverse = 1 / tl.sqrt(tl.sum(apart * apart, axis=0) / columns + epsilon)
    tl.store(means + row, mean)
    tl.store(inverses + row, inverse)
    scaled = apart * inverse * tl.load(weight + j, mask=inside) + tl.load(bias + j, mask=inside)
    tl.store(out + row * columns + j, scaled, mask=inside)


@triton.jit
def layer_norm_backward(dy, x, weight, means, inverses, dx, dweight, dbias, locks, columns, GROUPS: tl.constexpr,
                        BLOCK: tl.constexpr):  # fmt: skip
    """Gradient of a row, and its share in those of weight and bias, which one of GROUPS rows sums up under a lock."""
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    inside = j < columns
    inverse = tl.load(inverses + row)
    normal = (tl.load(x + row * columns + j, mask=inside, other=0.0) - tl.load(means + row)) * inverse
    normal = tl.where(inside, normal, 0.0)
    gradient = tl.load(dy + row * columns + j, mask=inside, other=0.0)
    scaled = gradient * tl.load(weight + j, mask=inside, other=0.0)
    along, total = tl.sum(normal * scaled, axis=0) / columns, tl.sum(scaled, axis=0) / columns
    tl.store(dx + row * columns + j, (scaled - (normal * along + total)) * inverse, mask=inside)
    group = row % GROUPS
    lock, count = locks + group, locks + GROUPS + group
    dweight += group * columns + j
    dbias += group * columns + j
    shares_weight, shares_bias = gradient * normal, gradient
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        shares_weight += tl.load(dweight, mask=inside)
        shares_bias += tl.load(dbias, mask=inside)
    tl.store(dweight, shares_weight, mask=inside)
    tl.store(dbias, shares_bias, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def attention(q, k, v, out, length, scale, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """Causal attention of one head per program_id(1), in one pass with a running maximum."""
    head = tl.program_id(1) * length * HEAD
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, HEAD)
    queries = tl.load(q + head + m[:, None] * HEAD + d[None, :])
    highest = tl.full((BM,), -float("inf"), tl.float32)
    weights = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, HEAD), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BM, BN):
        n = start + tl.arange(0, BN)
        keys = tl.load(k + head + n[None, :] * HEAD + d[:, None])
        scores = tl.dot(queries, keys) * (scale * 1.4426950408889634)
        scores = tl.where(m[:, None] >= n[None, :], scores, -float("inf"))
        above = tl.maximum(highest, tl.max(scores, axis=1))
        raised = tl.exp2(scores - above[:, None])
        fade = tl.exp2(highest - above)
        weights = weights * fade + tl.sum(raised, axis=1)
        values = tl.load(v + head + n[:, None] * HEAD + d[None, :])
        total = tl.dot(raised.to(values.dtype), values, total * fade[:, None])
        highest = above
    total = total / weights[:, None]
    tl.store(out + head + m[:, None] * HEAD + d[None, :], total.to(out.dtype.element_ty))
