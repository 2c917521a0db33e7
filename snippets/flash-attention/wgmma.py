"""Attention by warpgroups, which only Hopper's GPUs have: checked, and timed beside mma.sync and torch.

python wgmma.py             check, then time 64 heads, n = 4096
python wgmma.py --profile   launch it once for a profiler
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _flash import LOG2E, Array, Forward, Kernel, Mma, Shape, fresh
from flash import note, spiked, time_one, torch_fused
from pycuda import compiler
from tensormaps import tensor_map

# --8<-- [start:settings]
BEST = {  # of wgmma.cu, by head size
    64: {"GROUPS": 3, "KEYS": 64, "STAGES": 2, "TURNS": 0, "MAX3": 1},
    128: {"GROUPS": 2, "KEYS": 128, "STAGES": 2, "TURNS": 1, "MAX3": 0},
}
# --8<-- [end:settings]


class Wgmma:
    name, dtype = "wgmma", np.float16

    def __init__(self, d: int) -> None:
        use = BEST[d]
        text = wb.source("flash-attention/wgmma.cu", HEAD=d, **use)
        image = compiler.compile(text, options=["-lineinfo"], arch="sm_90a", no_extern_c=True)
        self.keys, self.rows = use["KEYS"], 64 * use["GROUPS"]
        shared = 2 * d * (self.rows + 2 * use["KEYS"] * use["STAGES"])
        module = cuda.module_from_buffer(image)
        self.maps, _ = module.get_global("maps")
        self.mapped: tuple[Array, ...] = ()
        self.kernel = Kernel(module, "attention_wgmma", (128 * (use["GROUPS"] + 1), 1, 1), shared)

    def workspace(self, shape: Shape) -> int:
        return 4 * shape.heads * shape.n

    def __call__(self, q: Array, k: Array, v: Array, out: Array, lse: Array, shape: Shape) -> None:
        if self.mapped != (q, k, v):
            parts, whole = ((q, self.rows), (k, self.keys), (v, self.keys)), (shape.d, shape.n, shape.heads)
            maps = [tensor_map(array.gpudata, whole, (64, rows, 1)) for array, rows in parts]
            cuda.memcpy_htod(self.maps, np.concatenate(maps))
            self.mapped = q, k, v
        sizes = np.int32(shape.n), np.float32(shape.scale * LOG2E), np.int32(shape.causal)
        self.kernel((-(-shape.n // self.rows), shape.heads), out, lse, *sizes)


def check_all(rng: np.random.Generator) -> None:
    for d in (64, 128):
        rung, worst = Wgmma(d), 0.0
        for n in (1, 31, 77, 128, 200, 333, 1000):
            for causal in (False, True):
                shape = Shape(2, n, d, causal)
                for inputs in (None, spiked(rng, shape, rung.dtype)):
                    run = Forward(rung, shape, rng, inputs)
                    worst = max(worst, run.run())
                    run.free()
        print(f"wgmma  d = {d:3}  n = 1 … 1000, causal and not: within {worst:.0%} of what rounding allows")


def time_all(rng: np.random.Generator) -> None:
    for d in (64, 128):
        inputs = fresh(rng, Shape(64, 4096, d), np.float16)
        for causal in (False, True):
            tag, shape = f"d{d}" + ".causal" * causal, Shape(64, 4096, d, causal)
            time_one(f"wgmma.{tag}", Wgmma(d), shape, rng, {f"wgmma.torch.{tag}": torch_fused}, inputs)
            if not causal:
                run = Forward(Mma(d), shape, rng, inputs)
                note(f"wgmma.mma.{tag}", wb.time(run.launch, repeats=20, poison=run.poison, check=run.check), shape)
                run.free()


if __name__ == "__main__":
    if cuda.Context.get_device().compute_capability() != (9, 0):
        name = cuda.Context.get_device().name()
        print(f"skipped: needs a device with wgmma (compute capability 9.0), and {name} has none")
        raise SystemExit(wb.SKIPPED)
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        run = Forward(Wgmma(64), Shape(2, 4096 if wb.is_gpu() else 200, 64), generator)
        print(f"wgmma, {run.shape}: within {run.run():.0%} of what rounding allows")
    else:
        check_all(generator)
        if wb.is_gpu():
            time_all(generator)
