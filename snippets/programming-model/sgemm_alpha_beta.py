"""alpha A B + beta C in float32, held against float64 within a bound that is derived, not guessed.

python sgemm_alpha_beta.py   shapes that are multiples of nothing, and an output full of NaN where beta is 0
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

sgemm = wb.module("programming-model/sgemm.cu").get_function("sgemm")
rng = np.random.default_rng()
U = 2.0**-24  # unit roundoff of float32: half the distance from 1 to the next float


# --8<-- [start:reference]
def reference(alpha: float, A: np.ndarray, B: np.ndarray, beta: float, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The result in float64, and how far a float32 result may be from it, element by element."""
    old = np.zeros(C.shape) if beta == 0 else beta * C.astype(np.float64)
    want = alpha * (A.astype(np.float64) @ B) + old
    magnitude = abs(alpha) * (np.abs(A).astype(np.float64) @ np.abs(B)) + np.abs(old)
    return want, (A.shape[1] + 3) * U * 1.01 * magnitude  # k products and sums, alpha, beta, the last sum


# --8<-- [end:reference]


def run(alpha: float, A: np.ndarray, B: np.ndarray, beta: float, C: np.ndarray) -> np.ndarray:
    (m, k), n, out = A.shape, B.shape[1], C.copy()
    sgemm(
        *(np.int32(m), np.int32(n), np.int32(k), np.float32(alpha), cuda.In(A), cuda.In(B)),
        *(np.float32(beta), cuda.InOut(out)),
        block=(16, 16, 1),
        grid=(-(-n // 16), -(-m // 16)),
    )
    return out


if __name__ == "__main__":
    for m, n, k in ((1, 1, 1), (31, 32, 1), (31, 32, 257), (67, 53, 41)):
        for alpha, beta in ((1, 0), (1, 1), (0.5, -2), (0, 0.75)):
            A, B, C = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n)))
            if beta == 0:
                C[:] = np.nan  # must not be read
            want, bound = reference(alpha, A, B, beta, C)
            got = run(alpha, A, B, beta, C)
            wb.check(got, want, bound, what=f"sgemm {m}×{n}×{k}, alpha = {alpha}, beta = {beta}")
        print(f"C {m} × {n}, k = {k}: four pairs of alpha and beta, each within its bound")
