"""Two threads that count, each in a word of its own: in one cache line, and in two."""

import numpy as np
import warpbench as wb
from _native import interleaved, library, pointer, size

THREADS, STEPS, ROUNDS = 2, 2**14, 401
WORDS_PER_LINE = 8  # of eight bytes, in a line of 64
built = library("sharing.c")


def counting(threads: int, spacing: int):
    """A call in which each thread counts to STEPS, in words `spacing` apart; checked at every call."""
    room = np.zeros(64 * WORDS_PER_LINE, np.uint64)
    start = -(room.ctypes.data // 8) % 16  # the first word of a pair of lines
    counters = room[start : start + 32 * WORDS_PER_LINE]

    def run() -> None:
        counters[:] = 0
        built.count(pointer(counters), size(spacing), size(threads), size(STEPS))
        want = np.zeros_like(counters)
        want[: threads * spacing : spacing] = STEPS
        wb.check(counters, want, what=f"{threads} threads, counters {spacing} words apart")

    return run


if __name__ == "__main__":
    wb.measure_cpu()
    ways = {
        "one": counting(1, 1),
        "adjacent": counting(THREADS, 1),
        "apart": counting(THREADS, 2 * WORDS_PER_LINE),
    }
    print(f"{'':10}{'ns':>8}    per step, shortest run and median")
    for name, seconds in interleaved(ways, ROUNDS, limit=8.0).items():
        best, usual = (1e9 * seconds[i] / STEPS for i in (0, len(seconds) // 2))
        wb.value(f"{name}.time", best * 1e-9, "s")
        print(f"{name:10}{best:8.2f}{usual:10.2f}")
