"""Read the host's memory from a kernel, or copy it first? Once, ten times, and one word here and there.

python zero_copy_reuse.py             check; on a GPU also time 256 MiB
python zero_copy_reuse.py --profile   launch once for a profiler: 64 MiB, more than the L2 holds (softcuda: 1 MiB)
"""

import sys
from collections.abc import Callable
from functools import partial

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

GPU = wb.is_gpu()
MIB = 2**20
THREADS = 512
BLOCKS = 4 * cuda.Context.get_device().multiprocessor_count if GPU else 8
rng = np.random.default_rng(20261127)
module = wb.module("memory-management/zero_copy.cu")
from_host, from_device, pick = (module.get_function(name) for name in ("from_host", "from_device", "pick"))


class Reader:
    """The same words in mapped memory of the host and, copied, in the device's memory. Two inputs take turns."""

    def __init__(self, packs: int) -> None:
        self.packs = packs
        self.data = [np.frombuffer(rng.bytes(16 * packs), np.uint32) for _ in range(2)]
        # --8<-- [start:mapped]
        flags = cuda.host_alloc_flags.DEVICEMAP
        self.host = [cuda.pagelocked_empty(4 * packs, np.uint32, mem_flags=flags) for _ in range(2)]
        self.mapped = [np.intp(host.base.get_device_pointer()) for host in self.host]
        # --8<-- [end:mapped]
        for host, data in zip(self.host, self.data, strict=True):
            host[:] = data
        self.copy = cuda.mem_alloc(16 * packs)
        self.totals = [int(data.sum(dtype=np.uint64)) for data in self.data]
        self.out = cuda.mem_alloc(4 * max(THREADS * BLOCKS, 4 * packs))

    def spoil(self, count: int, i: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, count)

    # --8<-- [start:ways]
    def zero_copy(self, passes: int, i: int) -> None:
        self.read(from_host, self.mapped[i % 2], passes)

    def copy_first(self, passes: int, i: int) -> None:
        cuda.memcpy_htod_async(self.copy, self.host[i % 2])
        self.read(from_device, self.copy, passes)

    def read(self, kernel: cuda.Function, data: object, passes: int) -> None:
        arguments = data, self.out, np.int64(self.packs), np.int32(passes)
        kernel(*arguments, block=(THREADS, 1, 1), grid=(BLOCKS, 1))

    # --8<-- [end:ways]

    def check(self, passes: int, i: int) -> None:
        got = np.empty(THREADS * BLOCKS, np.uint32)
        cuda.memcpy_dtoh(got, self.out)
        want = self.totals[i % 2] * passes % 2**32
        wb.check(int(got.sum(dtype=np.uint64)) % 2**32, want, what=f"sum of {self.packs} packs, {passes} passes")

    def pick(self, gap: int, copied: bool, i: int) -> None:
        count = 4 * self.packs // gap
        if copied:
            cuda.memcpy_htod_async(self.copy, self.host[i % 2])
        source = self.copy if copied else self.mapped[i % 2]
        pick(source, self.out, np.int32(count), np.int32(gap), block=(256, 1, 1), grid=(-(-count // 256), 1))

    def check_pick(self, gap: int, i: int) -> None:
        count = 4 * self.packs // gap
        got = np.empty(count, np.uint32)
        cuda.memcpy_dtoh(got, self.out)
        wb.check(got, self.data[i % 2][: count * gap : gap], what=f"every {gap}th word")

    def time(self, launch: Callable[[int], object], check: Callable[[int], object], count: int) -> wb.Timing:
        return wb.time(launch, repeats=9, warmup=1, poison=partial(self.spoil, count), check=check)


def check_all() -> None:
    for packs in (1, 31, 1000, 2**14 + 7):
        reader = Reader(packs)
        for passes in (1, 3):
            for launch in (reader.zero_copy, reader.copy_first):
                for i in range(2):
                    reader.spoil(THREADS * BLOCKS)
                    launch(passes, i)
                    reader.check(passes, i)
        for copied in (False, True):
            reader.spoil(packs)
            reader.pick(4, copied, 1)
            reader.check_pick(4, 1)
        print(f"{16 * packs:>8,} bytes: sums and picked words right, from either memory")


def measure(nbytes: int) -> None:
    reader, small = Reader(nbytes // 16), Reader(16 * MIB // 16)
    threads, gap = THREADS * BLOCKS, 256  # one word of a KiB
    print(f"\n{nbytes // MIB} MiB")
    for name, r, launch, passes in (
        ("mapped_1", reader, reader.zero_copy, 1),
        ("copied_1", reader, reader.copy_first, 1),
        ("mapped_10", reader, reader.zero_copy, 10),
        ("copied_10", reader, reader.copy_first, 10),
        ("fits_mapped_1", small, small.zero_copy, 1),
        ("fits_mapped_10", small, small.zero_copy, 10),
    ):
        t = r.time(partial(launch, passes), partial(r.check, passes), threads)
        wb.timing(name, t, nbytes=16 * r.packs * passes)
        print(f"{name:16}{t.median * 1e3:9.3f} ms {16 * r.packs * passes / t.median / 1e9:9.1f} GB/s of what is read")
    for name, copied in (("mapped_sparse", False), ("copied_sparse", True)):
        launch, check = partial(reader.pick, gap, copied), partial(reader.check_pick, gap)
        t = reader.time(launch, check, 4 * reader.packs // gap)
        wb.timing(name, t, nbytes=32 * (4 * reader.packs // gap))
        print(f"{name:16}{t.median * 1e3:9.3f} ms, one word of every {4 * gap} bytes")


def profile() -> None:
    """Once from either memory."""
    reader = Reader((64 * MIB if GPU else MIB) // 16)
    for launch in (reader.zero_copy, reader.copy_first):
        reader.spoil(THREADS * BLOCKS)
        launch(1, 0)
        reader.check(1, 0)
    print("both sums right")


if __name__ == "__main__":
    if "--profile" in sys.argv[1:]:
        profile()
    else:
        check_all()
        if GPU:
            wb.needs(memory=2**30)
            measure(256 * MIB)
        else:
            print("no GPU: nothing is timed")
