"""AdamW in one kernel, operation by operation, and with a clipped global norm: each beside float64, then timed.

python adamw.py             check; on a GPU also time 2^26 parameters, beside PyTorch if it is there
python adamw.py --profile   launch each kernel once for a profiler
"""

import sys
from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb

try:
    import torch
except ImportError:
    torch = None

LR, B1, B2, EPS, DECAY, MOST = 1e-3, 0.9, 0.999, 1e-8, 0.1, 1.0
PARTS = 512
SIZES = [1, 3, 4, 31, 1000, 4097, 12345]

# --8<-- [start:operations]
# (kernel, out, inputs …, number) by names of arrays; t and u are temporary. Every line is a launch.
ELEMENTARY = [
    ("scaled", "m", "m", "b1"), ("scaled", "t", "g", "n1"), ("added", "m", "m", "t", ""),
    ("scaled", "v", "v", "b2"), ("multiplied", "t", "g", "g", ""), ("scaled", "t", "t", "n2"),
    ("added", "v", "v", "t", ""),
    ("scaled", "t", "v", "1/c2"), ("rooted", "t", "t", ""), ("shifted", "t", "t", "eps"),
    ("scaled", "u", "m", "1/c1"), ("divided", "u", "u", "t", ""), ("scaled", "u", "u", "lr"),
    ("scaled", "p", "p", "keep"), ("subtracted", "p", "p", "u", ""),
]  # fmt: skip
LIKE_TORCH = [
    ("scaled", "p", "p", "keep"), ("lerped", "m", "m", "g", "n1"),
    ("scaled", "v", "v", "b2"), ("addcmul", "v", "v", "g", "g", "n2"),
    ("rooted", "t", "v", ""), ("scaled", "t", "t", "root"), ("shifted", "t", "t", "eps"),
    ("addcdiv", "p", "p", "m", "t", "-rate"),
]  # fmt: skip


def bytes_per_parameter(operations: list[tuple[str, ...]]) -> int:
    """What these launches read and write, if an array that is named twice in a launch is read once."""
    return sum(4 * (1 + len(set(inputs))) for _, _, *inputs, _ in operations)


# --8<-- [end:operations]

FUSED, CLIPPED, TWICE = 28, 32, 40  # bytes per parameter: the fused step; with a norm folded in; with a kernel to scale


def numbers(t: int) -> dict[str, float]:
    """The step's constants in double precision."""
    c1, c2 = 1 - B1**t, 1 - B2**t
    return {
        "b1": B1, "n1": 1 - B1, "b2": B2, "n2": 1 - B2, "eps": EPS, "lr": LR, "keep": 1 - LR * DECAY,
        "rate": LR / c1, "-rate": -LR / c1, "root": c2**-0.5, "1/c1": 1 / c1, "1/c2": 1 / c2, "": 0.0,
    }  # fmt: skip


# --8<-- [start:reference]
def reference(p: np.ndarray, g: np.ndarray, m: np.ndarray, v: np.ndarray, t: int, times: float = 1.0) -> tuple:
    """One step in float64, as the papers write it."""
    p, g, m, v = (x.astype(np.float64) for x in (p, g, m, v))
    g = times * g
    m = B1 * m + (1 - B1) * g
    v = B2 * v + (1 - B2) * g**2
    step = m / (1 - B1**t) / (np.sqrt(v / (1 - B2**t)) + EPS)
    return p - LR * (step + DECAY * p), m, v


# --8<-- [end:reference]


