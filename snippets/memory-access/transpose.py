"""Climb the ladder of transpose.cu: check every rung, then time it against a copy and against torch's transpose.

python transpose.py             check; on a GPU also time 8192 × 8192 floats and 8192 × 4096
python transpose.py --profile   launch each rung once for a profiler: 4096 × 4096 (softcuda: 256 × 256)
"""

import sys
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb

try:
    import torch
except ImportError:
    torch = None

RUNGS = ("naive", "tiled", "padded", "swizzled", "serial", "wide")  # serial: swizzled, as it was first written
TILE, ROWS = 32, 8  # of the first four rungs: words a side, rows of threads
WIDE, THREADS = 64, 256  # of the last rung: words a side of its tile
PROFILED = "memory-access/transpose.py --profile"
LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
STORES = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
AWKWARD = [(1, 1), (1, 31), (31, 1), (3, 5), (33, 65), (31, 1000), (1000, 31), (100, 204), (129, 68), (256, 64)]


class Matrix:
    """A random matrix on the device, room for its transpose, and what that ought to be."""

    def __init__(self, rng: np.random.Generator, rows: int, cols: int) -> None:
        self.rows, self.cols, self.n = rows, cols, rows * cols
        self.values = rng.integers(0, 2**32, (rows, cols), np.uint32)  # any bits will do: nothing is computed
        self.turned = turned(self.values)
        self.source = cuda.to_device(self.values)
        self.out = cuda.mem_alloc(4 * self.n)

    def poison(self, _: int = 0) -> None:
        cuda.memset_d32_async(self.out, 0xDEADBEEF, self.n)

    def result(self, rows: int, cols: int) -> np.ndarray:
        got = np.empty((rows, cols), np.uint32)
        cuda.memcpy_dtoh(got, self.out)
        return got

    def check(self, what: str) -> None:
        wb.check(self.result(self.cols, self.rows), self.turned, what=f"{what} of {self.rows} × {self.cols}")

    def free(self) -> None:
        self.source.free(), self.out.free()


def turned(values: np.ndarray, side: int = 256) -> np.ndarray:
    """values.T, piece by piece: NumPy's caches like a tile, too."""
    out = np.empty(values.shape[::-1], values.dtype)
    for r in range(0, values.shape[0], side):
        for c in range(0, values.shape[1], side):
            out[c : c + side, r : r + side] = values[r : r + side, c : c + side].T
    return out


