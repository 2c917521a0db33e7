# wrong: masked-in-sum, no line
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    i = tl.arange(0, BLOCK)
    inside = i < columns
    value = tl.load(x + row + i, mask=inside, other=0.0)
    raised = tl.exp(value - tl.max(tl.where(inside, value, float("-inf")), axis=0))
    tl.store(out + row + i, raised / tl.sum(raised, axis=0), mask=inside)
