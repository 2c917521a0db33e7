# wrong: relu-last, no line
import triton
import triton.language as tl


@triton.jit
def chain(x, scale, shift, residual, out, total, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < total
    column = i % columns
    value = tl.load(x + i, mask=inside)
    factor = tl.load(scale + column, mask=inside)
    offset = tl.load(shift + column, mask=inside)
    skipped = tl.load(residual + i, mask=inside)
    value = value * factor + offset
    tl.store(out + i, tl.maximum(value + skipped, 0.0), mask=inside)
