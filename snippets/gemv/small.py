"""Many small products at once: one block per product, then 4 x 4 elements per thread, then several products per block.

python small.py             check; on a GPU also time 384 MiB of products of each size, in turn with cuBLAS and a copy
python small.py --profile   launch each kernel once for a profiler, 32 x 32 (softcuda: 64 products)
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _gemv import rounds, shares, spread, tensor

SIZES = (16, 32, 64)
NAMES = ("v0", "v1", "v2")


class Products:
    """Random A and B on the device, and what up to 4096 of the C = A B must be."""

    def __init__(self, rng: np.random.Generator, size: int, products: int, whole: bool = False) -> None:
        self.size, self.products = size, products
        shape = (products, size, size)
        self.compared = np.sort(rng.choice(products, min(products, 4096), replace=False))
        if whole:  # so small that every sum is exact
            a, b = (rng.integers(-99, 99, shape, dtype=np.int8).astype(np.float32) for _ in range(2))
            self.want, self.bound = a[self.compared] @ b[self.compared], 0.0
        else:
            a, b = (2 * rng.random(shape, dtype=np.float32) - 1 for _ in range(2))
            wide = a[self.compared].astype(np.float64), b[self.compared].astype(np.float64)
            self.want, self.bound = wide[0] @ wide[1], 2 * size * 2.0**-24 * (np.abs(wide[0]) @ np.abs(wide[1]))
        self.a, self.b, self.nbytes = cuda.to_device(a), cuda.to_device(b), a.nbytes
        self.c = cuda.mem_alloc(self.nbytes)

    def launch(self, name: str, module: Any) -> Callable[[int], None]:
        kernel, per_product = module.get_function(f"small_{name}"), self.size**2 // 16
        together = max(1, 256 // per_product) if name == "v2" else 1
        block, grid = 256 if name == "v0" else per_product * together, (-(-self.products // together), 1)
        return lambda _: kernel(self.a, self.b, self.c, np.int32(self.products), block=(block, 1, 1), grid=grid)

    def check(self, launch: Callable[[int], object], what: str) -> float:
        cuda.memset_d32_async(self.c, 0xFFFFFFFF, self.nbytes // 4)
        launch(0)
        got = np.empty((self.products, self.size, self.size), np.float32)
        cuda.memcpy_dtoh(got, self.c)
        what = f"{what}, {self.products} products of {self.size} x {self.size}"
        if not np.isfinite(got).all():
            raise AssertionError(f"{what}: some elements were not written")
        return wb.check(got[self.compared], self.want, self.bound, what)


def measure(rng: np.random.Generator, size: int, module: Any) -> None:
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    products = 2**25 // size**2  # 128 MiB per operand
    p = Products(rng, size, products, whole=True)
    a, b, c = (tensor(x, (products, size, size), False) for x in (p.a, p.b, p.c))
    library = lambda _: torch.bmm(a, b, out=c)  # noqa: E731
    p.check(library, "torch.bmm")
    yardstick = lambda _: cuda.memcpy_dtod_async(p.c, p.a, p.nbytes)  # noqa: E731
    libraries: list[float] = []
    copies: list[float] = []
    for name in NAMES:
        launch = p.launch(name, module)
        p.check(launch, name)
        ours, theirs, copied = rounds([launch, library, yardstick], seconds=0.1)
        p.check(launch, name)
        libraries, copies = libraries + theirs, copies + copied
        of_copy, of_cublas = shares(ours, copied, 150.0), shares(ours, theirs)  # three matrices, where a copy moves two
        t = wb.Timing(*spread(ours), repeats=len(ours))
        wb.timing(f"{name}.n{size}", t, nbytes=3 * p.nbytes, flop=2 * products * size**3)
        wb.value(f"{name}.n{size}.copy_share", of_copy[0], "%", of_copy[1:])
        wb.value(f"{name}.n{size}.share", of_cublas[0], "%", of_cublas[1:])
        print(f"{size:2} {name:8}{t.median * 1e3:9.3f} ms{of_copy[0]:8.1f} % of copy{of_cublas[0]:9.1f} % of cuBLAS")
    of_copy = shares(libraries, copies, 150.0)
    t = wb.Timing(*spread(libraries), repeats=len(libraries))
    wb.timing(f"cublas.n{size}", t, nbytes=3 * p.nbytes, flop=2 * products * size**3)
    wb.value(f"cublas.n{size}.copy_share", of_copy[0], "%", of_copy[1:])
    print(f"{size:2} cuBLAS  {t.median * 1e3:9.3f} ms{of_copy[0]:8.1f} % of copy")


if __name__ == "__main__":
    generator = np.random.default_rng()
    modules = {size: wb.module("gemv/small.cu", SIZE=size) for size in SIZES}
    if "--profile" in sys.argv[1:]:
        p = Products(generator, 32, 32768 if wb.is_gpu() else 64)
        for name in NAMES:
            p.check(p.launch(name, modules[32]), name)
            print(f"small_{name}: {p.products} products of {p.size} x {p.size}, within the bound")
    else:
        for size in SIZES:
            for products in (1, 37):
                for p in (Products(generator, size, products), Products(generator, size, products, whole=True)):
                    for name in NAMES:
                        p.check(p.launch(name, modules[size]), name)
            print(f"{size} x {size}: {len(NAMES)} kernels, within the bound; whole numbers exact")
        if wb.is_gpu():
            wb.needs(memory=4 * 2**30)
            for size in SIZES:
                measure(generator, size, modules[size])
        else:
            print("no GPU: nothing is timed")
