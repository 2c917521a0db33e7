"""tl.dot of fp32 with input_precision="ieee", once: a profiler shows what keeps the CUDA cores from their rate.

python fp32.py             check
python fp32.py --profile   launch it for a profiler: N = 4096 (softcuda: 128 x 128 x 256)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that Triton and torch use too
import warpbench as wb

wb.needs("9.0", packages="triton")
from kinds import Case  # noqa: E402

if __name__ == "__main__":
    large = wb.is_gpu() and "--profile" in sys.argv[1:]
    m, n, k = (4096, 4096, 4096) if large else (128, 128, 256)
    case = Case(np.random.default_rng(), "ieee", m, n, k, every=not large)
    case.reset()
    case.launch()
    case.check()
    print(f"{m} x {n} x {k} in fp32: within its bound")
