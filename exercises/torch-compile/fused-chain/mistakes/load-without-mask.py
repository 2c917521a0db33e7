# wrong: out-of-bounds
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
    skipped = tl.load(residual + i)  # <-- here
    value = tl.maximum(value * factor + offset, 0.0)
    tl.store(out + i, value + skipped, mask=inside)