class Transposer:
    def __init__(self) -> None:
        self.module = wb.module("memory-access/transpose.cu")
        self.kernels = {rung: self.module.get_function(f"transpose_{rung}") for rung in RUNGS}

    # --8<-- [start:launch]
    def launch(self, rung: str, m: Matrix) -> None:
        if rung == "wide":
            block, grid = (THREADS, 1, 1), (-(-m.rows // WIDE), -(-m.cols // WIDE))
        else:
            block, grid = (TILE, ROWS, 1), (-(-m.cols // TILE), -(-m.rows // TILE))
        self.kernels[rung](m.source, m.out, np.int32(m.rows), np.int32(m.cols), block=block, grid=grid)

    # --8<-- [end:launch]

    def copies(self, m: Matrix) -> dict[str, Callable[[int], None]]:
        """Ways to copy the matrix: a kernel and the driver."""
        packs, blocks = np.int64(m.n // 4), -(-m.n // (4 * 256))

        kernel = self.module.get_function("copy")
        return {
            "kernel": lambda i: kernel(m.source, m.out, packs, block=(256, 1, 1), grid=(blocks, 1)),
            "memcpy": lambda i: cuda.memcpy_dtod_async(m.out, m.source, 4 * m.n),
        }


def check_all(transposer: Transposer, rng: np.random.Generator, shapes: list[tuple[int, int]]) -> None:
    for rows, cols in shapes:
        m = Matrix(rng, rows, cols)
        for rung in RUNGS:
            m.poison()
            transposer.launch(rung, m)
            m.check(rung)
        m.free()
    print(f"{len(RUNGS)} rungs at {', '.join(f'{r} × {c}' for r, c in shapes)}: exact")


def best_copy(transposer: Transposer, m: Matrix) -> tuple[str, wb.Timing]:
    times = {}
    for way, launch in transposer.copies(m).items():

        def check(i: int, way: str = way) -> None:
            wb.check(m.result(m.rows, m.cols), m.values, what=way)

        times[way] = wb.time(launch, poison=m.poison, check=check)
    best = min(times, key=lambda way: times[way].median)
    return best, times[best]


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: cuda.DeviceAllocation, shape: tuple[int, int]) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": "<f4", "data": (int(address), False), "strides": None,
        }  # fmt: skip


def time_all(transposer: Transposer, rng: np.random.Generator, rows: int, cols: int, tag: str) -> None:
    m = Matrix(rng, rows, cols)
    moved = 2 * 4 * m.n
    way, copied = best_copy(transposer, m)
    times = {f"copy{tag}": copied}
    for rung in RUNGS:
        times[rung + tag] = wb.time(
            lambda i, rung=rung: transposer.launch(rung, m),
            poison=m.poison,
            check=lambda i, rung=rung: m.check(rung),
        )
    if torch is not None:
        source = torch.as_tensor(Shared(m.source, (rows, cols)), device="cuda")
        target = torch.as_tensor(Shared(m.out, (cols, rows)), device="cuda")
        times[f"torch{tag}"] = wb.time(
            lambda i: target.copy_(source.t()), poison=m.poison, check=lambda i: m.check("torch")
        )
        del source, target
    print(f"\n{rows} × {cols}\n{'':16}{'µs':>8}{'10 %':>8}{'90 %':>8}{'GB/s':>8}{'of copy':>9}")
    for name, t in times.items():
        wb.timing(name, t, moved)
        print(
            f"{name:16}{t.median * 1e6:8.1f}{t.low * 1e6:8.1f}{t.high * 1e6:8.1f}{moved / t.median / 1e9:8.0f}"
            f"{copied.median / t.median:9.1%}" + (f"   by {way}" if name.startswith("copy") else "")
        )
    if not tag:
        wb.value("naive.words", m.n / times["naive"].median, "1/s")
    m.free()


def claims() -> None:
    zh_of = {"naive": "朴素", "tiled": "分块", "padded": "填充", "swizzled": "重排", "wide": "宽"}
    whole = {"source": "DRAM: equal bytes, all sectors whole", "source_zh": "DRAM 流量相同，扇区都是满的"}
    said = {
        "published_by": "S. Jang, of his own three kernels, on a GPU that copies at 389 GB/s",
        "published_by_zh": "S. Jang，他自己的三个核函数；所用 GPU 的拷贝速率为 389 GB/s",
        "published_link": "https://sjang1594.github.io/portfolio/cuda-image-transposed",
    }
    for rung, at_least, predicted, more in (
        ("tiled", 0.35, 455 / 1056, {"source": "shared memory: 33 · 32 wavefronts a tile; DRAM needs 455 cycles for it",
                                    "source_zh": "共享内存：每个瓦片 33 · 32 个波前；DRAM 只需 455 个周期",
                                    "published": 0.57, **said}),
        ("padded", 0.75, 1.0, {"published": 0.9, **said, **whole}),
        ("swizzled", 0.75, 1.0, whole),
        ("wide", 0.95, 1.0, whole),
    ):  # fmt: skip
        wb.claim(
            f"{rung}_of_copy",
            en=f"the {rung} transpose reaches at least {at_least:.0%} of the copy's rate",
            zh=f"{zh_of[rung]}转置至少达到拷贝速率的 {at_least:.0%}",
            ratio=(f"{rung}.rate", "copy.rate"),
            at_least=at_least,
            predicted=predicted,
            **more,
        )
    wb.claim(
        "naive_of_copy",
        en="the naive transpose reaches at most a fifth of the copy's rate",
        zh="朴素转置至多达到拷贝速率的五分之一",
        ratio=("naive.rate", "copy.rate"),
        at_most=0.2,
        predicted=8 / 36,
        source="sectors a warp, loaded and stored: 4 + 32 against 4 + 4",
        source_zh="每个线程束读写的扇区数：4 + 32，对 4 + 4",
        published=0.32,
        **said,
    )
    wb.claim(
        "padded_over_naive",
        en="the padded transpose is at least 4.5 times as fast as the naive one",
        zh="填充转置的速度至少是朴素转置的 4.5 倍",
        ratio=("naive.time", "padded.time"),
        at_least=4.5,
        predicted=36 / 8,
        source="sectors a warp, loaded and stored: 4 + 32 against 4 + 4",
        source_zh="每个线程束读写的扇区数：4 + 32，对 4 + 4",
    )
    wb.claim(
        "swizzled_over_padded",
        en="the swizzled transpose takes no more than 1.06 times as long as the padded one",
        zh="重排转置的用时不超过填充转置的 1.06 倍",
        ratio=("swizzled.time", "padded.time"),
        at_most=1.06,
        predicted=1.0,
        source="neither has bank conflicts; DRAM: equal bytes",
        source_zh="两者都没有存储体冲突；DRAM 流量相同",
    )
    wb.claim(
        "serial_over_padded",
        en="with one load in flight a thread the swizzled transpose takes at least 1.2 times as long as the padded",
        zh="每线程只有一次加载在途时，重排转置的用时至少是填充转置的 1.2 倍",
        ratio=("serial.time", "padded.time"),
        at_least=1.2,
        predicted=1.0,
        source="neither has bank conflicts; DRAM: equal bytes",
        source_zh="两者都没有存储体冲突；DRAM 流量相同",
    )
    if not wb.is_gpu() or torch is not None:
        wb.claim(
            "wide_of_torch",
            en="the wide transpose is at least 3 times as fast as torch's",
            zh="宽转置的速度至少是 torch 的 3 倍",
            ratio=("torch.time", "wide.time"),
            at_least=3.0,
            predicted=4215 / 1133,
            source="an earlier reading: copy 4 215 GB/s, torch 1 133 GB/s",
            source_zh="先前的读数：拷贝 4 215 GB/s，torch 1 133 GB/s",
        )
    wb.claim(
        "wide_of_copy_oblong",
        en="at 8192 × 4096 too the wide transpose reaches at least 93 % of the copy's rate",
        zh="8192 × 4096 时，宽转置同样至少达到拷贝速率的 93 %",
        ratio=("wide.oblong.rate", "copy.oblong.rate"),
        at_least=0.93,
        predicted=1.0,
        source="DRAM: equal bytes, all sectors whole",
        source_zh="DRAM 流量相同，扇区都是满的",
    )
    for name, ratio, times, en, zh in (
        ("naive_stores", (f"transpose_naive.{STORES}", f"transpose_tiled.{STORES}"), 8.0,
         "the naive transpose stores 8 times the sectors of the tiled one",
         "朴素转置存储的扇区数是分块转置的 8 倍"),
        ("tiled_conflicts", (f"transpose_tiled.{CONFLICTS}", f"transpose_tiled.{LOADS}"), 31 / 4,
         "the tiled transpose has 31 bank conflicts for every 4 sectors that it loads",
         "分块转置每加载 4 个扇区，就有 31 次存储体冲突"),
    ):  # fmt: skip
        wb.claim(
            name,
            en=en,
            zh=zh,
            ratio=ratio,
            at_least=times,
            predicted=times,
            source="addresses of each warp, counted by hand",
            source_zh="手工数出的每个线程束的地址",
            counters=PROFILED,
        )
    for rung in ("padded", "swizzled", "wide"):
        wb.claim(  # not 0: a busy GPU counts a few that no address causes
            f"{rung}_conflicts",
            en=f"reading shared memory, the {rung} transpose has at most 2 % of the tiled one's bank conflicts",
            zh=f"读共享内存时，{zh_of[rung]}转置的存储体冲突不超过分块转置的 2 %",
            ratio=(f"transpose_{rung}.{CONFLICTS}", f"transpose_tiled.{CONFLICTS}"),
            at_most=0.02,
            predicted=0,
            source="addresses of each warp, counted by hand",
            source_zh="手工数出的每个线程束的地址",
            counters=PROFILED,
        )


def profile(transposer: Transposer, rng: np.random.Generator, side: int) -> None:
    """The copy and each rung once, on a matrix that the L2 does not hold."""
    m = Matrix(rng, side, side)
    m.poison()
    transposer.copies(m)["kernel"](0)
    wb.check(m.result(side, side), m.values, what="copy")
    for rung in RUNGS:
        m.poison()
        transposer.launch(rung, m)
        m.check(rung)
        print(f"transpose_{rung} of {side} × {side}: exact")


if __name__ == "__main__":
    generator = np.random.default_rng()
    transposer = Transposer()
    if "--profile" in sys.argv[1:]:
        profile(transposer, generator, 4096 if wb.is_gpu() else 256)
    else:
        print(f"device: {wb.device()['name']}")
        check_all(transposer, generator, AWKWARD + ([(4093, 2049), (2052, 4100)] if wb.is_gpu() else []))
        if wb.is_gpu():
            time_all(transposer, generator, 8192, 8192, "")
            time_all(transposer, generator, 8192, 4096, ".oblong")
        else:
            print("no GPU: nothing is timed")
        claims()
