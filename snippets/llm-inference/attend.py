"""Attention of one new token over its cache: five kernels, checked against float64, counted, timed beside PyTorch's.

python attend.py             check; on a GPU also time the shape of Llama 3 8B in turn with PyTorch and a copy
python attend.py --profile   launch each kernel once for a profiler (softcuda: 2 heads of keys, 2048 tokens)
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _decode import RUNGS, Cached, Shape
from warppairs import pairs, share_of, spread

LLAMA = Shape(32, 8, 128)
SDPA_SLACK = 4e-3  # a rival may round the weights to fp16 on the way


def check_all(rng: np.random.Generator) -> None:
    """Each kernel on lengths around its edges, with maxima that move; contiguous and in pages to the same bits."""
    for shape in (Shape(4, 4, 64, 8), Shape(8, 2, 128), Shape(4, 1, 64)):
        worst = dict.fromkeys(RUNGS, 0.0)
        for lengths in ([1, 15, 16, 17], [200, 3, 64]):
            for spiked in (False, True):
                run = Cached(rng, shape, lengths, max(lengths) + 5, spiked=spiked)
                for parts in (1, 3):
                    run.set_parts(parts)
                    for rung in RUNGS if parts > 1 else RUNGS[:3]:
                        run.poison()
                        run.launch(rung)
                        worst[rung] = max(worst[rung], run.check(rung))
                        if rung == "v3":
                            contiguous = run.result().view(np.int16)
                wb.check(run.result().view(np.int16), contiguous, 0, "pages, the bits of the contiguous cache")
        text = ", ".join(f"{rung} {share:.0%}" for rung, share in worst.items())
        print(f"{shape.heads} heads on {shape.kv_heads}, d = {shape.d}, pages of {shape.page}: of the bound {text}")


def parts_for(run: Cached) -> int:
    """So many parts that there are eight blocks per SM of the kernel with the fewest."""
    blocks = 8 * cuda.Context.get_device().multiprocessor_count
    return max(1, min(64, blocks // (run.rows * run.shape.kv_heads)))


def sdpa_of(run: Cached) -> Callable[[int], Any] | None:
    """PyTorch's attention with one query per head, which may choose its kernel."""
    try:
        wb.needs(packages="torch")
    except wb.Skipped:
        return None
    import torch

    shape, a = run.shape, run.at
    q = as_tensor(torch, a["q"], (run.rows, shape.heads, 1, shape.d))
    caches = [
        tuple(as_tensor(torch, a[name][i], run.k.shape)[:, :, : run.lengths.max()] for name in ("keys", "values"))
        for i in range(run.copies)
    ]
    attention = torch.nn.functional.scaled_dot_product_attention
    return lambda i: attention(q, *caches[i % len(caches)], enable_gqa=shape.queries > 1)


class Shared:
    """Device memory in the shape that torch.as_tensor takes, which keeps this object and so the memory."""

    def __init__(self, address: Any, shape: tuple[int, ...]) -> None:
        self.memory = address
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": "<f2", "data": (int(address), False), "strides": None,
        }  # fmt: skip


def as_tensor(torch: Any, address: Any, shape: tuple[int, ...]) -> Any:
    return torch.as_tensor(Shared(address, shape), device="cuda")


class Turns:
    """Launches that rotate through the copies of a cache."""

    def __init__(self, launch: Callable[[int], object]) -> None:
        self.launch, self.i = launch, 0

    def __call__(self) -> None:
        self.launch(self.i)
        self.i += 1


