"""What contention costs: the kernels of hist.cu on bytes that are uniform, follow Zipf's law, are sorted, or all equal.

python skew.py             check; on a GPU also time 2^28 bytes, and torch.bincount
python skew.py --profile   launch v3, v4 and v5 once on uniform bytes for a profiler: 2^28 bytes (softcuda: 2^22)
"""

import sys
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import warpbench as wb
from _hist import BINS, Problem, launches

try:
    import torch
except ImportError:
    torch = None

KERNELS = ("v0", "matched", "v1", "v2", "v3", "v4", "v5", "v6", "runs")


# --8<-- [start:kinds]
def zipf(rng: np.random.Generator, n: int) -> np.ndarray:
    """Bytes of which the k-th most frequent has a share of about 1/k, as words in a text have."""
    share = 1 / np.arange(1, BINS + 1)
    edges = np.round(np.cumsum(share) / share.sum() * 2**16).astype(int)
    table = rng.permutation(BINS).astype(np.uint8)[np.searchsorted(edges, np.arange(2**16), side="right")]
    return table[rng.integers(0, 2**16, n, dtype=np.uint16)]


KINDS = {
    "uniform": lambda rng, n: rng.integers(0, BINS, n, dtype=np.uint8),
    "zipf": zipf,
    "sorted": lambda rng, n: np.sort(rng.integers(0, BINS, n, dtype=np.uint8), kind="stable"),
    "equal": lambda rng, n: np.full(n, rng.integers(0, BINS), np.uint8),
}
# --8<-- [end:kinds]


# --8<-- [start:counts]
def sectors(bins: np.ndarray) -> float:
    """Per addition of a warp to global memory: a lane that finds its bin taken makes its sector count again."""
    total = 0
    for warp in bins.reshape(-1, 32):
        found, times = np.unique(warp, return_counts=True)
        most = np.zeros(BINS // 8, int)
        np.maximum.at(most, found // 8, times)
        total += most.sum()
    return total * 32 / bins.size


def passes(words: np.ndarray) -> float:
    """Per warp addition to shared memory: the most different words that one of the 32 banks has to serve."""
    total = 0
    for warp in words.reshape(-1, 32):
        total += np.bincount(np.unique(warp) % 32).max()
    return total * 32 / words.size


# --8<-- [end:counts]


class Shared:
    """Device memory in the shape that torch.as_tensor takes."""

    def __init__(self, address: Any, n: int) -> None:
        self.__cuda_array_interface__ = {
            "version": 3, "shape": (n,), "typestr": "|u1", "data": (int(address), False), "strides": None,
        }  # fmt: skip


def time_torch(problem: Problem) -> wb.Timing:
    tensors = [torch.as_tensor(Shared(x, problem.n), device="cuda") for x in problem.inputs]
    counts = torch.bincount(tensors[0], minlength=BINS).cpu().numpy()
    wb.check(counts, problem.want[:BINS], 0, "torch.bincount")
    return wb.time(lambda i: torch.bincount(tensors[i % 2], minlength=BINS), repeats=10)


def measure(rng: np.random.Generator, kind: str, n: int) -> None:
    kernels = launches(np.uint8)
    x = KINDS[kind](rng, n)
    problem = Problem(x)
    across = x[: 2**17]  # a warp of v0 reads 32 neighbours, a warp of v3 every 16th byte of 512
    apart = across.reshape(-1, 32, 16).transpose(0, 2, 1).ravel().astype(np.int64)
    wb.value(f"{kind}.sectors", sectors(across), "count")
    wb.value(f"{kind}.passes", passes(apart), "count")
    line = f"{kind:9}{sectors(across):9.2f}{passes(apart):9.2f}"
    for name in KERNELS:
        if wb.is_gpu():
            slow = name in ("v0", "matched")
            t = problem.time(kernels[name], f"hist_{name}, {kind}", *((6, 1) if slow else (50, 5)))
            wb.timing(f"{kind}_{name}", t, n)
            line += f"{n / t.median / 1e9:9.0f}"
        else:
            problem.clear()
            problem.run(kernels[name])
            problem.check(f"hist_{name}, {kind}")
            line += f"{'exact':>9}"
    if wb.is_gpu() and torch is not None:
        t = time_torch(problem)
        wb.timing(f"{kind}_bincount", t, n)
        line += f"{n / t.median / 1e9:9.0f}"
    problem.free()
    print(line)


def profile(rng: np.random.Generator, n: int) -> None:
    kernels = launches(np.uint8)
    problem = Problem(KINDS["uniform"](rng, n))
    for name in ("v3", "v4", "v5"):
        problem.clear()
        problem.run(kernels[name])
        problem.check(f"hist_{name}")
        print(f"hist_{name} of {n} bytes: exact")


if __name__ == "__main__":
    generator = np.random.default_rng(20261123)
    if "--profile" in sys.argv[1:]:
        profile(generator, 2**28 if wb.is_gpu() else 2**22)
    else:
        size = 2**28 if wb.is_gpu() else 2**20
        titles = (*KERNELS, "bincount") if wb.is_gpu() else KERNELS
        print(f"{size:,} bytes, GB/s" if wb.is_gpu() else f"{size:,} bytes")
        print(f"{'':9}{'sectors':>9}{'passes':>9}" + "".join(f"{title:>9}" for title in titles))
        for one in KINDS:
            measure(generator, one, size)
