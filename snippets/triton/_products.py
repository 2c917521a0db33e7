"""Matrix products in Triton: C = A B in fp16, row-major; A is m x k, B is k x n."""

import triton
import triton.language as tl


# --8<-- [start:tile_of]
@triton.jit
def tile_of(program, rows, columns, GROUP: tl.constexpr):
    """The tile of a program: down the columns of a group of GROUP rows; with GROUP = 1, along each row."""
    first = program // (GROUP * columns) * GROUP
    height = min(rows - first, GROUP)  # the last group may have fewer rows
    place = program % (GROUP * columns)
    return first + place % height, place // height


# --8<-- [end:tile_of]


# --8<-- [start:product]
@triton.jit
def product(a, b, c, m, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
    row, column = tile_of(tl.program_id(0), tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS), GROUP)
    i = row * ROWS + tl.arange(0, ROWS)[:, None]
    j = column * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, DEPTH):
        across = start + tl.arange(0, DEPTH)[None, :]
        down = start + tl.arange(0, DEPTH)[:, None]
        of_a = tl.load(a + i * k + across, mask=(i < m) & (across < k), other=0)
        of_b = tl.load(b + down * n + j, mask=(down < k) & (j < n), other=0)
        total = tl.dot(of_a, of_b, total)
    tl.store(c + i * n + j, total.to(tl.float16), mask=(i < m) & (j < n))


# --8<-- [end:product]


# --8<-- [start:aligned]
@triton.jit
def aligned(a, b, c, m, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
    """For n and k that are multiples of 8, so that rows begin at multiples of 16 bytes."""
    product(a, b, c, m, n // 8 * 8, k // 8 * 8, ROWS, COLUMNS, DEPTH, GROUP)


# --8<-- [end:aligned]


# --8<-- [start:wrapped]
@triton.jit
def wrapped(a, b, c, m, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
    """Rows and columns beyond the end are read from the beginning again, so that only K needs a mask."""
    row, column = tile_of(tl.program_id(0), tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS), GROUP)
    i = row * ROWS + tl.arange(0, ROWS)[:, None]
    j = column * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    across, down = tl.arange(0, DEPTH)[None, :], tl.arange(0, DEPTH)[:, None]
    from_a, from_b = a + i % m * k + across, b + down * n + j % n
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, DEPTH):
        of_a = tl.load(from_a, mask=across < k - start, other=0)
        of_b = tl.load(from_b, mask=down < k - start, other=0)
        total = tl.dot(of_a, of_b, total)
        from_a += DEPTH
        from_b += DEPTH * n
    tl.store(c + i * n + j, total.to(tl.float16), mask=(i < m) & (j < n))


# --8<-- [end:wrapped]


# --8<-- [start:described]
@triton.jit
def described(a, b, c, m, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
    """a, b and c are tensor descriptors: they know their shape, and what lies outside is read as 0."""
    row, column = tile_of(tl.program_id(0), tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS), GROUP)
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, DEPTH):
        of_a = a.load([row * ROWS, start])
        of_b = b.load([start, column * COLUMNS])
        total = tl.dot(of_a, of_b, total)
    c.store([row * ROWS, column * COLUMNS], total.to(tl.float16))


# --8<-- [end:described]


# --8<-- [start:persistent]
@triton.jit
def persistent(a, b, c, m, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
    """described, by as many programs as there are SMs: each takes one tile after another."""
    rows, columns = tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS)
    for tile in tl.range(tl.program_id(0), rows * columns, tl.num_programs(0), flatten=True):
        row, column = tile_of(tile, rows, columns, GROUP)
        total = tl.zeros((ROWS, COLUMNS), tl.float32)
        for start in range(0, k, DEPTH):
            of_a = a.load([row * ROWS, start])
            of_b = b.load([start, column * COLUMNS])
            total = tl.dot(of_a, of_b, total)
        c.store([row * ROWS, column * COLUMNS], total.to(tl.float16))


# --8<-- [end:persistent]


@triton.jit
def fused(a, b, c, bias, m, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, GROUP: tl.constexpr):
    """relu(A B + bias)."""
    row, column = tile_of(tl.program_id(0), tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS), GROUP)
    i = row * ROWS + tl.arange(0, ROWS)[:, None]
    j = column * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, DEPTH):
        across = start + tl.arange(0, DEPTH)[None, :]
        down = start + tl.arange(0, DEPTH)[:, None]
        of_a = tl.load(a + i * k + across, mask=(i < m) & (across < k), other=0)
        of_b = tl.load(b + down * n + j, mask=(down < k) & (j < n), other=0)
        total = tl.dot(of_a, of_b, total)
    # --8<-- [start:epilogue]
    total = tl.maximum(total + tl.load(bias + j, mask=j < n, other=0), 0)
    tl.store(c + i * n + j, total.to(tl.float16), mask=(i < m) & (j < n))
    # --8<-- [end:epilogue]


# --8<-- [start:bias_relu]
@triton.jit
def bias_relu(c, bias, n, count, BLOCK: tl.constexpr):
    """The epilogue as a kernel of its own, which reads C and writes it again."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(c + at, mask=at < count).to(tl.float32)
    total = tl.maximum(total + tl.load(bias + at % n, mask=at < count), 0)
    tl.store(c + at, total.to(tl.float16), mask=at < count)


# --8<-- [end:bias_relu]


@triton.jit
def order(numbers, rows, columns, GROUP: tl.constexpr):
    """Each program writes its number into its tile's place."""
    row, column = tile_of(tl.program_id(0), rows, columns, GROUP)
    tl.store(numbers + row * columns + column, tl.program_id(0))
