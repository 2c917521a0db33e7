"""A first kernel: 1,000 threads double one number each, and 24 more have nothing to do."""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

n = 1000
x = np.arange(n, dtype=np.float32)
y = np.full(n, np.nan, np.float32)
twice = wb.module("start/twice.cu").get_function("twice")
twice(cuda.In(x), cuda.InOut(y), np.int32(n), block=(256, 1, 1), grid=(4, 1))
print("first:", y[:6], " last:", y[-1])
wb.check(y, 2 * x, what="twice")
print("right: every element is 2 * x")
