"""What older tutorials say kernels cannot do: recursion, static variables, function pointers, host memory.

python qualifiers.py   does each of them and holds the results against Python's
"""

import math

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

module = wb.module("programming-model/qualifiers.cu")
rng = np.random.default_rng()

out = np.full(31, -1, np.int32)
module.get_function("tour")(cuda.InOut(out), block=(31, 1, 1))
wb.check(out, [i * i + 1 + math.factorial(i % 8) for i in range(31)], what="tour")
print("device functions, __host__ __device__, recursion: as in Python")

count_visits = module.get_function("count_visits")
tickets = np.full((3, 1000), -1, np.int32)
for launch in range(3):
    row = np.full(1000, -1, np.int32)
    count_visits(cuda.InOut(row), block=(100, 1, 1), grid=(10, 1))
    tickets[launch] = np.sort(row)
wb.check(tickets, np.arange(3000).reshape(3, 1000), what="count_visits")
print("a static variable: 3 launches of 1,000 threads drew the tickets 0 to 2,999, each once")

apply = module.get_function("apply")
for n in (1, 31, 1000):
    a, b = rng.integers(-(2**30), 2**30, (2, n), dtype=np.int32)
    for which, want in enumerate((np.minimum(a, b), np.maximum(a, b), abs(a.astype(np.int64) - b))):
        out = np.full(n, -(2**31), np.int32)
        apply(np.int32(which), cuda.In(a), cuda.In(b), cuda.InOut(out), np.int32(n), block=(128, 1, 1), grid=(8, 1))
        wb.check(out, want, what=f"apply rule {which} at n = {n}")
print("function pointers: 3 rules, exact at n = 1, 31 and 1,000")

# the same kernel, on three arrays that stay in the host's memory
n = 1000
host = cuda.pagelocked_empty((3, n), np.int32, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
host[:2], host[2] = rng.integers(-(2**30), 2**30, (2, n), dtype=np.int32), -(2**31)
start = host.base.get_device_pointer()
apply(np.int32(1), *(np.uintp(start + 4 * n * k) for k in range(3)), np.int32(n), block=(128, 1, 1), grid=(8, 1))
cuda.Context.synchronize()
wb.check(host[2].copy(), np.maximum(host[0], host[1]), what="apply on host memory")
print("host memory: read and written by the kernel, without a copy")
