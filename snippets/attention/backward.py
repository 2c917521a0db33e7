"""The gradients of attention without a score in memory: against float64, against differences, and beside torch's.

python backward.py             check; on a GPU also time 16 heads, n = 4096
python backward.py --profile   launch each kernel once for a profiler: n = 4096 on 2 heads (softcuda: n = 200)
"""

import sys

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _flash import Array, Kernel, Shape, Tiled, fresh, sample

try:
    import torch
except ImportError:
    torch = None


# --8<-- [start:reference]
def weights(q: np.ndarray, k: np.ndarray, shape: Shape) -> np.ndarray:
    scores = q @ k.swapaxes(-1, -2) * shape.scale
    if shape.causal:
        scores[..., np.triu(np.ones((shape.n, shape.n), bool), 1)] = -np.inf
    p = np.exp(scores - scores.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def gradients(q: np.ndarray, k: np.ndarray, v: np.ndarray, dout: np.ndarray, shape: Shape) -> list[np.ndarray]:
    """dQ, dK and dV in float64, with all scores in memory."""
    q, k, v, dout = (x.astype(np.float64) for x in (q, k, v, dout))
    p = weights(q, k, shape)
    dp = dout @ v.swapaxes(-1, -2)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * shape.scale  # the row's sum is dO · O as well
    return [ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ dout]


def check_reference(rng: np.random.Generator, step: float = 2.0**-16) -> float:
    """Hold the formulas to central differences of dO · attention(q, k, v): nothing here knows them."""
    worst = 0.0
    for causal in (False, True):
        shape = Shape(1, 7, 4, causal)
        inputs = [rng.standard_normal((1, 7, 4)) for _ in range(3)]
        dout = rng.standard_normal((1, 7, 4))
        for x, gradient in zip(inputs, gradients(*inputs, dout, shape), strict=True):
            for at in np.ndindex(x.shape):
                before, sides = x[at], []
                for moved in (before + step, before - step):
                    x[at] = moved
                    sides.append(float((dout * (weights(inputs[0], inputs[1], shape) @ inputs[2])).sum()))
                x[at] = before
                worst = max(worst, abs((sides[0] - sides[1]) / (2 * step) - gradient[at]))
    if not worst <= 1e-6:
        raise AssertionError(f"the reference is off by {worst:.3g} from differences")
    return worst


# --8<-- [end:reference]


class Backward:
    """Inputs, the forward pass's output and log-sums, and the gradients, on the device."""

    def __init__(self, shape: Shape, rng: np.random.Generator) -> None:
        self.shape, self.rng = shape, rng
        d, full = shape.d, (shape.heads, shape.n, shape.d)
        self.inputs = fresh(rng, shape, np.float32, 4)
        self.q, self.k, self.v, self.dout = (Array(full, np.float32, x) for x in self.inputs)
        self.out, self.dq, self.dk, self.dv = (Array(full, np.float32) for _ in range(4))
        self.lse, self.delta = (Array(full[:2], np.float32) for _ in range(2))
        floats = 2 * 64 * (d + 16) + 2 * 64 * (d + 4) + 64 * (64 + 16)  # as in backward.cu
        module = wb.module("attention/tile.cu", append=wb.source("attention/backward.cu"), HEAD=d)
        self.to_delta = Kernel(module, "backward_delta", (256, 1, 1))
        self.to_dq = Kernel(module, "backward_dq", (128, 1, 1), 4 * floats)
        self.to_dkv = Kernel(module, "backward_dkv", (128, 1, 1), 4 * (floats + 2 * 64))
        Tiled(d)(self.q, self.k, self.v, self.out, self.lse, shape)

    # --8<-- [start:launch]
    def launch(self, _: int = 0) -> None:
        shape, rows = self.shape, self.shape.heads * self.shape.n
        known = self.q, self.k, self.v, self.dout, self.lse, self.delta
        sizes = np.int32(shape.n), np.float32(shape.scale), np.int32(shape.causal)
        grid = -(-shape.n // 64), shape.heads
        self.to_delta((-(-rows // 8), 1), self.out, self.dout, self.delta, np.int32(rows))
        self.to_dq(grid, *known, self.dq, *sizes)
        self.to_dkv(grid, *known, self.dk, self.dv, *sizes)

    # --8<-- [end:launch]

    def poison(self, _: int = 0) -> None:
        for array in (self.delta, self.dq, self.dk, self.dv):
            array.poison()

    def check(self, _: int = 0) -> None:
        """All heads of a small shape; one of a large one."""
        got = [x.get() for x in (self.dq, self.dk, self.dv)]
        for head in range(self.shape.heads) if self.shape.n <= 512 else sample(self.rng, self.shape.heads, 1)[:1]:
            want = gradients(*(x[head] for x in self.inputs), self.shape)
            for name, have, reference in zip(("dQ", "dK", "dV"), got, want, strict=True):
                # dV of an early key sums n weights that may all be near 1
                wb.check(have[head].astype(np.float64), reference, 1e-4, f"{name}, {self.shape}")
        for name, have in zip(("dQ", "dK", "dV"), got, strict=True):
            if not np.isfinite(have).all():
                raise AssertionError(f"{name}, {self.shape}: not all of it is finite")

    def run(self) -> None:
        self.poison()
        self.launch()
        self.check()

    def free(self) -> None:
        for array in (self.q, self.k, self.v, self.dout, self.out, self.dq, self.dk, self.dv, self.lse, self.delta):
            array.free()


def check_all(rng: np.random.Generator) -> None:
    print(f"the reference is within {check_reference(rng):.1e} of central differences, causal and not")
    for d in (64, 128):
        for n in (1, 77, 200):
            for causal in (False, True):
                run = Backward(Shape(2, n, d, causal), rng)
                run.run()
                run.free()
        print(f"d = {d:3}  n = 1, 77, 200, causal and not: dQ, dK and dV within 1e-4")


def time_all(rng: np.random.Generator) -> None:
    """Ours in fp32; torch's in fp32 and, as a model would have it, in fp16. Rates count five products, as is usual."""
    for causal in (False, True):
        tag = ".causal" * causal
        shape = Shape(16, 4096, 64, causal)
        flop = shape.flop * 5 // 2
        run = Backward(shape, rng)
        wb.timing(f"backward{tag}", t := wb.time(run.launch, repeats=10, poison=run.poison, check=run.check), flop=flop)
        print(f"backward{tag:8} {t.median * 1e3:8.3f} ms {flop / t.median / 1e12:7.1f} Tflop/s")
        if torch is not None:
            for name, kind in (("fp32", torch.float32), ("fp16", torch.float16)):
                q, k, v, dout = (torch.from_numpy(x)[None].to("cuda", kind) for x in run.inputs)
                leaves = [x.requires_grad_() for x in (q, k, v)]
                out = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal)

                def launch(i: int, out: object = out, leaves: list = leaves, dout: object = dout) -> object:
                    return torch.autograd.grad(out, leaves, dout, retain_graph=True)

                got = [x[0].float().cpu().numpy() for x in launch(0)]
                for ours, theirs in zip((run.dq, run.dk, run.dv), got, strict=True):
                    wb.check(theirs, ours.get(), 1e-3 if name == "fp32" else 2e-2, f"torch's gradient in {name}")
                wb.timing(f"torch.{name}{tag}", t := wb.time(launch, repeats=10), flop=flop)
                print(f"torch {name}{tag:8} {t.median * 1e3:6.3f} ms {flop / t.median / 1e12:7.1f} Tflop/s")
        run.free()


def claims() -> None:
    if wb.is_gpu() and torch is None:
        return
    wb.claim(
        "backward_of_torch",
        en="the backward pass in fp32 is at least 0.5 times as fast as torch's in fp32",
        zh="fp32 反向的速度至少是 torch fp32 反向的 0.5 倍",
        ratio=("torch.fp32.time", "backward.time"),
        at_least=0.5,
        predicted=1.0,
        source="both multiply-add in fp32; ours seven products where five would do",
        source_zh="两者都用 fp32 乘加；我们做七次乘积，五次就够",
    )


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        run = Backward(Shape(2, 4096 if wb.is_gpu() else 200, 64), generator)
        run.run()
        print(f"{run.shape}: dQ, dK and dV within 1e-4")
    else:
        print(f"device: {wb.device()['name']}, {cuda.Context.get_device().multiprocessor_count} multiprocessors")
        check_all(generator)
        if wb.is_gpu():
            time_all(generator)
        else:
            print("no GPU: nothing is timed")
        claims()
