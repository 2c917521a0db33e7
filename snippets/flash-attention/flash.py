"""Attention in three steps: scores in memory, tiles with an online softmax, tensor cores; checked, timed beside torch.

python flash.py             check; on a GPU also time fp32 on 16 heads and fp16 on 64 heads, n = 4096
python flash.py --profile   launch each kernel once for a profiler: n = 4096 on 32 heads (softcuda: 2 heads, n = 200)
"""

import sys
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _flash import Forward, Mma, Naive, Shape, Tiled, fresh

try:
    import torch
except ImportError:
    torch = None

PLAIN = {"SWIZZLE": 0}  # rows of a tile as they come
EAGER = {"LAZY": 0}  # the maximum is followed in every tile


def spiked(rng: np.random.Generator, shape: Shape, dtype: type) -> list[np.ndarray]:
    """Inputs for which a maximum that follows lazily must follow, and what came before it still counts.

    Two thirds along, one key weighs e^8 times as much as another: at n = 333 all the others have a tenth together.
    With random numbers alone no score ever rises so far. In the second head all scores are below zero.
    """
    q, k, v = (0.25 * x for x in fresh(rng, shape, np.float32))
    q += 8 / np.sqrt(shape.d)  # 8 in one direction; along it a key is as long as makes its score
    level = np.zeros((shape.heads, shape.n, 1))
    level[:, 2 * shape.n // 3] += 8
    level[1:] -= 12
    k += level / (8 * shape.scale * np.sqrt(shape.d))
    return [x.astype(dtype) for x in (q, k, 4 * v)]


def check_all(rng: np.random.Generator) -> None:
    for d in (64, 128):
        for rung in (Naive(d), Tiled(d), Mma(d)):
            worst = 0.0
            for n in (1, 31, 77, 128, 200, 333) if d == 64 else (77, 128, 200):
                for causal in (False, True):
                    shape = Shape(2, n, d, causal)
                    for inputs in (None, spiked(rng, shape, rung.dtype)):
                        run = Forward(rung, shape, rng, inputs)
                        worst = max(worst, run.run())
                        run.free()
            print(f"{rung.name:6} d = {d:3}  n up to {n}, causal and not: within {worst:.0%} of what rounding allows")


def tensors(run: Forward) -> list:
    return [torch.as_tensor(x, device="cuda").unsqueeze(0) for x in (run.q, run.k, run.v)]


def torch_fused(run: Forward) -> Callable[[int], object]:
    q, k, v = tensors(run)
    attention = torch.nn.functional.scaled_dot_product_attention
    return lambda i: attention(q, k, v, is_causal=run.shape.causal)


def torch_flash2(run: Forward) -> Callable[[int], object]:
    """The kernels of FlashAttention-2 that torch has besides cuDNN's: mma.sync, as ours."""
    launch = torch_fused(run)

    def with_them(i: int) -> object:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
            return launch(i)

    return with_them


def torch_unfused(run: Forward) -> Callable[[int], object]:
    """As naive.cu: two products by cuBLAS (fp32, no TF32, which is torch's default) and a softmax.

    The scale goes to the queries: scaling the scores would be one more pass over all of them, which naive.cu has not.
    """
    q, k, v = tensors(run)
    return lambda i: torch.softmax((q * run.shape.scale) @ k.transpose(-1, -2), -1) @ v


def note(name: str, t: wb.Timing, shape: Shape) -> None:
    wb.timing(name, t, flop=shape.flop)
    print(f"{name:24}{t.median * 1e3:9.3f} ms{shape.flop / t.median / 1e12:9.1f} TFLOP/s")


def time_one(
    name: str,
    rung: object,
    shape: Shape,
    rng: np.random.Generator,
    others: dict | None = None,
    inputs: list[np.ndarray] | None = None,
) -> None:
    """Time a rung as `name`, and on the same inputs what `others` make."""
    run = Forward(rung, shape, rng, inputs)
    note(name, wb.time(run.launch, repeats=20, poison=run.poison, check=run.check), shape)
    for other, make in (others or {}).items():
        if torch is not None:
            launch = make(run)
            got, want = launch(0)[0, :1].cpu().numpy(), run.out.get()[:1]  # a head says whether both do the same
            wb.check(got.astype(np.float64), want.astype(np.float64), 8e-3, f"{other} against {name}")
            note(other, wb.time(launch, repeats=20), shape)
    run.free()


def time_fp32(rng: np.random.Generator) -> None:
    shape = Shape(16, 4096, 64)
    time_one("naive", Naive(64), shape, rng, {"torch.unfused": torch_unfused})
    time_one("tiled", Tiled(64), shape, rng, {"torch.fp32": torch_fused})
    for rung in (Naive(64), Tiled(64)):
        wb.value(f"{rung.name}.workspace", rung.workspace(shape), "B")


def time_fp16(rng: np.random.Generator) -> None:
    for d in (64, 128):
        inputs = fresh(rng, Shape(64, 4096, d), np.float16)
        for causal in (False, True):
            tag = f"d{d}" + ".causal" * causal
            others = {f"torch.{tag}": torch_fused, f"flash2.{tag}": torch_flash2}
            time_one(f"mma.{tag}", Mma(d), Shape(64, 4096, d, causal), rng, others, inputs)
        if d == 64:
            time_one("mma.plain", Mma(d, "mma_plain", **PLAIN), Shape(64, 4096, d), rng, inputs=inputs)
            time_one("mma.eager", Mma(d, "mma_eager", **EAGER), Shape(64, 4096, d), rng, inputs=inputs)


def sweep(rng: np.random.Generator) -> None:
    """Rates over n, with 2^18 query rows in all."""
    sizes = [2**e for e in range(9, 15)]
    for d in (64, 128):
        rates: dict[str, list[float]] = {}
        inputs = fresh(rng, Shape(1, 2**18, d), np.float16)
        for n in sizes:
            run = Forward(Mma(d), Shape(2**18 // n, n, d), rng, inputs)
            launches = {"mma": run.launch} | ({"torch": torch_fused(run)} if torch is not None else {})
            for who, launch in launches.items():
                t = wb.time(launch, repeats=10)
                rates.setdefault(who, []).append(run.shape.flop / t.median)
            run.check()
            run.free()
        for who, of in rates.items():
            wb.series(f"{who}.d{d}.sweep", sizes, of, x_unit="count", unit="flop/s")


def profile(rng: np.random.Generator) -> None:
    n = 4096 if wb.is_gpu() else 200
    for rung, d in (
        (Naive(64), 64), (Tiled(64), 64), (Mma(64), 64), (Mma(128), 128), (Mma(64, "mma_plain", **PLAIN), 64),
    ):  # fmt: skip
        run = Forward(rung, Shape(32 if wb.is_gpu() else 2, n, d), rng)  # enough blocks for every SM
        print(f"{rung.name}, {run.shape}: within {run.run():.0%} of what rounding allows")
        run.free()


if __name__ == "__main__":
    wb.needs("8.0")
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator)
    else:
        print(f"device: {wb.device()['name']}, {cuda.Context.get_device().multiprocessor_count} multiprocessors")
        check_all(generator)
        if wb.is_gpu():
            time_fp32(generator)
            time_fp16(generator)
            sweep(generator)
        else:
            print("no GPU: nothing is timed")
