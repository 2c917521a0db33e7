# slow: bytes
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    i = tl.arange(0, BLOCK)
    inside = i < columns
    value = tl.load(x + row + i, mask=inside, other=float("-inf"))
    tl.store(out + row + i, tl.exp(value - tl.max(value, axis=0)), mask=inside)  # <-- here
    raised = tl.load(out + row + i, mask=inside, other=0.0)  # <-- here
    tl.store(out + row + i, raised / tl.sum(raised, axis=0), mask=inside)  # <-- here
