# wrong: first-block, no line
import triton
import triton.language as tl


@triton.jit
def row_loss(x, target, loss, rows, columns, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):
    row = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    r = tl.arange(0, RBLOCK)[None, :]
    total = tl.zeros((XBLOCK, RBLOCK), tl.float32)
    for first in range(0, min(columns, RBLOCK), RBLOCK):
        column = first + r
        inside = (row < rows) & (column < columns)
        at = row * columns + column
        value = tl.load(x + at, mask=inside, other=0.0)
        margin = 1.0 - value * tl.load(target + at, mask=inside, other=0.0)
        margin = tl.maximum(margin, 0.0)
        total += tl.where(inside, margin * margin, 0.0)
    tl.store(loss + row, tl.sum(total, axis=1)[:, None], mask=row < rows)
