"""Attention of one new token whose cache comes by bulk copies: checked, and timed beside v3 and v4, PyTorch and a copy.

python bulk.py             check; on a GPU also time one long sequence and a batch, contiguous and in pages
python bulk.py --profile   launch both kernels once for a profiler (softcuda: 2 heads of keys, 2048 tokens)
"""

import functools
import sys
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _decode import LOG2E, Cached, Ready, Shape
from attend import LLAMA, SDPA_SLACK, Turns, copier, parts_for, sdpa_of
from pycuda.compiler import SourceModule
from warppairs import pairs, share_of, spread

KEYS, STAGES, TEAM, TILE = 64, 6, 4, 16  # as in decode_bulk.cu
RUNGS = {"v5": "v3", "v5.paged": "v4"}  # with what loads through registers instead


@functools.cache
def compile_for(shape: Shape) -> Any:
    text = wb.source("llm-inference/decode_bulk.cu", HEAD=shape.d, QUERIES=shape.queries, PAGE=shape.page)
    return SourceModule(text, options=["-lineinfo", f"-I{wb.ROOT / 'llm-inference'}"], no_extern_c=True)


class Bulk:
    """The kernels of decode_bulk.cu on the caches of `run`, in so many parts. They write run.at["out"]."""

    def __init__(self, run: Cached, parts: int) -> None:
        self.run, shape, longest = run, run.shape, int(run.lengths.max())
        step = max(TILE, shape.page)  # parts begin with a page
        self.chunk = -(-longest // (parts * step)) * step
        self.parts = -(-longest // self.chunk)
        self.count = run.rows * shape.heads * self.parts
        self.o, self.stats = cuda.mem_alloc(4 * self.count * shape.d), cuda.mem_alloc(8 * self.count)
        groups = run.rows * shape.kv_heads
        self.done = cuda.mem_alloc(4 * groups)
        cuda.memset_d32(self.done, 0, groups)  # once: the last block of a launch leaves 0
        self.ready = {rung: [self.prepare(rung, i) for i in range(run.copies)] for rung in RUNGS}

    def prepare(self, rung: str, i: int) -> Ready:
        """A launch of one rung on copy i of the cache."""
        run, a, shape = self.run, self.run.at, self.run.shape
        paged = rung == "v5.paged"
        kernel = compile_for(shape).get_function("decode_v5_paged" if paged else "decode_v5")
        shared = STAGES * KEYS * 4 * shape.d
        kernel.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        arrays = [a["key_pages"][i], a["value_pages"][i], a["table"]] if paged else [a["keys"][i], a["values"][i]]
        results = self.o, self.stats, a["out"], self.done
        sizes = np.int32(shape.heads), np.int32(run.pages if paged else run.most), np.int32(self.chunk)
        scale = np.float32(LOG2E * shape.d**-0.5)
        grid = shape.kv_heads, run.rows, self.parts
        arguments = a["q"], *arrays, a["sequence"], a["length"], *results, *sizes, scale
        return Ready(kernel, grid, (32 * (TEAM + 1), 1, 1), *arguments, shared=shared)

    def launch(self, rung: str, i: int = 0) -> None:
        """The copies of the cache take turns."""
        self.ready[rung][i % self.run.copies]()

    def poison(self) -> None:
        self.run.poison()
        cuda.memset_d32_async(self.o, 0xFFFFFFFF, self.count * self.run.shape.d)
        cuda.memset_d32_async(self.stats, 0xFFFFFFFF, 2 * self.count)

    def check(self) -> float:
        """Both rungs, twice: all four results have the same bits. The worst error as a share of its bound."""
        worst, bits = 0.0, []
        for rung in (*RUNGS, *RUNGS):
            self.poison()
            self.launch(rung)
            worst = max(worst, self.run.check(rung))
            bits.append(self.run.result().view(np.int16))
            if len(bits) > 1:
                wb.check(bits[-1], bits[0], 0, f"{rung}, the bits of the first launch")
        return worst


def check_all(rng: np.random.Generator) -> None:
    """Lengths around the edges of a tile, a stage and the ring, with maxima that move; room after them holds NaN."""
    for shape in (Shape(4, 4, 64, 8), Shape(8, 2, 128), Shape(4, 1, 64)):
        worst = 0.0
        for lengths in ([1, 15, 16, 17], [63, 64, 65], [1001, 3, 384]):
            for spiked in (False, True):
                run = Cached(rng, shape, lengths, max(lengths) + 5, spiked=spiked)
                worst = max(worst, *(Bulk(run, parts).check() for parts in (1, 3)))
        print(f"{shape.heads} heads on {shape.kv_heads}, d = {shape.d}, page {shape.page}: of the bound {worst:.0%}")


def time_rungs(rng: np.random.Generator, name: str, sequences: int, n: int) -> None:
    """v5 on a cache of `sequences` x n tokens, in turn with a copy, with v3 and with PyTorch; in pages with v4."""
    run = Cached(rng, LLAMA, [n] * sequences, n, copies=2 if sequences * n > 2**15 else 4)
    run.set_parts(parts_for(run))
    slots = cuda.Context.get_device().multiprocessor_count  # the ring leaves room for one block per SM
    bulk = Bulk(run, max(1, slots // (run.rows * run.shape.kv_heads)))
    bulk.check()
    copy, rival = copier(run.nbytes), sdpa_of(run)
    if rival:
        run.check("scaled_dot_product_attention", rival(0)[:, :, 0].cpu().numpy(), SDPA_SLACK)
    for rung, before in RUNGS.items():
        launch = Turns(lambda i, rung=rung: bulk.launch(rung, i))
        ours, theirs = pairs(launch, copy)
        median, low, high = spread(ours.seconds)
        wb.timing(f"{name}{rung}", wb.Timing(median, low, high, len(ours.seconds)), run.nbytes)
        shares = {"copy_share": share_of(ours, theirs)}
        shares[f"{before}_share"] = share_of(*pairs(launch, Turns(lambda i, rung=before: run.launch(rung, i))))
        if rival:
            shares["share"] = share_of(*pairs(launch, Turns(rival)))
        for what, share in shares.items():
            wb.value(f"{name}{rung}.{what}", share[0], "%", share[1:])
        text = ", ".join(f"{what} {share[0]:.1f} %" for what, share in shares.items())
        print(f"{name + rung:16}{median * 1e6:9.1f} µs{run.nbytes / median / 1e9:8.0f} GB/s  {text}")
    bulk.check()


def profile(rng: np.random.Generator, shape: Shape, n: int, parts: int) -> None:
    run = Cached(rng, shape, [n], n)
    bulk = Bulk(run, parts)
    for rung in RUNGS:
        bulk.poison()
        bulk.launch(rung)
        run.check(rung)
    print(f"{n} tokens, {bulk.parts} parts of {bulk.chunk}: both kernels right")


if __name__ == "__main__":
    wb.needs("9.0")
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        same = np.random.default_rng(11)  # what a cache holds depends on the order of the pages
        profile(same, *((LLAMA, 2**15, 16) if wb.is_gpu() else (Shape(8, 2, 128), 2**11, 8)))
        raise SystemExit
    print(f"device: {wb.device()['name']}")
    check_all(generator)
    if wb.is_gpu():
        wb.needs(memory=8 * 2**30)
        time_rungs(generator, "", 1, 2**15)
        time_rungs(generator, "batch.", 16, 2**13)
    else:
        print("no GPU: nothing is timed")
