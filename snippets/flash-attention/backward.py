"""The gradients of attention without a score in memory: against float64, against differences, and beside torch's.

In fp32, by tiles; and in fp16, on tensor cores.

python backward.py             check; on a GPU also time 16 heads (fp32) and 64 (fp16), n = 4096
python backward.py --profile   launch each kernel once for a profiler: n = 4096 on 2 heads (softcuda: n = 200)
"""

import sys
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _flash import Array, Kernel, Mma, Shape, Tiled, fresh, module, sample

try:
    import torch
except ImportError:
    torch = None


# --8<-- [start:reference]
def weights(q: np.ndarray, k: np.ndarray, shape: Shape) -> np.ndarray:
    scores = q @ k.T * shape.scale
    if shape.causal:
        scores[np.triu(np.ones((shape.n, shape.n), bool), 1)] = -np.inf
    p = np.exp(scores - scores.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def gradients(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, dout: np.ndarray, shape: Shape, half: bool, rows: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows `rows` of dQ, dK and dV of one head, in float64; with each, how far a computed number may be from it.

    In fp32 that is 1e-4. `half`: each weight, O, each dS, each result is off by half a unit in the last place, 2^-11.
    """
    q, k, v, dout = (x.astype(np.float64) for x in (q, k, v, dout))
    p = weights(q, k, shape)
    delta = (dout * (p @ v)).sum(1, keepdims=True)
    off_delta = 2 * (np.abs(dout) * (p @ np.abs(v))).sum(1, keepdims=True)  # O: by its weights' and its own rounding

    def dscores(p: np.ndarray, dp: np.ndarray, at: object) -> tuple[np.ndarray, np.ndarray]:
        ds = p * (dp - delta[at])
        fp32 = 2.0**-16 * p * (np.abs(dp) + np.abs(delta[at]))  # scores, log-sums and powers
        return ds, 2.0**-11 * (p * off_delta[at] + np.abs(ds)) + 2.0**-24 + fp32

    ds, off = dscores(p[rows], dout[rows] @ v.T, rows)
    results = [(ds @ k * shape.scale, off @ np.abs(k) * shape.scale)]
    ds, off = dscores(p[:, rows], dout @ v[rows].T, slice(None))
    results.append((ds.T @ q * shape.scale, off.T @ np.abs(q) * shape.scale))
    off = (2.0**-11 + 2.0**-16) * p[:, rows].T @ np.abs(dout) + 2.0**-25 * np.abs(dout).sum(0)
    results.append((p[:, rows].T @ dout, off))
    return [(x, off + 2.0**-11 * np.abs(x) if half else np.full_like(x, 1e-4)) for x, off in results]


def check_reference(rng: np.random.Generator, step: float = 2.0**-16) -> float:
    """Hold the formulas to central differences of dO · attention(q, k, v): nothing here knows them."""
    worst = 0.0
    for causal in (False, True):
        shape = Shape(1, 7, 4, causal)
        *inputs, dout = (rng.standard_normal((7, 4)) for _ in range(4))
        known = gradients(*inputs, dout, shape, False, np.arange(7))
        for x, (gradient, _) in zip(inputs, known, strict=True):
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

    def __init__(
        self, shape: Shape, half: bool, rng: np.random.Generator, inputs: list[np.ndarray] | None = None
    ) -> None:
        self.shape, self.half = shape, half
        self.rows, self.known = sample(rng, shape.n, 512 if shape.n <= 512 else 48), {}
        self.heads = range(shape.heads) if shape.n <= 512 else [int(rng.integers(shape.heads))]
        d, full, dtype = shape.d, (shape.heads, shape.n, shape.d), np.float16 if half else np.float32
        self.inputs = inputs or fresh(rng, shape, dtype, 4)
        self.q, self.k, self.v, self.dout = (Array(full, dtype, x) for x in self.inputs)
        self.out, self.dq, self.dk, self.dv = (Array(full, dtype) for _ in range(4))
        self.lse, self.delta = (Array(full[:2], np.float32) for _ in range(2))
        if half:
            step = 64 if d == 64 else 32  # as in backward_mma.cu
            code = module("fragments.cu", "backward_mma.cu", HEAD=d)
            name, shared = "backward_mma", [2 * (2 * step * 2 * d + 2 * step * 4)] * 2
        else:
            code = module("tile.cu", "backward.cu", HEAD=d)
            floats = 2 * 64 * (d + 16) + 2 * 64 * (d + 4) + 64 * (64 + 16)  # as in backward.cu
            name, shared = "backward", [4 * floats, 4 * (floats + 2 * 64)]
        self.to_delta = Kernel(code, f"{name}_delta", (256, 1, 1))
        self.to_dq = Kernel(code, f"{name}_dq", (128, 1, 1), shared[0])
        self.to_dkv = Kernel(code, f"{name}_dkv", (128, 1, 1), shared[1])
        (Mma if half else Tiled)(d)(self.q, self.k, self.v, self.out, self.lse, shape)

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

    def check(self, _: int = 0) -> float:
        """All of a small shape, some rows of a head of a large one. Returns the worst error as a share of its bound."""
        got, worst = [x.get() for x in (self.dq, self.dk, self.dv)], 0.0
        for head in self.heads:
            if head not in self.known:
                self.known[head] = gradients(*(x[head] for x in self.inputs), self.shape, self.half, self.rows)
            for name, have, (want, bound) in zip(("dQ", "dK", "dV"), got, self.known[head], strict=True):
                rows = have[head, self.rows].astype(np.float64)
                worst = max(worst, wb.check(rows, want, bound, f"{name}, {self.shape}"))
        for name, have in zip(("dQ", "dK", "dV"), got, strict=True):
            if not np.isfinite(have).all():
                raise AssertionError(f"{name}, {self.shape}: not all of it is finite")
        return worst

    def run(self) -> float:
        self.poison()
        self.launch()
        return self.check()

    def free(self) -> None:
        for array in (self.q, self.k, self.v, self.dout, self.out, self.dq, self.dk, self.dv, self.lse, self.delta):
            array.free()


def check_all(rng: np.random.Generator) -> None:
    print(f"the reference is within {check_reference(rng):.1e} of central differences this time, causal and not")
    for half in (False, True):
        for d in (64, 128):
            worst = 0.0
            for n in (1, 77, 200) if d == 64 else (77,):
                for causal in (False, True):
                    run = Backward(Shape(2, n, d, causal), half, rng)
                    worst = max(worst, run.run())
                    run.free()
            bound = "what rounding allows" if half else "1e-4"
            print(
                f"{'fp16' if half else 'fp32'} d = {d:3}  n up to {n:3}, causal and not: within {worst:.0%} of {bound}"
            )


def torch_gradients(run: Backward, kind: object) -> Callable[[int], object]:
    q, k, v, dout = (torch.from_numpy(x)[None].to("cuda", kind) for x in run.inputs)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    out = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=run.shape.causal)
    return lambda i: torch.autograd.grad(out, leaves, dout, retain_graph=True)


def time_all(rng: np.random.Generator) -> None:
    """Rates count five products, as is usual; ours make seven."""
    for half, heads, d in ((False, 16, 64), (True, 64, 64), (True, 64, 128)):
        inputs = fresh(rng, Shape(heads, 4096, d), np.float16 if half else np.float32, 4)
        for causal in (False, True) if half else (False,):
            shape = Shape(heads, 4096, d, causal)
            flop = shape.flop * 5 // 2
            tag = f"fp16.d{d}{'.causal' * causal}" if half else "fp32"
            run = Backward(shape, half, rng, inputs)
            ways = {"backward": wb.time(run.launch, repeats=10, poison=run.poison, check=run.check)}
            if torch is not None:
                launch = torch_gradients(run, torch.float16 if half else torch.float32)
                for ours, theirs in zip((run.dq, run.dk, run.dv), launch(0), strict=True):
                    first = theirs[0, 0].float().cpu().numpy()  # a head says whether both do the same
                    wb.check(first, ours.get()[0], 2e-2 if half else 1e-3, "torch's gradient")
                ways["backward.torch"] = wb.time(launch, repeats=10)
            for who, t in ways.items():
                wb.timing(f"{who}.{tag}", t, flop=flop)
                print(f"{who:15}{tag:16}{t.median * 1e3:9.3f} ms{flop / t.median / 1e12:8.1f} TFLOP/s")
            run.free()


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        for in_half in (False, True):
            run = Backward(Shape(2, 4096 if wb.is_gpu() else 200, 64), in_half, generator)
            print(f"{'fp16' if in_half else 'fp32'}, {run.shape}: within {run.run():.0%} of what is allowed")
            run.free()
    else:
        print(f"device: {wb.device()['name']}, {cuda.Context.get_device().multiprocessor_count} multiprocessors")
        check_all(generator)
        if wb.is_gpu():
            time_all(generator)
        else:
            print("no GPU: nothing is timed")
