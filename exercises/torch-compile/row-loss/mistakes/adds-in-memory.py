# wrong: race
import triton
import triton.language as tl


@triton.jit
def row_loss(x, target, loss, rows, columns, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):
    row = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    r = tl.arange(0, RBLOCK)[None, :]
    tl.store(loss + row, tl.zeros((XBLOCK, 1), tl.float32), mask=row < rows)  # <-- here
    for first in range(0, columns, RBLOCK):
        column = first + r
        inside = (row < rows) & (column < columns)
        at = row * columns + column
        value = tl.load(x + at, mask=inside, other=0.0)
        margin = 1.0 - value * tl.load(target + at, mask=inside, other=0.0)
        margin = tl.where(inside, tl.maximum(margin, 0.0), 0.0)
        before = tl.load(loss + row, mask=row < rows, other=0.0)  # <-- here
        tl.store(loss + row, before + tl.sum(margin * margin, axis=1)[:, None], mask=row < rows)  # <-- here
