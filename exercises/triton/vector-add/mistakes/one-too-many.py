# wrong: out-of-bounds
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    i = first + tl.arange(0, BLOCK)
    inside = i <= n
    total = tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside)  # <-- here
    tl.store(out + i, total, mask=inside)  # <-- here
