"""Three small kernels in bfloat16, for Triton's compiler and for its interpreter."""

import triton
import triton.language as tl


# --8<-- [start:kernels]
@triton.jit
def dot(a, b, c):
    i, j = tl.arange(0, 16)[:, None], tl.arange(0, 16)[None, :]
    tl.store(c + i * 16 + j, tl.dot(tl.load(a + i * 16 + j), tl.load(b + i * 16 + j)))


@triton.jit
def add(x, y, z):
    at = tl.arange(0, 256)
    tl.store(z + at, (tl.load(x + at) + tl.load(y + at)).to(tl.float32))


@triton.jit
def cast(x, z):
    at = tl.arange(0, 256)
    tl.store(z + at, tl.load(x + at).to(tl.bfloat16).to(tl.float32))


# --8<-- [end:kernels]
