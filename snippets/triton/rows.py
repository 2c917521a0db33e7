"""Softmax and layer norm of rows in Triton, beside this book's softmax in CUDA: checked, counted, timed.

python rows.py             check; on a GPU also time 2^28 numbers in rows of 4096, beside torch and a copy
python rows.py --profile   launch each once for a profiler: 32 rows of 4096
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that Triton and torch use too
import pycuda.driver as cuda
import warpbench as wb

wb.needs(packages="triton")
import triton  # noqa: E402
from _rows import layer_norm, softmax  # noqa: E402
from _tools import get, poison, put  # noqa: E402

N, WARPS = 4096, 16  # 512 threads per row, as the kernel in CUDA


def of_softmax(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The softmax of each row in float64, and how far a float32 result may be off.

    tl.exp multiplies by log2(e) before it takes a power of two: rounding that product costs 2^-24 of it, so the error
    grows with the distance to the row's maximum.
    """
    below = x.astype(np.float64) - x.max(axis=-1, keepdims=True)
    e = np.exp(below)
    y = e / e.sum(axis=-1, keepdims=True)
    return y, y * (2e-6 + 2.0**-22 * np.abs(below)) + 1e-37


def of_layer_norm(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    wide = x.astype(np.float64)
    normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    return normal * weight + bias, 1e-5 * (np.abs(normal * weight) + np.abs(weight) + np.abs(bias))


class Rows:
    """Random rows on the device, and the launches."""

    def __init__(self, rng: np.random.Generator, rows: int, n: int) -> None:
        self.rows, self.n, self.block = rows, n, triton.next_power_of_2(n)
        self.values = rng.standard_normal(2**20, dtype=np.float32)[rng.integers(0, 2**20, (rows, n), dtype=np.uint32)]
        self.of_weight, self.of_bias = rng.standard_normal((2, n)).astype(np.float32)
        self.x, self.y = put(self.values), put(np.empty_like(self.values))
        self.weight, self.bias = put(self.of_weight), put(self.of_bias)
        self.some = np.unique(np.r_[0, rows - 1, rng.integers(0, rows, 30)])

    def softmax(self) -> None:
        self.made = softmax[(self.rows,)](self.x, self.y, self.n, BLOCK=self.block, num_warps=WARPS)

    def layer_norm(self) -> None:
        arrays = self.x, self.y, self.weight, self.bias
        self.made = layer_norm[(self.rows,)](*arrays, self.n, 1e-5, BLOCK=self.block, num_warps=WARPS)

    def in_cuda(self, kernel: object) -> None:
        """This book's kernel: 512 threads, two packs of four floats each."""
        x, y = (np.uint64(a.data_ptr() if wb.is_gpu() else a.ptr) for a in (self.x, self.y))
        kernel(x, y, np.int32(self.rows), np.int32(self.n), block=(512, 1, 1), grid=(self.rows, 1))

    def check(self, what: str) -> float:
        x = self.values[self.some]
        want, bound = of_layer_norm(x, self.of_weight, self.of_bias) if "norm" in what else of_softmax(x)
        got = get(self.y)
        assert not np.isnan(got).any(), f"{what}: some elements are NaN or were not written"
        return wb.check(got[self.some], want, bound, f"{what}, {self.rows} rows of {self.n}")


def kernel_in_cuda() -> object:
    return wb.module("softmax/softmax.cu", THREADS=512, PACKS=2, WIDTH=4).get_function("softmax_registers")


def launches(rows: Rows) -> dict:
    """Of rows of 4096."""
    kernel = kernel_in_cuda()
    return {"softmax": rows.softmax, "softmax in CUDA": lambda: rows.in_cuda(kernel), "layer norm": rows.layer_norm}


def run(rows: Rows, what: str, launch) -> float:
    poison(rows.y)
    launch()
    return rows.check(what)


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        rows = Rows(generator, 32, N)
        for what, launch in launches(rows).items():
            run(rows, what, launch)
            print(f"{what}: 32 rows of {N} within the bound")
        raise SystemExit
    for n in (1, 31, 1000, N):
        rows = Rows(generator, 7, n)
        for what, launch in {"softmax": rows.softmax, "layer norm": rows.layer_norm}.items():
            run(rows, what, launch)
        print(f"rows of {n:5}: softmax and layer norm within the bound")
    run(rows, "softmax in CUDA", launches(rows)["softmax in CUDA"])
    print(f"rows of {N:5}: the softmax in CUDA, too")
    if not wb.is_gpu():
        print("no GPU: nothing is timed")
        raise SystemExit
    wb.needs("8.0", memory=3 * 2**30)
    import torch

    rows = Rows(generator, 2**16, N)
    nbytes = 8 * rows.values.size
    names = {"softmax": "softmax", "softmax in CUDA": "softmax_cuda", "layer norm": "layer_norm"}
    for what, launch in launches(rows).items():
        run(rows, what, launch)
        t = wb.time(lambda i: launch(), poison=lambda i: poison(rows.y), check=lambda i: rows.check(what))  # noqa: B023
        wb.timing(names[what], t, nbytes=nbytes)
        print(f"{what:16}{nbytes / t.median / 1e9:8.0f} GB/s")
    t = wb.time(
        lambda i: torch.softmax(rows.x, 1, out=rows.y),
        poison=lambda i: poison(rows.y),
        check=lambda i: rows.check("softmax by torch"),
    )
    wb.timing("softmax_torch", t, nbytes=nbytes)
    t = wb.time(lambda i: torch.nn.functional.layer_norm(rows.x, (N,), rows.weight, rows.bias))
    wb.timing("layer_norm_torch", t, nbytes=nbytes)
    t = wb.time(lambda i: cuda.memcpy_dtod_async(rows.y.data_ptr(), rows.x.data_ptr(), 4 * rows.values.size))
    wb.timing("copy", t, nbytes=nbytes)
    print(f"{'copy':16}{nbytes / t.median / 1e9:8.0f} GB/s")
