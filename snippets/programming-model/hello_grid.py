"""Who is there? Each thread of a grid writes its own number, in its own row or in order of arrival.

python hello_grid.py   grids of several shapes; sorted, the numbers must be 0, 1, 2 … each of them once
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

module = wb.module("programming-model/hello.cu")
whoami, arrival = module.get_function("whoami"), module.get_function("arrival")

for blocks, threads in ((1, 1), (1, 10), (3, 31), (31, 33), (1000, 128)):
    n = blocks * threads
    rows = np.full((n, 3), -1, np.int32)  # poison: -1 is nobody's number
    whoami(cuda.InOut(rows), block=(threads, 1, 1), grid=(blocks, 1))
    i = np.arange(n)
    wb.check(rows, np.stack([i // threads, i % threads, i], axis=1), what=f"whoami<<<{blocks}, {threads}>>>")

    order, taken = np.full(n, -1, np.int32), np.zeros(1, np.int32)
    arrival(cuda.InOut(order), cuda.InOut(taken), block=(threads, 1, 1), grid=(blocks, 1))
    wb.check(np.sort(order), i, what=f"arrival<<<{blocks}, {threads}>>>")
    wb.check(taken, [n], what="rows taken")
    print(f"<<<{blocks}, {threads}>>>: {n:,} threads, each number once")
