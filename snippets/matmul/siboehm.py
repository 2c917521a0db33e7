"""The eleven kernels in the table of siboehm/SGEMM_CUDA, which is not part of this book, beside cuBLAS.

SGEMM_CUDA=FOLDER python siboehm.py   check them; on a GPU also time M = N = K = 4096 in pairs with cuBLAS, TF32 off

FOLDER is a clone of github.com/siboehm/SGEMM_CUDA at COMMIT. Without it the program says so and does nothing.
"""

import os
import re
import tempfile
from pathlib import Path

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _gemm import Launch, Problem, cublas, rounds, spread
from pycuda.compiler import compile

COMMIT = "60cba6f9b20a198116c76f18de8047f44df8c8b8"
KERNELS = [  # his number and name of each, its template arguments in his runner, the tile of a block, threads
    (1, "sgemm_naive", "", (32, 32), (32, 32, 1)),
    (2, "sgemm_global_mem_coalesce", "32", (32, 32), (1024, 1, 1)),
    (3, "sgemm_shared_mem_block", "32", (32, 32), (1024, 1, 1)),
    (4, "sgemm1DBlocktiling", "64, 64, 8, 8", (64, 64), (512, 1, 1)),
    (5, "sgemm2DBlocktiling", "128, 128, 8, 8, 8", (128, 128), (256, 1, 1)),
    (6, "sgemmVectorize", "128, 128, 8, 8, 8", (128, 128), (256, 1, 1)),
    (7, "sgemmResolveBankConflicts", "128, 128, 8, 8, 8", (128, 128), (256, 1, 1)),
    (8, "sgemmResolveBankExtraCol", "128, 128, 8, 8, 8", (128, 128), (256, 1, 1)),
    (9, "sgemmAutotuned", "128, 128, 16, 8, 8", (128, 128), (256, 1, 1)),
    (10, "sgemmWarptiling", "128, 128, 16, 64, 64, 4, 8, 4, 128", (128, 128), (128, 1, 1)),
    (11, "sgemmDoubleBuffering", "128, 256, 16, 128, 32, 1, 8, 8, 256", (128, 256), (256, 1, 1)),
]


def build(folder: Path) -> dict[int, Launch]:
    """Compile his kernels and nothing else of his; their launches by his numbers."""
    names = [f"{name}<{arguments}>" if arguments else name for _, name, arguments, _, _ in KERNELS]
    taken = "\n".join(f"    (void*)&{name}," for name in names)
    text = f"#include <cuda_runtime.h>\n#include <kernels.cuh>\nvoid* taken[] = {{\n{taken}\n}};\n"
    with tempfile.TemporaryDirectory() as empty:
        Path(empty, "cublas_v2.h").write_text("")  # his kernels include it and need nothing of it
        options = [f"-I{folder / 'src'}", f"-I{empty}", "-std=c++17"]
        cubin = compile(text, options=options, no_extern_c=True)
    module = cuda.module_from_buffer(cubin)
    found = {n.decode() for n in re.findall(rb"\b_Z\w+", cubin)}
    launches = {}
    for number, name, _, tile, block in KERNELS:
        mangled = next(n for n in sorted(found) if re.match(rf"_Z{len(name)}{name}[Ii]", n))
        launches[number] = launch_of(module.get_function(mangled), number, tile, block)
    return launches


def launch_of(kernel: cuda.Function, number: int, tile: tuple[int, int], block: tuple[int, int, int]) -> Launch:
    rows, columns = tile

    def launch(m: int, n: int, k: int, alpha: float, a, b, beta: float, c) -> None:
        across, down = -(-n // columns), -(-m // rows)
        grid = (down, across, 1) if number <= 3 else (across, down, 1)  # his first three count blocks the other way
        sizes = (np.int32(m), np.int32(n), np.int32(k))
        kernel(*sizes, np.float32(alpha), a, b, np.float32(beta), c, block=block, grid=grid)

    return launch


def main() -> None:
    folder = os.environ.get("SGEMM_CUDA", "")
    if not Path(folder, "src", "kernels.cuh").is_file():
        print(f"skipped: needs the environment variable SGEMM_CUDA, a clone of siboehm/SGEMM_CUDA at {COMMIT[:7]}")
        raise SystemExit(wb.SKIPPED)
    rng = np.random.default_rng()
    launches = build(Path(folder).resolve())
    small = Problem(rng, 256, 256, 256, 1.5, 0.5)
    for number, launch in launches.items():
        small.reset()
        small.run(launch)
        small.check(f"kernel {number}")
    print(f"siboehm/SGEMM_CUDA {COMMIT[:7]}: {len(launches)} kernels within the bound at N = 256")
    if not wb.is_gpu():
        print("no GPU: nothing is timed")
        return
    n = 4096
    problem, flop = Problem(rng, n, n, n, 1.0, 0.5), 2 * n**3  # his kernels read C whatever beta is
    plain = Problem(rng, n, n, n)
    theirs = cublas(plain)
    for number, launch in launches.items():
        problem.reset()
        problem.run(launch)
        problem.check(f"kernel {number}")
        ours, library = rounds(lambda _, launch=launch: problem.run(launch), theirs, seconds=0.5)
        share = spread([100 * b / a for a, b in zip(ours, library, strict=True)])
        t = wb.Timing(*spread(ours), repeats=len(ours))
        wb.timing(f"k{number}", t, flop=flop)
        wb.value(f"k{number}.share", share[0], "%", share[1:])
        print(f"kernel {number:2} {t.median * 1e3:9.3f} ms {flop / t.median / 1e12:7.2f} TFLOP/s {share[0]:6.1f} %")


if __name__ == "__main__":
    main()
