"""Rows one after another, or each at an address that is a multiple of 512: what does pitched allocation bring?

python pitched_rows.py             check; on a GPU also time 8191 columns × 16384 rows of int32
python pitched_rows.py --profile   launch once with each layout, for a profiler
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

FILE = "thread-organisation/pitched.cu"
POISON = 0x80000000
X = 256


# --8<-- [start:allocate]
class Rows:
    """A matrix of nx × ny int32 on the device, its rows `pitch` bytes apart."""

    def __init__(self, nx: int, ny: int, pitched: bool) -> None:
        self.width, self.ny = 4 * nx, ny
        if pitched:
            self.memory, self.pitch = cuda.mem_alloc_pitch(self.width, ny, 4)
        else:
            self.memory, self.pitch = cuda.mem_alloc(self.width * ny), self.width

    def upload(self, host: np.ndarray) -> None:
        copy = cuda.Memcpy2D()
        copy.set_src_host(host)
        copy.set_dst_device(self.memory)
        copy.src_pitch, copy.dst_pitch = self.width, self.pitch
        copy.width_in_bytes, copy.height = self.width, self.ny
        copy(aligned=True)

    # --8<-- [end:allocate]

    def spoil(self) -> None:
        cuda.memset_d32_async(self.memory, POISON, self.pitch * self.ny // 4)

    def download(self) -> np.ndarray:
        """All of it, padding too."""
        host = np.empty((self.ny, self.pitch // 4), np.int32)
        cuda.memcpy_dtoh(host, self.memory)
        return host


class Layout:
    """The kernel between two matrices of one layout."""

    def __init__(self, kernel: cuda.Function, host: np.ndarray, pitched: bool) -> None:
        self.kernel, (self.ny, self.nx) = kernel, host.shape
        self.source, self.target = (Rows(self.nx, self.ny, pitched) for _ in range(2))
        self.source.upload(host)
        self.want = 3 * host + 1

    def spoil(self) -> None:
        self.target.spoil()

    def launch(self) -> None:
        self.kernel(
            self.source.memory, np.uintp(self.source.pitch), self.target.memory, np.uintp(self.target.pitch),
            np.int32(self.nx), np.int32(self.ny), block=(X, 1, 1), grid=(-(-self.nx // X), self.ny),
        )  # fmt: skip

    def check(self) -> None:
        got = self.target.download()
        if not np.array_equal(got[:, : self.nx], self.want):
            wb.check(got[:, : self.nx], self.want, what=f"rows of {self.nx} × {self.ny}")
        if (got[:, self.nx :].view(np.uint32) != POISON).any():
            raise AssertionError(f"rows of {self.nx} × {self.ny}: something was written between the rows")

    def free(self) -> None:
        self.source.memory.free()
        self.target.memory.free()


def fresh(rng: np.random.Generator, nx: int, ny: int) -> np.ndarray:
    return rng.integers(-(2**29), 2**29, (ny, nx), dtype=np.int32)


if __name__ == "__main__":
    rng = np.random.default_rng(512)
    if "--profile" in sys.argv[1:]:
        host = fresh(rng, *((8191, 16384) if wb.is_gpu() else (1023, 256)))
        for layout in ("packed", "pitched"):
            kernel = wb.module(FILE, rows=f"{layout}_rows").get_function(f"{layout}_rows")
            way = Layout(kernel, host, layout == "pitched")
            way.spoil()
            way.launch()
            way.check()
            print(f"{layout}_rows: exact")
            way.free()
    else:
        kernel = wb.module(FILE).get_function("rows")
        for nx, ny in ((1, 1), (31, 1), (1, 31), (1000, 37), (1023, 64)):
            for pitched in (False, True):
                way = Layout(kernel, fresh(rng, nx, ny), pitched)
                way.spoil()
                way.launch()
                way.check()
                way.free()
            print(f"{nx:5} × {ny:<3} exact, rows {4 * nx} and {way.source.pitch} bytes apart")
        if wb.is_gpu():
            wb.needs(memory=2 * 2**30)
            nx, ny = 8191, 16384
            host = fresh(rng, nx, ny)
            for layout in ("packed", "pitched"):
                way = Layout(kernel, host, layout == "pitched")
                t = wb.time(
                    lambda i, way=way: way.launch(),
                    poison=lambda i, way=way: way.spoil(),
                    check=lambda i, way=way: way.check(),
                )
                wb.timing(layout, t, 8 * nx * ny)
                wb.value(f"{layout}.pitch", way.source.pitch, "B")
                rate = 8 * nx * ny / t.median / 1e9
                print(f"{layout:8} rows {way.source.pitch} bytes apart {t.median * 1e6:8.1f} µs {rate:6.0f} GB/s")
                way.free()
        else:
            print("no GPU: nothing is timed")