class State:
    """Parameters, gradients and moments of one optimiser on the device."""

    def __init__(self, rng: np.random.Generator, n: int, size: float = 1.0) -> None:
        self.n, self.module = n, wb.module("training-tricks/adamw.cu", PARTS=PARTS)
        self.host = {
            "p": rng.standard_normal(n, np.float32),
            "g": np.float32(size) * rng.standard_normal(n, np.float32),
            "m": np.float32(0.3 * size) * rng.standard_normal(n, np.float32),
            "v": np.float32(size * size) * rng.uniform(0.2, 2, n).astype(np.float32),
        }
        self.device = {name: cuda.to_device(x) for name, x in self.host.items()}
        for name, count in (("t", n), ("u", n), ("part", PARTS)):
            self.device[name] = cuda.to_device(np.full(count, np.nan, np.float32))

    def restore(self, _: int = 0) -> None:
        for name, x in self.host.items():
            cuda.memcpy_htod(self.device[name], x)
        cuda.memset_d32(self.device["part"], 0x7FC00000, PARTS)

    def kernel(self, name: str, *arguments: object, blocks: int = 0) -> None:
        grid = (blocks or -(-self.n // 1024), 1)
        self.module.get_function(name)(*arguments, np.int64(self.n), block=(256, 1, 1), grid=grid)

    def arrays(self, *names: str) -> list:
        return [self.device[name] for name in names]

    def step(self, t: int) -> np.ndarray:
        c = numbers(t)
        names = ("keep", "b1", "n1", "b2", "n2", "rate", "root", "eps")
        return np.array([c[name] for name in names], np.float32)

    def fused(self, t: int) -> None:
        self.kernel("adamw", *self.arrays(*"pgmv"), self.step(t))

    def norm(self) -> None:
        self.kernel("squares", *self.arrays("g", "part"), blocks=PARTS)

    def clipped(self, t: int) -> None:
        self.norm()
        self.kernel("adamw_clipped", *self.arrays(*"pgmv"), self.step(t), self.device["part"], np.float32(MOST))

    def twice(self, t: int) -> None:
        self.norm()
        self.kernel("clip", *self.arrays("g", "part"), np.float32(MOST))
        self.fused(t)

    def by_operations(self, operations: list[tuple[str, ...]], t: int) -> None:
        c = numbers(t)
        for name, out, *inputs, number in operations:
            found = self.arrays(*inputs) + [np.uint64(0)] * (3 - len(inputs))
            self.kernel(name, self.device[out], *found, np.float32(c[number]))

    def check(self, what: str, t: int, clipped: bool = False) -> None:
        """Every 2^k-th parameter and the last ones, so that a check of 2^26 takes a second."""
        at = np.unique(np.r_[0 : self.n : max(1, self.n // 65536), max(0, self.n - 5) : self.n])
        p, g, m, v = (self.host[name][at] for name in "pgmv")
        norm = np.sqrt((self.host["g"].astype(np.float64) ** 2).sum()) if clipped else 0.0
        times = min(1.0, MOST / (norm + 1e-6)) if clipped else 1.0
        want = dict(zip("pmv", reference(p, g, m, v, t, times), strict=True))
        largest = {"p": abs(p) + LR * 20, "m": abs(m) + abs(g), "v": v + g.astype(np.float64) ** 2}
        for name, x in want.items():
            got = np.empty(self.n, np.float32)
            cuda.memcpy_dtoh(got, self.device[name])
            wb.check(got[at], x, 1e-6 * largest[name], f"{what}, {name} of {self.n}")


def ways(s: State) -> dict[str, tuple[Callable[[int], None], int, bool]]:
    """How a step is launched, its bytes per parameter, and whether it clips."""
    return {
        "elementary": (lambda t: s.by_operations(ELEMENTARY, t), bytes_per_parameter(ELEMENTARY), False),
        "like_torch": (lambda t: s.by_operations(LIKE_TORCH, t), bytes_per_parameter(LIKE_TORCH), False),
        "fused": (s.fused, FUSED, False),
        "twice": (s.twice, TWICE, True),
        "clipped": (s.clipped, CLIPPED, True),
    }


def check_all(rng: np.random.Generator) -> None:
    for n in SIZES:
        for size in (1.0, 1e-4):  # with the second the norm stays below the limit
            s = State(rng, n, size)
            for name, (launch, _, clips) in ways(s).items():
                for t in (1, 7):
                    s.restore()
                    launch(t)
                    s.check(name, t, clips)
    print(f"five ways to launch a step, {len(SIZES)} sizes, steps 1 and 7: within 1e-6 of float64")
    s = State(rng, 1000)
    s.host["g"][rng.integers(1000)] = np.nan
    s.restore()
    s.norm()
    s.kernel("clip", *s.arrays("g", "part"), np.float32(MOST))
    got = np.empty(1000, np.float32)
    cuda.memcpy_dtoh(got, s.device["g"])
    assert np.isnan(got).all(), "a NaN in one gradient must reach all of them"
    print("a gradient that is no number reaches every parameter, and so is noticed")


def torch_ways(s: State) -> dict[str, Callable[[int], None]]:
    """PyTorch's AdamW on the same numbers: a kernel per operation, many tensors per kernel, and fused."""
    found = {}
    for name, options in (
        ("torch_single", {"foreach": False}), ("torch_foreach", {"foreach": True}), ("torch_fused", {"fused": True})
    ):  # fmt: skip
        p = torch.from_numpy(s.host["p"].copy()).cuda().requires_grad_()
        p.grad = torch.from_numpy(s.host["g"].copy()).cuda()
        optimiser = torch.optim.AdamW([p], lr=LR, betas=(B1, B2), eps=EPS, weight_decay=DECAY, **options)
        optimiser.step()  # makes the moments
        at = slice(0, 4096)
        want = reference(s.host["p"][at], s.host["g"][at], np.zeros(4096), np.zeros(4096), 1)[0]
        wb.check(p.detach()[at].cpu().numpy(), want, 1e-6 * (abs(want) + 20 * LR), name)
        found[name] = lambda i, optimiser=optimiser: optimiser.step()
    return found


def measure(rng: np.random.Generator, n: int) -> None:
    s = State(rng, n)
    times, moved = {}, {}
    for name, (launch, each, clips) in ways(s).items():
        s.restore()
        launch(3)
        s.check(name, 3, clips)
        times[name], moved[name] = wb.time(lambda i, launch=launch: launch(3)), each
    if torch is not None:
        for name, launch in torch_ways(s).items():
            times[name] = wb.time(launch)
            moved[name] = FUSED if name == "torch_fused" else bytes_per_parameter(LIKE_TORCH)
    times["copy"], moved["copy"] = wb.time(lambda i: cuda.memcpy_dtod_async(s.device["t"], s.device["g"], 4 * n)), 8
    print(f"\n{n} parameters\n{'':14}{'µs':>9}{'bytes':>8}{'GB/s':>9}")
    for name, t in times.items():
        wb.timing(name, t, moved[name] * n)
        print(f"{name:14}{t.median * 1e6:9.1f}{moved[name]:8}{moved[name] * n / t.median / 1e9:9.0f}")


def profile(rng: np.random.Generator, n: int) -> None:
    """Each kernel once; the results are checked."""
    s = State(rng, n)
    for name in ("like_torch", "fused", "twice", "clipped"):
        launch, _, clips = ways(s)[name]
        s.restore()
        launch(3)
        s.check(name, 3, clips)
    print(f"{n} parameters: within 1e-6 of float64")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator, 2**24 if wb.is_gpu() else 2**14)
    else:
        print(f"device: {wb.device()['name']}")
        check_all(generator)
        for name, operations in (("elementary", ELEMENTARY), ("like_torch", LIKE_TORCH)):
            wb.value(f"{name}.bytes", bytes_per_parameter(operations), "B")
            print(f"{name}: {len(operations)} launches, {bytes_per_parameter(operations)} bytes per parameter")
        if wb.is_gpu():
            measure(generator, 2**26)
        else:
            print("no GPU: nothing is timed")
