"""A histogram of bytes in one launch: each block counts in shared memory and adds its counts once."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, sizes

BINS, BLOCK, GRID = 256, 256, 4


def inputs(random, n):
    palette = random.integers(12, 0, BINS - 1, "uint8")
    data = palette[random.integers(n, 0, 11, "int32")]
    data[random.integers(n, 0, 2, "int32") > 0] = palette[0]  # as in a picture with a background
    return {"data": data, "counts": random.integers(BINS, 1, 1000, "uint32"), "n": n}


def reference(data, counts, n):
    return {"counts": counts + np.bincount(data, minlength=BINS)}


def added(failure):
    """By how much the counts grew, and by how much they should have grown."""
    before = failure.inputs["counts"].astype(np.int64)
    return failure.got.astype(np.int64) - before, failure.want.astype(np.int64) - before


def overflow(failure):
    """Counts that lack multiples of 256 or of 65536: a counter in shared memory was too narrow."""
    got, want = added(failure)
    lost = (want - got)[failure.wrong]
    for bits in (16, 8):
        if (lost > 0).all() and (lost % 2**bits == 0).all():
            bin = int(np.argmax(failure.wrong))
            return Cause(
                "overflow",
                {"bin": bin, "got": int(got[bin]), "want": int(want[bin]), "bits": bits, "unit": 2**bits},
                {
                    "en": "{size}: counts[{bin}] grew by {got}, expected {want}: what is lost is a multiple of {unit}. "
                    "Does a block count in fewer than 32 bits? A counter of {bits} bits overflows at {unit}",
                    "zh": "{size}：counts[{bin}] 增加了 {got}，应为 {want}，少掉的是 {unit} 的整数倍。"
                    "线程块内的计数器是不是不足 32 位？{bits} 位计数器数到 {unit} 就溢出",
                },
                "histogram#v1",
            )
    return None


def several_times(failure):
    """All counts grew by the same multiple of what they should have grown by."""
    got, want = added(failure)
    times = int(got.sum() // max(1, want.sum()))
    if times < 2 or not np.array_equal(got, times * want):
        return None
    return Cause(
        "several-times",
        {"times": times},
        {
            "en": "{size}: every byte was counted {times} times. Does each block count all of data? "
            "A block must begin at its own elements and step by the whole grid",
            "zh": "{size}：每个字节都被数了 {times} 次。是不是每个线程块都数了全部数据？"
            "线程块要从自己的元素开始，步长是整个网格的线程数",
        },
        "histogram#v2",
    )


def left_out(failure):
    """Only the first bytes were counted."""
    got, _ = added(failure)
    data, total = failure.inputs["data"], int(got.sum())
    if data.size <= GRID * BLOCK or not 0 < total < data.size:
        return None
    if not np.array_equal(got, np.bincount(data[:total], minlength=BINS)):
        return None
    return Cause(
        "left-out",
        {"total": total, "n": data.size, "threads": GRID * BLOCK},
        {
            "en": "{size}: only the first {total} of {n} bytes were counted. The launch has {threads} threads, "
            "however many bytes there are: let each take several",
            "zh": "{size}：{n} 个字节中只数了前 {total} 个。"
            "不管有多少字节，启动的线程总是 {threads} 个，每个线程要处理多个字节",
        },
        "histogram#v2",
    )


exercise = Exercise(
    kernel="void histogram(const unsigned char* data, unsigned* counts, int n)",
    sizes=sizes(GRID * BLOCK),
    inputs=inputs,
    reference=reference,
    launch=lambda n: Launch(grid=GRID, block=BLOCK),
    causes=(overflow, several_times, left_out),
    budget=Budget(at=1 << 14, bytes_loaded=1 << 14, atomics=GRID * BINS / 32),
)
