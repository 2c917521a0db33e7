"""A product of any type: C = A Bᵀ in fp32; A is m x k, B is n x k."""

import triton
import triton.language as tl
from _products import tile_of


# --8<-- [start:product_of]
@triton.jit
def product_of(
    a,
    b,
    c,
    m,
    n,
    k,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
    GROUP: tl.constexpr,
    PRECISION: tl.constexpr,
):
    row, column = tile_of(tl.program_id(0), tl.cdiv(m, ROWS), tl.cdiv(n, COLUMNS), GROUP)
    i = row * ROWS + tl.arange(0, ROWS)[:, None]
    j = column * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for start in range(0, k, DEPTH):
        across = start + tl.arange(0, DEPTH)[None, :]
        down = start + tl.arange(0, DEPTH)[:, None]
        of_a = tl.load(a + i * k + across, mask=(i < m) & (across < k), other=0.0)
        of_b = tl.load(b + j * k + down, mask=(down < k) & (j < n), other=0.0)
        total = tl.dot(of_a, of_b, total, input_precision=PRECISION)
    tl.store(c + i * n + j, total, mask=(i < m) & (j < n))


# --8<-- [end:product_of]
