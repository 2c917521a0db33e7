import triton
import triton.language as tl


@triton.jit
def row_loss(x, target, loss, rows, columns, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):
    row = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    r = tl.arange(0, RBLOCK)[None, :]
    # your code
    # end of your code
