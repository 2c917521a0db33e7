"""steps.cu from Python: launch it for as many rounds as one likes, and know what must come out."""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

A, C = 1_664_525, 1_013_904_223  # Numerical Recipes' generator
BLOCK = 128


# --8<-- [start:closed]
def closed_form(x: np.ndarray, rounds: int) -> np.ndarray:
    """What `rounds` steps make of x, by squaring the map v → a v + c: 22 squarings for four million steps."""
    scale, shift, a, c = 1, 0, A, C
    while rounds:
        if rounds & 1:
            scale, shift = a * scale % 2**32, (a * shift + c) % 2**32
        a, c, rounds = a * a % 2**32, (a * c + c) % 2**32, rounds >> 1
    return x * np.uint32(scale) + np.uint32(shift)


# --8<-- [end:closed]


class Steps:
    """One block of 128 threads on every SM: four warps each, one for every scheduler."""

    def __init__(self, kernel: str = "steps") -> None:
        self.kernel = wb.module("programming-model/steps.cu").get_function(kernel)
        self.grid = cuda.Context.get_device().multiprocessor_count
        self.n = self.grid * BLOCK - 7
        self.x = np.random.default_rng().integers(0, 2**32, self.n, dtype=np.uint32)
        self.source, self.out = cuda.to_device(self.x), cuda.mem_alloc(4 * self.n)

    def poison(self) -> None:
        cuda.memset_d32_async(self.out, 0xFFFFFFFF, self.n)

    def launch(self, rounds: int) -> None:
        self.kernel(
            *(self.source, self.out, np.uint32(A), np.uint32(C), np.int32(rounds), np.int32(self.n)),
            block=(BLOCK, 1, 1),
            grid=(self.grid, 1),
        )

    def check(self, rounds: int) -> None:
        got = np.empty(self.n, np.uint32)
        cuda.memcpy_dtoh(got, self.out)
        wb.check(got, closed_form(self.x, rounds), what=f"{rounds} steps")

    def timed(self, rounds: int, repeats: int) -> wb.Timing:
        """On the device, which is kept busy until the launch is queued."""
        return wb.time(
            lambda i: self.launch(rounds),
            poison=lambda i: self.poison(),
            check=lambda i: self.check(rounds),
            repeats=repeats,
        )

    def run(self, rounds: int) -> None:
        self.poison()
        self.launch(rounds)
        self.check(rounds)


if __name__ == "__main__":
    for kernel in ("steps", "steps_too"):
        work = Steps(kernel)
        for rounds in (0, 1, 31, 1000):
            work.run(rounds)
        print(f"{kernel}: {work.n:,} threads, exact after 0, 1, 31 and 1,000 steps")