def copier(nbytes: int) -> Callable[[], None]:
    """Copies half of `nbytes` to another place, so that `nbytes` are moved."""
    ends = [[cuda.mem_alloc(nbytes // 2) for _ in range(2)] for _ in range(wb.rotation(nbytes))]
    for pair in ends:
        cuda.memset_d32(pair[0], 0x3F803F80, nbytes // 8)
    return Turns(lambda i: cuda.memcpy_dtod_async(*ends[i % len(ends)][::-1], nbytes // 2))


def time_rungs(rng: np.random.Generator, name: str, sequences: int, n: int, rungs: tuple[str, ...]) -> None:
    """Rungs on a cache of `sequences` x n tokens, each in turn with a copy, the last contiguous one with PyTorch's."""
    run = Cached(rng, LLAMA, [n] * sequences, n, copies=2 if sequences * n > 2**15 else 4)
    run.set_parts(parts_for(run))
    copy, rival = copier(run.nbytes), sdpa_of(run)
    copied: list[float] = []
    for rung in rungs:
        run.poison()
        run.launch(rung)
        run.check(rung)
        ours, theirs = pairs(Turns(lambda i, rung=rung: run.launch(rung, i)), copy)
        run.check(rung)
        copied += theirs.seconds
        median, low, high = spread(ours.seconds)
        wb.timing(f"{name}{rung}", wb.Timing(median, low, high, len(ours.seconds)), run.nbytes)
        share = share_of(ours, theirs)
        wb.value(f"{name}{rung}.copy_share", share[0], "%", share[1:])
        print(f"{name + rung:14}{median * 1e6:9.1f} µs{run.nbytes / median / 1e9:8.0f} GB/s{share[0]:8.1f} % of a copy")
    median, low, high = spread(copied)
    wb.timing(f"{name}copy", wb.Timing(median, low, high, len(copied)), run.nbytes)
    if rival:
        got = rival(0)[:, :, 0].cpu().numpy()
        run.check("scaled_dot_product_attention", got, SDPA_SLACK)
        ours, theirs = pairs(Turns(lambda i: run.launch("v3", i)), Turns(rival))
        median, low, high = spread(theirs.seconds)
        wb.timing(f"{name}sdpa", wb.Timing(median, low, high, len(theirs.seconds)), run.nbytes)
        share = share_of(ours, theirs)
        wb.value(f"{name}v3.share", share[0], "%", share[1:])
        print(f"{name + 'sdpa':14}{median * 1e6:9.1f} µs; v3 at {share[0]:.0f} % of its speed")


def sweep_parts(rng: np.random.Generator, n: int, counts: tuple[int, ...]) -> None:
    """v3 on one sequence by the number of parts."""
    run = Cached(rng, LLAMA, [n], n, copies=2)
    rates = []
    for parts in counts:
        run.set_parts(parts)
        run.poison()
        t = wb.time(lambda i: run.launch("v3", i), repeats=20)
        run.check("v3")
        rates.append([run.nbytes / x for x in (t.high, t.median, t.low)])
    low, rate, high = (list(column) for column in zip(*rates, strict=True))
    wb.series("v3.parts", [float(p) for p in counts], rate, x_unit="count", unit="B/s", low=low, high=high)


def measure(rng: np.random.Generator, one: int = 2**15, batch: tuple[int, int] = (16, 2**13)) -> None:
    time_rungs(rng, "", 1, one, RUNGS)
    time_rungs(rng, "batch.", *batch, RUNGS[1:])
    sweep_parts(rng, one, (1, 2, 4, 8, 16, 32, 64))


def profile(rng: np.random.Generator, shape: Shape, n: int, parts: int) -> None:
    run = Cached(rng, shape, [n], n)
    run.set_parts(parts)
    for rung in RUNGS:
        run.poison()
        run.launch(rung)
        run.check(rung)
    print(f"{n} tokens, {run.parts} parts of {run.chunk}: every kernel right")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        same = np.random.default_rng(11)  # what a cache holds depends on the order of the pages
        profile(same, *((LLAMA, 2**15, 64) if wb.is_gpu() else (Shape(8, 2, 128), 2**11, 8)))
        raise SystemExit
    print(f"device: {wb.device()['name']}")
    check_all(generator)
    if wb.is_gpu():
        wb.needs(memory=8 * 2**30)
        measure(generator)
    else:
        print("no GPU: nothing is timed")
