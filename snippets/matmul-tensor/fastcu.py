"""The Hopper kernels of pranjalssh/fast.cu, which is not part of this book, beside cuBLAS.

FAST_CU=FOLDER python fastcu.py   check them; on a GPU also time N = 8192 in pairs with cuBLAS, and the last at 4096

FOLDER is a clone of github.com/pranjalssh/fast.cu at COMMIT. It is compiled by nvcc with cuBLAS's headers. Without it
the program says so and does nothing.
"""

import ctypes
import os
import subprocess
from pathlib import Path

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _tensor import Sample, cublas
from warppairs import pairs, share_of, spread

COMMIT = "38eb642e0c081231d6f695978be63604bd7c689b"
KERNELS = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)


def build(folder: Path) -> ctypes.CDLL:
    """His program as a library; its options are those of his Makefile."""
    library = folder / "out" / "libfast.so"
    if library.is_file():
        return ctypes.CDLL(str(library))
    library.parent.mkdir(exist_ok=True)
    options = ["-std=c++17", "-O3", "-DNDEBUG", "-w", "--expt-relaxed-constexpr", "--expt-extended-lambda"]
    options += ["--use_fast_math", "-gencode=arch=compute_90a,code=sm_90a", "-shared", "-Xcompiler", "-fPIC"]
    command = ["nvcc", *options, "-Dmain=fast_main", "matmul.cu", "-o", str(library), "-lcublas", "-lcuda"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return ctypes.CDLL(str(library))


class Column(Sample):
    """His C is column-major."""

    def result(self) -> np.ndarray:
        return super().result().T


def main() -> None:
    folder = os.environ.get("FAST_CU", "")
    if not Path(folder, "matmul.cu").is_file() or not wb.is_gpu():
        print(f"skipped: needs a GPU, and in FAST_CU a clone of pranjalssh/fast.cu at {COMMIT[:7]}")
        raise SystemExit(wb.SKIPPED)
    library, rng = build(Path(folder).resolve()), np.random.default_rng()
    run = library["_Z10run_kerneliiiiP13__nv_bfloat16S0_S0_Pi"]
    scratch = cuda.mem_alloc(4 * 8192 * 128)
    for n, numbers in ((8192, KERNELS), (4096, KERNELS[-2:])):
        problem, flop = Column(rng, n), 2 * n**3
        theirs = cublas(problem)
        pairs(theirs, theirs)  # to the power limit
        addresses = [ctypes.c_void_p(int(x)) for x in (problem.a, problem.b, problem.c, scratch)]
        for number in numbers:

            def launch(number=number, n=n, addresses=addresses):
                run(number, n, n, n, *addresses)

            problem.reset()
            launch()
            problem.check(f"kernel {number}")
            ours, library_too = pairs(launch, theirs)
            share = share_of(ours, library_too)
            t = wb.Timing(*spread(ours.seconds), repeats=len(ours.seconds))
            name = f"k{number}" if n == 8192 else f"k{number}.n{n}"
            wb.timing(name, t, flop=flop)
            wb.value(f"{name}.share", share[0], "%", share[1:])
            print(f"kernel {number:2}, N = {n}: {flop / t.median / 1e12:7.1f} TFLOP/s, {share[0]:6.1f} % of cuBLAS")


if __name__ == "__main__":
    main()
