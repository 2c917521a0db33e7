"""Tiled SGEMM in Python, through Numba's simulator of CUDA (run with NUMBA_ENABLE_CUDASIM=1)."""

from numba import cuda, float32
from timing import asked, measure

TILE = 16


@cuda.jit
def sgemm(a, b, c, n):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * TILE + y, cuda.blockIdx.x * TILE + x
    total = 0.0
    for k in range(0, n, TILE):
        tile_a[y, x] = a[row, k + x]
        tile_b[y, x] = b[k + y, column]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[y, i] * tile_b[i, x]
        cuda.syncthreads()
    c[row, column] = total


for problem in asked():
    a, b, c, n = problem.arguments
    result = c.copy()
    measure(
        "Numba's simulator",
        problem,
        prepare=lambda result=result, c=c: result.__setitem__(..., c),
        run=lambda problem=problem, a=a, b=b, result=result, n=n: sgemm[problem.grid, problem.block](
            a, b, result, int(n)
        ),
        fetch=lambda result=result: result,
    )
