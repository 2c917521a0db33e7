"""Twenty-two kernels, each for a part of the language that the tutorials leave out."""

import triton
import triton.language as tl


@triton.jit
def scale_and_add(x, y, out, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, factor * tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def round_to(x, out, n, BLOCK: tl.constexpr):
    """To whatever type `out` has, and what that type is."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n).to(out.dtype.element_ty), mask=i < n)


@triton.jit
def transpose(x, out, rows, columns, BLOCK: tl.constexpr):
    i, j = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    tile = tl.load(x + i[:, None] * columns + j[None, :], mask=inside)
    tl.store(out + j[:, None] * rows + i[None, :], tl.trans(tile), mask=tl.trans(inside))


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0), axis=0))


@triton.jit
def largest(x, values, places, columns, BLOCK: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    line = tl.load(x + row * columns + j, mask=j < columns, other=-float("inf"))
    value, place = tl.max(line, axis=0, return_indices=True)
    tl.store(values + row, value)
    tl.store(places + row, place)


@triton.jit
def running_sum(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(x + i), axis=0))


@triton.jit
def follow(decay_before, value_before, decay, value):
    return decay_before * decay, value_before * decay + value


@triton.jit
def recurrence(decays, values, out, BLOCK: tl.constexpr):
    """h[i] = decay[i] h[i-1] + value[i], as a scan."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    _, state = tl.associative_scan((tl.load(decays + i), tl.load(values + i)), 0, follow)
    tl.store(out + i, state)


@triton.jit
def histogram(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(x + i, mask=i < n, other=0), BINS, mask=i < n)
    tl.atomic_add(out + tl.arange(0, BINS), counts)


@triton.jit
def gather_rows(table, places, out, columns, BLOCK: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    line = table + tl.load(places + row) * columns
    tl.store(out + row * columns + j, tl.load(line + j, mask=j < columns), mask=j < columns)


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(out + i, value * 0.5 * (1 + tl.erf(value * 0.7071067811865476)), mask=i < n)


@triton.jit
def rms_norm(x, weight, out, columns, epsilon, BLOCK: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    line = tl.load(x + row * columns + j, mask=j < columns, other=0.0).to(tl.float32)
    inverse = tl.rsqrt(tl.sum(line * line, axis=0) / columns + epsilon)
    scaled = line * inverse * tl.load(weight + j, mask=j < columns)
    tl.store(out + row * columns + j, scaled.to(out.dtype.element_ty), mask=j < columns)


@triton.jit
def rotate(x, cosines, sines, out, HALF: tl.constexpr):
    """Rotary embedding: the pairs are element j and element j + HALF."""
    row, j = tl.program_id(0), tl.arange(0, HALF)
    first, second = tl.load(x + row * 2 * HALF + j), tl.load(x + row * 2 * HALF + HALF + j)
    cosine, sine = tl.load(cosines + row * HALF + j), tl.load(sines + row * HALF + j)
    tl.store(out + row * 2 * HALF + j, first * cosine - second * sine)
    tl.store(out + row * 2 * HALF + HALF + j, second * cosine + first * sine)


@triton.jit
def dot(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    """One tile, of any types that tl.dot takes; B is given by columns."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)
    kind: tl.constexpr = c.dtype.element_ty
    sums = tl.zeros((M, N), kind)
    for start in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + start + k[None, :])
        right = tl.load(b + n[None, :] * K + start + k[:, None])
        sums = tl.dot(left, right, sums, input_precision=PRECISION, out_dtype=kind)
    tl.store(c + m[:, None] * N + n[None, :], sums)


@triton.jit
def split_dot(a, b, c, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    """Every program has a part of K, and adds to the result."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.program_id(0) * BK + tl.arange(0, BK)
    left, right = tl.load(a + m[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + n[None, :])
    tl.atomic_add(c + m[:, None] * N + n[None, :], tl.dot(left, right), sem="relaxed")


@triton.jit
def matvec(a, x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    sums = tl.zeros((BM,), tl.float32)
    for start in range(0, columns, BN):
        j = start + tl.arange(0, BN)
        inside = (i[:, None] < rows) & (j[None, :] < columns)
        tile = tl.load(a + i[:, None] * columns + j[None, :], mask=inside, other=0.0)
        sums += tl.sum(tile * tl.load(x + j, mask=j < columns, other=0.0)[None, :], axis=1)
    tl.store(out + i, sums, mask=i < rows)


@triton.jit
def blur(x, out, n, BLOCK: tl.constexpr):
    """Three neighbours, zero beyond the ends."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(x + i - 1, mask=(i > 0) & (i <= n), other=0.0)
    after = tl.load(x + i + 1, mask=i + 1 < n, other=0.0)
    tl.store(out + i, 0.25 * before + 0.5 * tl.load(x + i, mask=i < n, other=0.0) + 0.25 * after, mask=i < n)


@triton.jit
def sort_rows(x, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.sort(tl.load(x + i)))


@triton.jit
def cross_entropy(logits, labels, losses, columns, BLOCK: tl.constexpr):
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    line = tl.load(logits + row * columns + j, mask=j < columns, other=-float("inf"))
    highest = tl.max(line, axis=0)
    spread = tl.log(tl.sum(tl.exp(line - highest), axis=0)) + highest
    tl.store(losses + row, spread - tl.load(logits + row * columns + tl.load(labels + row)))


@triton.jit
def quantise(x, out, scales, columns, BLOCK: tl.constexpr):
    """A row to int8, and the scale to get it back with."""
    row, j = tl.program_id(0), tl.arange(0, BLOCK)
    line = tl.load(x + row * columns + j, mask=j < columns, other=0.0)
    scale = tl.max(tl.abs(line), axis=0) / 127
    steps = tl.floor(line / scale + 0.5)
    tl.store(scales + row, scale)
    tl.store(out + row * columns + j, steps.to(tl.int8), mask=j < columns)


@triton.jit
def iterations(real, imaginary, out, n, MOST: tl.constexpr, BLOCK: tl.constexpr):
    """Steps until a point leaves the circle of radius 2: a loop whose end depends on the data."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(real + i, mask=i < n, other=4.0), tl.load(imaginary + i, mask=i < n, other=4.0)
    x, y = tl.zeros((BLOCK,), tl.float32), tl.zeros((BLOCK,), tl.float32)
    steps = tl.zeros((BLOCK,), tl.int32)
    running, count = 1, 0
    while running > 0:
        inside = x * x + y * y < 4
        x, y = tl.where(inside, x * x - y * y + a, x), tl.where(inside, 2 * x * y + b, y)
        steps += inside.to(tl.int32)
        count += 1
        running = tl.where(count < MOST, tl.sum(inside.to(tl.int32), axis=0), 0)
    tl.store(out + i, steps, mask=i < n)


@triton.jit
def mix_bits(x, out, n, BLOCK: tl.constexpr):
    """Unsigned arithmetic that wraps, shifts, and the high half of a product."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    value = (value ^ (value >> 16)) * 0x7FEB352D
    value = (value ^ (value >> 15)) * 0x846CA68B
    tl.store(out + i, value ^ (value >> 16) ^ tl.umulhi(value, value), mask=i < n)


@triton.jit
def described_product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Tiles by tensor descriptors: on Hopper the hardware copies them."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        sums = tl.dot(a.load([row, k]), b.load([k, column]), sums)
    c.store([row, column], sums)
