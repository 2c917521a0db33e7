"""Cellular automata: Rule 110 and the Game of Life, held against NumPy.

python cells.py             check; on a GPU also time Life on 32,768 × 32,768 cells
python cells.py --profile   launch each kernel of Life once for a profiler: 8192 × 8192 (softcuda: 64 × 256)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

ROWS, THREADS = 8, 128  # as in cells.cu; threads a block
KERNELS = {"life_bytes": 1, "life_words": 4, "life_bits": 32}  # cells a thread takes of a row
PROFILED = "cellular-automata/cells.py --profile"
LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
STORES = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
GLIDER = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]], np.uint8)


# --8<-- [start:reference]
def life(cells: np.ndarray) -> np.ndarray:
    """One step of Life on a torus, by NumPy."""
    nine = sum(np.roll(cells, (dy, dx), (0, 1)) for dy in (-1, 0, 1) for dx in (-1, 0, 1))
    return ((nine == 3) | ((nine == 4) & (cells == 1))).astype(np.uint8)


def rule(number: int, cells: np.ndarray) -> np.ndarray:
    """One step of an elementary automaton on a ring: bit 4 left + 2 self + right of its number."""
    pattern = 4 * np.roll(cells, 1) + 2 * cells + np.roll(cells, -1)
    return (number >> pattern & 1).astype(np.uint8)


# --8<-- [end:reference]


def packed(cells: np.ndarray) -> np.ndarray:
    """Eight cells a byte, so 32 a word: cell i is bit i % 32."""
    return np.packbits(cells, axis=-1, bitorder="little")


class Life:
    """Cells on the device, in bytes and in bits. The width is a multiple of 32."""

    module = None

    def __init__(self, cells: np.ndarray) -> None:
        Life.module = Life.module or wb.module("cellular-automata/cells.cu")
        self.height, self.width = cells.shape
        self.data = {1: cuda.to_device(cells), 8: cuda.to_device(packed(cells))}  # by cells a byte
        self.out = cuda.mem_alloc(cells.size)

    def per_byte(self, kernel: str) -> int:
        return 8 if kernel == "life_bits" else 1

    def nbytes(self, kernel: str) -> int:
        return self.height * self.width // self.per_byte(kernel)

    def poison(self, kernel: str) -> None:
        cuda.memset_d8_async(self.out, 0xA5, self.nbytes(kernel))

    # --8<-- [start:launch]
    def launch(self, kernel: str, source: cuda.DeviceAllocation | None = None) -> None:
        columns = self.width // KERNELS[kernel]  # threads a row
        rows = self.height if kernel == "life_bytes" else -(-self.height // ROWS)
        self.module.get_function(kernel)(
            source or self.data[self.per_byte(kernel)], self.out,
            np.int32(self.height), np.int32(self.width if kernel == "life_bytes" else columns),
            block=(THREADS, 1, 1), grid=(-(-columns // THREADS), rows),
        )  # fmt: skip

    # --8<-- [end:launch]

    def result(self, kernel: str) -> np.ndarray:
        """The next generation, as it lies in memory."""
        got = np.empty((self.height, self.width // self.per_byte(kernel)), np.uint8)
        cuda.memcpy_dtoh(got, self.out)
        return got

    def check(self, kernel: str, want: np.ndarray) -> None:
        """Hold the next generation against `want`, a byte a cell."""
        want = want if self.per_byte(kernel) == 1 else packed(want)
        wb.check(self.result(kernel), want, what=f"{kernel} of {self.height} × {self.width}")

    def free(self) -> None:
        for buffer in (*self.data.values(), self.out):
            buffer.free()


def check_life(rng: np.random.Generator, shapes: list[tuple[int, int]]) -> None:
    for height, width in shapes:
        cells = (rng.random((height, width)) < 0.4).astype(np.uint8)
        board = Life(cells)
        for kernel in KERNELS:
            board.poison(kernel)
            board.launch(kernel)
            board.check(kernel, life(cells))
        board.free()
    print(f"Life, {len(KERNELS)} kernels at {', '.join(f'{h} × {w}' for h, w in shapes)}: exact")


def check_glider() -> None:
    """After four steps a glider is back, one down and one to the right; it crosses the edges, too."""
    for y, x in ((5, 7), (30, 62)):
        start = np.zeros((32, 64), np.uint8)
        start[:3, :3] = GLIDER
        start = np.roll(start, (y, x), (0, 1))
        for kernel in KERNELS:
            cells = start
            for _ in range(4):
                board = Life(cells)
                board.poison(kernel)
                board.launch(kernel)
                got = board.result(kernel)
                cells = np.unpackbits(got, axis=-1, bitorder="little") if kernel == "life_bits" else got
                board.free()
            wb.check(cells, np.roll(start, (1, 1), (0, 1)), what=f"glider, {kernel}")
    print("a glider is back after 4 steps, at (+1, +1)")


def rule110(start: np.ndarray, steps: int) -> np.ndarray:
    """Rows 0 to `steps` of Rule 110, by the device."""
    kernel = wb.module("cellular-automata/cells.cu").get_function("rule110")
    words = start.size // 32
    rows = np.full((steps + 1, start.size // 8), 0xA5, np.uint8)
    rows[0] = packed(start)
    space = cuda.to_device(rows)
    for t in range(steps):
        source, target = (np.uint64(int(space) + (t + i) * start.size // 8) for i in (0, 1))
        kernel(source, target, np.int32(words), block=(128, 1, 1), grid=(-(-words // 128), 1))
    cuda.memcpy_dtoh(rows, space)
    return np.unpackbits(rows, axis=-1, bitorder="little")


def check_rule110(rng: np.random.Generator, widths: list[int]) -> None:
    for width in widths:
        start = rng.integers(0, 2, width, np.uint8)
        rows = rule110(start, 50)
        want = [start]
        for _ in range(50):
            want.append(rule(110, want[-1]))
        wb.check(rows, np.array(want), what=f"Rule 110 on {width} cells")
    print(f"Rule 110, 50 steps of {', '.join(map(str, widths))} cells: exact")


def time_all(rng: np.random.Generator, side: int) -> None:
    bits = rng.integers(0, 2**32, side * side // 32, np.uint32).view(np.uint8).reshape(side, side // 8)
    cells = np.unpackbits(bits, axis=-1, bitorder="little")
    board = Life(cells)
    bands = [np.arange(y - 1, y + 9) % side for y in (0, int(rng.integers(side)), side - 8)]  # each 8 rows and 2 beside
    want = [life(cells[band])[1:-1] for band in bands]
    answers = {}

    def check(kernel: str) -> None:
        got = board.result(kernel)
        for band, rows in zip(bands, want, strict=True):
            wb.check(got[band[1:-1]], rows if kernel != "life_bits" else packed(rows), what=kernel)
        answers[kernel] = got

    times = {}
    for kernel in KERNELS:
        times[kernel] = wb.time(
            lambda i, kernel=kernel: board.launch(kernel),
            repeats=30,
            poison=lambda i, kernel=kernel: board.poison(kernel),
            check=lambda i, kernel=kernel: check(kernel),
        )
    for kernel in ("life_bytes", "life_words"):  # all of them, not only the bands
        wb.check(packed(answers.pop(kernel)), answers["life_bits"], what=f"{kernel} against life_bits")
    copy, packs = board.module.get_function("copy"), side * side // 16

    def check_copy(i: int) -> None:
        wb.check(board.result("life_bytes"), cells, what="copy")

    times["copy"] = wb.time(
        lambda i: copy(board.data[1], board.out, np.int64(packs), block=(256, 1, 1), grid=(packs // 256, 1)),
        repeats=30,
        poison=lambda i: board.poison("life_bytes"),
        check=check_copy,
    )
    print(f"\nLife, {side} × {side}\n{'':12}{'µs':>9}{'GB/s':>8}{'cells/s':>14}")
    for name, t in times.items():
        moved = 2 * (side * side if name == "copy" else board.nbytes(name))
        label = name if name != "copy" else "cells_copy"
        wb.timing(label, t, moved)
        if name != "copy":
            wb.value(f"{name}.cells", side * side / t.median, "1/s")
        print(f"{name:12}{t.median * 1e6:9.0f}{moved / t.median / 1e9:8.0f}{side * side / t.median / 1e9:12.0f} G")
    board.free()


def profile(rng: np.random.Generator, height: int, width: int) -> None:
    cells = rng.integers(0, 2, (height, width), np.uint8)
    board = Life(cells)
    want = life(cells)
    for kernel in KERNELS:
        board.poison(kernel)
        board.launch(kernel)
        board.check(kernel, want)
        print(f"{kernel} of {height} × {width}: exact")


if __name__ == "__main__":
    generator = np.random.default_rng(28 if "--profile" in sys.argv[1:] else None)  # counters are the same each time
    gpu = wb.is_gpu()
    if "--profile" in sys.argv[1:]:
        profile(generator, *((8192, 8192) if gpu else (64, 256)))
    else:
        print(f"device: {wb.device()['name']}")
        check_rule110(generator, [32, 1024, 1000 // 32 * 32])
        start = np.zeros(128, np.uint8)
        start[-1] = 1
        wb.matrix("rule110.rows", rule110(start, 127)[:, :].tolist())
        check_glider()
        check_life(generator, [(3, 32), (8, 64), (31, 96), (33, 4128)] + ([(1001, 8192)] if gpu else []))
        if gpu:
            time_all(generator, 2**15)
        else:
            print("no GPU: nothing is timed")
