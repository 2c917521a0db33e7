import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    # your code
    # end of your code
