"""Two reduction ladders of Chinese tutorials, which are not part of this book, beside a copy: shared memory from v0 on.

REDUCTION_TUTORIALS=FOLDER python tutorials.py   check them; on a GPU also time 2^28 numbers

FOLDER holds clones of the repositories in LADDERS, each under its own name and at its commit. Without it the program
says so and does nothing. Each kernel leaves one sum per block, and that is what is checked and timed.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from pycuda.compiler import compile

BLOCK = 256  # threads, in all of them
SMS = 132  # of an H200: the last kernel of the second ladder has as many blocks as fit there at once


@dataclass(frozen=True)
class Rung:
    name: str
    file: str
    takes: int  # elements per block; 0: blocks stride over the input
    counts: bool = False  # is given the number of elements


@dataclass(frozen=True)
class Ladder:
    repository: str
    commit: str
    folder: str
    prefix: str  # of its timings here
    rungs: tuple[Rung, ...]


# Both take 2^25 numbers with 1024 blocks from their v6 on, which makes 128 loads per thread, as a template argument.
LADDERS = (
    Ladder(
        "Liu-xiandong/How_to_optimize_in_GPU",
        "5d2def3e082c4e1364c3ade54451b7b9d1d6f044",
        "reduce",
        "liu",
        (
            Rung("v0", "reduce_v0_baseline.cu", 256),
            Rung("v1", "reduce_v1_no_divergence_branch.cu", 256),
            Rung("v2", "reduce_v2_no_bank_conflict.cu", 256),
            Rung("v3", "reduce_v3_add_during_load.cu", 512),
            Rung("v4", "reduce_v4_unroll_last_warp.cu", 512),
            Rung("v5", "reduce_v5_completely_unroll.cu", 512),
            Rung("v6", "reduce_v6_multi_add.cu", 32768, counts=True),
            Rung("v7", "reduce_v7_shuffle.cu", 32768, counts=True),
        ),
    ),
    Ladder(
        "BBuf/how-to-optim-algorithm-in-cuda",
        "10a3a8d243037e2544686eb673fda86fba23143f",
        "cuda-kernels/reduce",
        "bbuf",
        (
            Rung("v0", "reduce_v0_baseline.cu", 256),
            Rung("v1", "reduce_v1_interleaved_addressing.cu", 256),
            Rung("v2", "reduce_v2_bank_conflict_free.cu", 256),
            Rung("v3", "reduce_v3_idle_threads_free.cu", 512),
            Rung("v4", "reduce_v4_unroll_last_warp.cu", 512),
            Rung("v5", "reduce_v5_completely_unroll.cu", 512),
            Rung("v6", "reduce_v6_multi_add.cu", 32768),
            Rung("v7", "reduce_v7_shfl_down_sync.cu", 32768, counts=True),
            Rung("v8", "reduce_v8_shfl_down_sync_pack.cu", 0, counts=True),
        ),
    ),
)


def build(file: Path) -> cuda.Function:
    """The one kernel of a tutorial's program."""
    cubin = compile(file.read_text("utf-8"), options=["-std=c++17"], no_extern_c=True)
    module = cuda.module_from_buffer(cubin)
    names = {one.decode() for one in re.findall(rb"\b_Z\d+reduce\w+", cubin)}
    return module.get_function(min(names, key=len))  # the others are its parameters and labels


class Sums:
    """Random numbers, and what the blocks of a rung make of them."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.values = np.random.default_rng().random(n, np.float32) - np.float32(0.5)
        self.data = cuda.to_device(self.values)
        self.out = cuda.mem_alloc(4 * max(n // BLOCK, SMS * 2048 // BLOCK))

    def blocks(self, rung: Rung) -> int:
        return self.n // rung.takes if rung.takes else SMS * 2048 // BLOCK

    def poison(self, rung: Rung) -> None:
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, self.blocks(rung))

    def launch(self, kernel: cuda.Function, rung: Rung) -> None:
        count = (np.uint32(self.n),) if rung.counts else ()
        kernel(self.data, self.out, *count, block=(BLOCK, 1, 1), grid=(self.blocks(rung), 1))

    def check(self, rung: Rung, what: str) -> None:
        """Hold the sums against float64, within n · 2^-24 · sum(|x|) for the n numbers of each."""
        blocks = self.blocks(rung)
        got = np.empty(blocks, np.float32)
        cuda.memcpy_dtoh(got, self.out)
        if rung.takes:
            parts = self.values.reshape(blocks, rung.takes)
        else:  # packs of four, each block's turn again after all others
            turns = -(-self.n // (4 * BLOCK * blocks))
            padded = np.zeros(turns * blocks * 4 * BLOCK, np.float32)
            padded[: self.n] = self.values
            parts = padded.reshape(turns, blocks, 4 * BLOCK).swapaxes(0, 1).reshape(blocks, -1)
        want, size = parts.sum(axis=1, dtype=np.float64), np.abs(parts).sum(axis=1, dtype=np.float64)
        wb.check(got, want, parts.shape[1] * 2.0**-24 * size, what=what)


def main() -> None:
    folder = Path(os.environ.get("REDUCTION_TUTORIALS", "missing"))
    clones = {ladder: folder / ladder.repository.split("/")[1] / ladder.folder for ladder in LADDERS}
    if absent := [ladder.repository for ladder, path in clones.items() if not path.is_dir()]:
        print(f"skipped: needs REDUCTION_TUTORIALS, a folder with clones of {' and '.join(absent)}")
        raise SystemExit(wb.SKIPPED)
    small = Sums(2**18)
    kernels = {}
    for ladder, path in clones.items():
        for rung in ladder.rungs:
            name = f"{ladder.prefix}.{rung.name}"
            kernels[name] = kernel, _ = build(path / rung.file), rung
            small.poison(rung)
            small.launch(kernel, rung)
            small.check(rung, name)
        print(f"{ladder.repository} {ladder.commit[:7]}: {len(ladder.rungs)} kernels within the bound")
    if not wb.is_gpu():
        print("no GPU: nothing is timed")
        return
    large, spare = Sums(2**28), cuda.mem_alloc(2**30)
    copy = wb.time(lambda _: cuda.memcpy_dtod_async(spare, large.data, 2**30))
    wb.timing("tutorial_copy", copy, 2**31)
    for name, (kernel, rung) in kernels.items():
        t = wb.time(
            lambda _, kernel=kernel, rung=rung: large.launch(kernel, rung),
            poison=lambda _, rung=rung: large.poison(rung),
            check=lambda _, rung=rung, name=name: large.check(rung, name),
        )
        wb.timing(name, t, 2**30)
        print(f"{name:8} {t.median * 1e6:8.0f} µs {2**30 / t.median / 1e9:6.0f} GB/s")


if __name__ == "__main__":
    main()
