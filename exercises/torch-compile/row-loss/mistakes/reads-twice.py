# slow: bytes
import triton
import triton.language as tl


@triton.jit
def row_loss(x, target, loss, rows, columns, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):
    row = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    r = tl.arange(0, RBLOCK)[None, :]
    total = tl.zeros((XBLOCK, RBLOCK), tl.float32)
    for first in range(0, columns, RBLOCK):
        at = row * columns + first + r
        inside = (row < rows) & (first + r < columns)
        value = tl.load(x + at, mask=inside, other=0.0)  # <-- here
        margin = 1.0 - value * tl.load(target + at, mask=inside, other=0.0)  # <-- here
        total += tl.where(inside & (margin > 0.0), 1.0 - 2.0 * (1.0 - margin), 0.0)
    for first in range(0, columns, RBLOCK):
        at = row * columns + first + r
        inside = (row < rows) & (first + r < columns)
        product = tl.load(x + at, mask=inside, other=0.0) * tl.load(target + at, mask=inside, other=0.0)  # <-- here
        total += tl.where(inside & (product < 1.0), product * product, 0.0)
    tl.store(loss + row, tl.sum(total, axis=1)[:, None], mask=row < rows)
