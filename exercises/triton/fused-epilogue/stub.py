import triton
import triton.language as tl


@triton.jit
def linear(a, b, bias, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
    columns = (tl.program_id(1) * BN + tl.arange(0, BN))[None, :]
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    # your code
    # end of your code
