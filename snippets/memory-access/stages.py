"""Asynchronous copies to shared memory: how many threads does it take to keep the memory busy?

python stages.py   check; on a GPU also time 512 MiB with 1 to 8 blocks of 256 threads per SM
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

BLOCK, STAGES = 256, 4  # as in stages.cu
KERNELS = ("scale_plain", "scale_async", "scale_bulk")
SMS = cuda.Context.get_device().multiprocessor_count
PER_SM = (1, 2, 3, 4, 6, 8)

wb.needs("9.0")
module = wb.module("memory-access/stages.cu")
functions = {name: module.get_function(name) for name in KERNELS}


class Words:
    def __init__(self, rng: np.random.Generator, n: int) -> None:
        self.n = n
        values = rng.integers(0, 2**32, n, np.uint32)
        self.source, self.out = cuda.to_device(values), cuda.mem_alloc(4 * n)
        self.want = values * np.uint32(3) + np.uint32(1)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xDEADBEEF, self.n)

    def launch(self, name: str, blocks: int) -> None:
        functions[name](self.source, self.out, np.int64(self.n), block=(BLOCK, 1, 1), grid=(blocks, 1))

    def check(self, name: str) -> None:
        got = np.empty(self.n, np.uint32)
        cuda.memcpy_dtoh(got, self.out)
        wb.check(got, self.want, what=f"{name} of {self.n} words")

    def run(self, name: str, blocks: int) -> None:
        self.poison()
        self.launch(name, blocks)
        self.check(name)


def time_all(words: Words) -> None:
    print(f"\nGB/s, read and written, with {', '.join(map(str, PER_SM))} blocks of {BLOCK} threads a multiprocessor")
    for name in KERNELS:
        times = [
            wb.time(
                lambda i, name=name, k=k: words.launch(name, k * SMS),
                repeats=25,
                poison=words.poison,
                check=lambda i, name=name: words.check(name),
            )
            for k in PER_SM
        ]
        moved = 8 * words.n
        print(f"{name:14}" + "".join(f"{moved / t.median / 1e9:8.0f}" for t in times))
        wb.series(
            name,
            [k * BLOCK for k in PER_SM],
            [moved / t.median for t in times],
            x_unit="count",
            unit="B/s",
            low=[moved / t.high for t in times],
            high=[moved / t.low for t in times],
        )
        for k, t in zip(PER_SM, times, strict=True):
            if k in (1, 8):
                wb.timing(f"{name}_{k}", t, moved)


if __name__ == "__main__":
    generator = np.random.default_rng()
    print(f"device: {wb.device()['name']}, {SMS} multiprocessors")
    for n in (1, 31, 1000, 4 * BLOCK * STAGES, 2**17 + 7):
        words = Words(generator, n)
        for name in KERNELS:
            for blocks in (1, 3, 40):
                words.run(name, blocks)
    print("plain, cp.async and bulk copies at 1, 31, 1 000, 4 096 and 131 079 words: exact")
    if wb.is_gpu():
        wb.needs(memory=2**31)
        time_all(Words(generator, 2**27))
    else:
        print("no GPU: nothing is timed")
