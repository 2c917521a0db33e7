"""Softmax and layer norm of rows in Triton: one row per program, held in registers."""

import triton
import triton.language as tl


# --8<-- [start:softmax]
@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * n
    values = tl.load(x + row + at, mask=at < n, other=float("-inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row + at, values / tl.sum(values, axis=0), mask=at < n)


# --8<-- [end:softmax]


# --8<-- [start:layer_norm]
@triton.jit
def layer_norm(x, y, weight, bias, n, epsilon, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * n
    values = tl.load(x + row + at, mask=at < n, other=0)
    centred = tl.where(at < n, values - tl.sum(values, axis=0) / n, 0)
    factor = tl.rsqrt(tl.sum(centred * centred, axis=0) / n + epsilon)
    scaled = centred * factor * tl.load(weight + at, mask=at < n) + tl.load(bias + at, mask=at < n)
    tl.store(y + row + at, scaled, mask=at < n)


# --8<-- [end:layer_norm]
