import triton
import triton.language as tl


@triton.jit
def chain(x, scale, shift, residual, out, total, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # your code
    # end of your code
