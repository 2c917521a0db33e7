"""The transpose of transpose.py beside cuBLAS's own, cublasSgeam, and torch's. Needs a GPU, and torch for its cuBLAS.

python geam.py   check, and time 8192 × 8192 floats
"""

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from transpose import Matrix, Shared, Transposer, best_copy, turned

SIDE = 8192
TRANSPOSED, AS_IT_IS = 1, 0  # of cublasOperation_t


class Floats(Matrix):
    """A matrix of ordinary floats: cuBLAS multiplies by one, which changes the bits of a NaN."""

    def __init__(self, rng: np.random.Generator, rows: int, cols: int) -> None:
        super().__init__(rng, rows, cols)
        self.values = rng.random((rows, cols), np.float32).view(np.uint32)
        self.turned = turned(self.values)
        cuda.memcpy_htod(self.source, self.values)


def cublas() -> ctypes.CDLL:
    """The cuBLAS that torch has loaded."""
    loaded = re.findall(r"(\S*/libcublas\.so\S*)", Path("/proc/self/maps").read_text())
    if not loaded:
        raise RuntimeError("torch has loaded no libcublas.so")
    return ctypes.CDLL(loaded[0])


def geam(m: Matrix) -> Callable[[int], None]:
    """A launch of cublasSgeam: out = 1 · transposed(source) + 0 · out. cuBLAS reads rows as columns."""
    library, handle = cublas(), ctypes.c_void_p()
    if status := library.cublasCreate_v2(ctypes.byref(handle)):
        raise RuntimeError(f"cublasCreate: error {status}")
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    source, out = ctypes.c_void_p(int(m.source)), ctypes.c_void_p(int(m.out))

    def launch(i: int) -> None:
        status = library.cublasSgeam(
            handle, TRANSPOSED, AS_IT_IS, m.rows, m.cols,
            ctypes.byref(one), source, m.cols, ctypes.byref(zero), out, m.rows, out, m.rows,
        )  # fmt: skip
        if status:
            raise RuntimeError(f"cublasSgeam: error {status}")

    return launch


def main() -> None:
    wb.needs(gpu=True, memory=2**30)
    try:
        import torch
    except ImportError:
        print("skipped: needs torch, whose cuBLAS it calls")
        raise SystemExit(wb.SKIPPED) from None
    rng, transposer = np.random.default_rng(), Transposer()
    for rows, cols in ((31, 1000), (256, 64)):
        small = Floats(rng, rows, cols)
        small.poison()
        torch.zeros(1, device="cuda") @ torch.zeros(1, device="cuda")  # torch loads its cuBLAS now
        geam(small)(0)
        small.check("geam")
        small.free()
    m = Floats(rng, SIDE, SIDE)
    source = torch.as_tensor(Shared(m.source, (SIDE, SIDE)), device="cuda")
    target = torch.as_tensor(Shared(m.out, (SIDE, SIDE)), device="cuda")
    ways: dict[str, Callable[[int], None]] = {
        "wide": lambda i: transposer.launch("wide", m),
        "geam": geam(m),
        "torch": lambda i: target.copy_(source.t()),
    }
    way, copied = best_copy(transposer, m)
    moved = 2 * 4 * m.n
    wb.timing("beside.copy", copied, moved)
    print(f"device: {wb.device()['name']}\ncopy by {way}: {moved / copied.median / 1e9:.0f} GB/s")
    for name, launch in ways.items():
        t = wb.time(launch, poison=m.poison, check=lambda i, name=name: m.check(name))
        wb.timing(f"beside.{name}", t, moved)
        print(f"{name:8}{t.median * 1e6:8.1f} µs{moved / t.median / 1e9:8.0f} GB/s{copied.median / t.median:9.1%}")


if __name__ == "__main__":
    main()
