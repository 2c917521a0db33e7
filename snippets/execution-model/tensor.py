"""A matrix product on tensor cores, a tile a warp, against NumPy.

python tensor.py   exact for small integers, within the bound of a sum for fractions; tiles that hang over the edge
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

module = wb.module("execution-model/mma.cu")
matmul = module.get_function("matmul")
rng = np.random.default_rng()


# --8<-- [start:product]
def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b for float16 matrices, in float32."""
    (m, k), n = a.shape, b.shape[1]
    c = np.full((m, n), np.nan, np.float32)
    shape = np.int32(m), np.int32(n), np.int32(k)
    matmul(cuda.In(a), cuda.In(b), cuda.InOut(c), *shape, block=(32, 1, 1), grid=(-(-n // 8), -(-m // 16)))
    return c


# --8<-- [end:product]


def whole(m: int, n: int, k: int) -> None:
    """Integers from -8 to 8: every product and every sum is exact in float32, in any order."""
    a, b = (rng.integers(-8, 9, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    want = a.astype(np.int64) @ b.astype(np.int64)
    wb.check(product(a, b), want.astype(np.float32), what=f"{m} × {k} × {n}, integers")


def fractions(m: int, n: int, k: int) -> float:
    """k products, each exact, and k sums, which may be cut off instead of rounded: k 2^-23 of the magnitudes."""
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    want = a.astype(np.float64) @ b.astype(np.float64)
    size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
    return wb.check(product(a, b), want, size * k * 2.0**-23, what=f"{m} × {k} × {n}, fractions")


if __name__ == "__main__":
    print(f"device: {wb.device()['name']}")
    for m, n, k in ((16, 8, 16), (1, 1, 1), (31, 31, 31), (100, 72, 40), (5, 129, 1000)):
        whole(m, n, k)
        worst = fractions(m, n, k)
        print(f"{m} × {k} by {k} × {n}: integers exact; fractions within their bound: {worst < 1}")
