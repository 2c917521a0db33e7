"""The row pitch that square matrices hide: i = iy * ny + ix, where a row has nx elements.

python pitch_bug.py               run the right and the faulty kernel, with room around the matrix for what goes astray
softcuda check pitch_bug.py --no-room     the faulty one on 6 × 8 without that room
softcuda check pitch_bug.py --half        and one that reads right and writes wrong
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

RIGHT, FAULTY = "thread-organisation/add.cu", "thread-organisation/variants.cu"
POISON = -(2**31)


def run(module: object, kernel: str, a: np.ndarray, b: np.ndarray, nx: int, ny: int) -> np.ndarray:
    """Add the first nx × ny of what a and b hold; return c, poisoned before."""
    c = np.full(a.size, POISON, np.int32)
    x, y = 32, 8
    arguments = cuda.In(a), cuda.In(b), cuda.InOut(c), np.int32(nx), np.int32(ny)
    module.get_function(kernel)(*arguments, block=(x, y, 1), grid=(-(-nx // x), -(-ny // y)))
    return c


def astray(a: np.ndarray, b: np.ndarray, nx: int, ny: int) -> np.ndarray:
    """What the faulty kernel leaves, worked out on the host, place by place."""
    c = np.full(a.size, POISON, np.int32)
    for iy in range(ny):
        c[iy * ny : iy * ny + nx] = a[iy * ny : iy * ny + nx] + b[iy * ny : iy * ny + nx]
    return c


def main() -> None:
    rng, right, faulty = np.random.default_rng(6), wb.module(RIGHT), wb.module(FAULTY)
    print("nx × ny            iy * nx + ix   iy * ny + ix   never written   written past the end")
    for nx, ny in [(8, 8), (64, 64), (8, 6), (6, 8), (31, 1), (1, 31), (1000, 37), (37, 1000)]:
        room = max(nx * ny, (ny - 1) * ny + nx)  # all that the faulty index can reach
        a, b = (rng.integers(-(2**30), 2**30, room, dtype=np.int32) for _ in range(2))
        want = np.full(room, POISON, np.int32)
        want[: nx * ny] = a[: nx * ny] + b[: nx * ny]
        wb.check(run(right, "matrix_add", a, b, nx, ny), want, what=f"matrix_add of {nx} × {ny}")
        got = run(faulty, "matrix_add_faulty", a, b, nx, ny)
        wb.check(got, astray(a, b, nx, ny), what=f"matrix_add_faulty of {nx} × {ny}")
        missing, beyond = int((got[: nx * ny] == POISON).sum()), int((got[nx * ny :] != POISON).sum())
        verdict = "wrong" if missing or beyond else "exact"
        print(f"{nx:5} × {ny:<5}{'exact':>18}{verdict:>15}{missing:16,}{beyond:23,}")


def alone(kernel: str, nx: int, ny: int) -> None:
    """One launch of a faulty kernel on arrays of just the matrix's size."""
    a, b = (np.random.default_rng(6).integers(-(2**30), 2**30, nx * ny, dtype=np.int32) for _ in range(2))
    run(wb.module(FAULTY), kernel, a, b, nx, ny)


if __name__ == "__main__":
    if "--no-room" in sys.argv[1:]:
        alone("matrix_add_faulty", 6, 8)
    elif "--half" in sys.argv[1:]:
        alone("matrix_add_half", 8, 6)
    else:
        main()
