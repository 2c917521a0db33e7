"""Concurrent and parallel: chains of dependent multiply-adds, by warps on one multiprocessor and by multiprocessors.

python overlap.py   check the ends of all chains; on a GPU also count the cycles
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb

GPU = wb.is_gpu()
STEPS = 4096 if GPU else 64
A, C = np.float32(1 - 2**-9), np.float32(0.25)
WARPS = (1, 2, 4, 8, 12, 16, 20, 24, 28, 32)
SMS = cuda.Context.get_device().multiprocessor_count

chain = wb.module("gpu-how-it-works/overlap.cu").get_function("chain")


def run(warps: int, blocks: int, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Cycles that each block took from its first warp's start to its last warp's end."""
    n = 32 * warps * blocks
    start = rng.random(n, dtype=np.float32)
    ends = np.full(n, np.nan, np.float32)
    clocks = np.full((blocks, warps, 2), -1, np.int64)
    arrays = cuda.In(start), cuda.InOut(ends)
    chain(*arrays, A, C, np.int32(steps), cuda.InOut(clocks), block=(32 * warps, 1, 1), grid=(blocks, 1))
    shrink = float(A) ** steps
    want = shrink * start.astype(np.float64) + float(C) * (1 - shrink) / (1 - float(A))
    # each step rounds once, and what it rounded off shrinks with the rest
    wb.check(ends, want, 2.0**-24 * np.maximum(want, 1) * min(steps, 512) * 1.01, what=f"{warps} warps, {steps} steps")
    if not (clocks[..., 1] >= clocks[..., 0]).all() or (clocks < 0).any():
        raise AssertionError(f"{warps} warps: a clock was not written, or ran backwards")
    return clocks[..., 1].max(axis=1) - clocks[..., 0].min(axis=1)


def check_all(rng: np.random.Generator) -> None:
    for warps, blocks, steps in ((1, 1, 1), (1, 3, 31), (5, 2, 64), (32, 1, 33)):
        run(warps, blocks, steps, rng)
        print(f"{blocks} blocks of {warps} warps, {steps} steps: every end within its bound")


def measure(rng: np.random.Generator) -> None:
    run(32, SMS, STEPS, rng)
    cycles = []
    print(f"\n{'warps':>6}{'cycles a step':>15}{'steps a cycle':>15}")
    for warps in WARPS:
        took = sorted(float(run(warps, 1, STEPS, rng)[0]) / STEPS for _ in range(9))
        cycles.append((took[4], took[0], took[8]))
        print(f"{warps:6}{took[4]:15.2f}{warps / took[4]:15.2f}")
        if warps in (1, 16, 32):
            wb.value(f"chain_{warps}.cycles", took[4], "1", (took[0], took[8]))
    mid, low, high = zip(*cycles, strict=True)
    wb.series("chain.cycles", WARPS, mid, low=low, high=high, x_unit="count", unit="1")
    everywhere = [float(np.median(run(16, SMS, STEPS, rng))) / STEPS for _ in range(9)]
    wb.value("chain_everywhere.cycles", float(np.median(everywhere)), "1", (min(everywhere), max(everywhere)))
    print(f"16 warps on each of {SMS} multiprocessors: {np.median(everywhere):.2f} cycles a step")


def claims() -> None:
    for name, a, gate, predicted, en, zh, source, source_zh in (
        ("sixteen_warps_for_the_price_of_one", "chain_16", {"at_most": 1.15}, 1.0,
         "16 chains of a multiprocessor take at most 1.15 times as long as one",
         "一个多处理器上 16 条链的用时至多是一条的 1.15 倍",
         "latency 4 cycles, 4 schedulers, one instruction a cycle each", "延迟 4 周期，4 个调度器，每周期各发射一条"),
        ("beyond_that_they_queue", "chain_32", {"at_least": 1.7, "at_most": 2.3}, 2.0,
         "32 chains take about twice as long as one", "32 条链的用时约为一条的两倍",
         "32 warps, 4 schedulers: 8 cycles a step", "32 个线程束，4 个调度器：每步 8 个周期"),
        ("multiprocessors_do_not_share", "chain_everywhere", {"at_most": 1.15}, 1.0,
         "16 chains on each of all multiprocessors take at most 1.15 times as long as a single one",
         "所有多处理器各跑 16 条链，用时至多是单独一条的 1.15 倍",
         "no unit is shared", "没有共享的部件"),
    ):  # fmt: skip
        wb.claim(
            name,
            en=en,
            zh=zh,
            ratio=(f"{a}.cycles", "chain_1.cycles"),
            predicted=predicted,
            source=source,
            source_zh=source_zh,
            **gate,
        )


if __name__ == "__main__":
    generator = np.random.default_rng(20261125)
    check_all(generator)
    if GPU:
        measure(generator)
    else:
        print("no GPU: nothing is timed")
    claims()
