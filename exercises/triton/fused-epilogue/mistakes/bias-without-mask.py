# wrong: out-of-bounds
import triton
import triton.language as tl


@triton.jit
def linear(a, b, bias, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None]
    columns = (tl.program_id(1) * BN + tl.arange(0, BN))[None, :]
    inner = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for first in range(0, k, BK):
        i = first + inner
        left = tl.load(a + rows * k + i[None, :], mask=(rows < m) & (i[None, :] < k), other=0.0)
        right = tl.load(b + i[:, None] * n + columns, mask=(i[:, None] < k) & (columns < n), other=0.0)
        total = tl.dot(left, right, total)
    total += tl.load(bias + columns)  # <-- here
    total = tl.maximum(total, 0.0)
    tl.store(out + rows * n + columns, total, mask=(rows < m) & (columns < n))
