# slow: bytes
import triton
import triton.language as tl


@triton.jit
def chain(x, scale, shift, residual, out, total, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < total
    column = i % columns
    value = tl.load(x + i, mask=inside) * tl.load(scale + column, mask=inside)
    tl.store(out + i, value, mask=inside)  # <-- here
    value = tl.load(out + i, mask=inside) + tl.load(shift + column, mask=inside)  # <-- here
    tl.store(out + i, tl.maximum(value, 0.0), mask=inside)  # <-- here
    value = tl.load(out + i, mask=inside) + tl.load(residual + i, mask=inside)  # <-- here
    tl.store(out + i, value, mask=inside)  # <-- here
