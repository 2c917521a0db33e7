"""LayerNorm, RMSNorm, GELU, a classifier and AdamW in one pass each: held against float64, then timed beside a copy.

python fused.py             check; on a GPU also time rows of 1024 to 8192 and 2^26 parameters, in turn with PyTorch
python fused.py --profile   launch the kernels once for a profiler, on rows of 4096
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import _reference as ref
import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _fused import (
    BETA1,
    BETA2,
    DECAY,
    RATE,
    TINY,
    adamw,
    classify,
    norm,
    norm_backward,
    over_packs,
    partial_lines,
)

NORMS = ("layernorm", "rmsnorm")
U = 2.0**-24  # the largest relative error of one rounding
COPY = "copy"
SWEPT = ("layernorm_forward", "rmsnorm_forward", "layernorm_backward", "rmsnorm_backward", "classifier")


# --- Checks ----------------------------------------------------------------------------------------------------------


def spoiled(*shape: int) -> np.ndarray:
    return np.full(shape, np.nan, np.float32)


def rows_of(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
    """Means up to ten deviations away from 0, deviations from 0.1 to 10."""
    deviation = 10 ** rng.uniform(-1, 1, (rows, 1))
    return ((rng.standard_normal((rows, n)) + rng.uniform(-10, 10, (rows, 1))) * deviation).astype(np.float32)


def run_norm(kind: str, x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, ...]:
    """y, mean (of RMSNorm: nothing) and scale, by the kernel."""
    rows, n = x.shape
    y, mean, scale = spoiled(rows, n), spoiled(rows), spoiled(rows)
    norm(kind, cuda.In(x), cuda.In(gamma), cuda.In(beta), cuda.InOut(y), cuda.InOut(mean), cuda.InOut(scale), rows, n)
    return y, mean, scale


def run_norm_backward(kind: str, dy: np.ndarray, x: np.ndarray, gamma: np.ndarray, mean: np.ndarray,
                      scale: np.ndarray, blocks: int = 0) -> tuple[np.ndarray, ...]:  # fmt: skip
    """dx, and dgamma with dbeta as two rows. With fewer blocks than rows, a block takes several."""
    rows, n = x.shape
    dx, sums = spoiled(rows, n), spoiled(2 if kind == "layernorm" else 1, n)
    partial = cuda.to_device(spoiled(2 * max(8 * blocks, partial_lines(rows, n)) * n))
    read = map(cuda.In, (dy, x, gamma, mean, scale))
    norm_backward(kind, *read, cuda.InOut(dx), partial, cuda.InOut(sums), rows, n, blocks)
    return dx, sums


# --8<-- [start:bounds]
def norm_bounds(kind: str, dy: np.ndarray, x: np.ndarray, gamma: np.ndarray) -> tuple[np.ndarray, ...]:
    """What roundings may do to y, dx, dgamma and dbeta: some units of the terms that are added up.

    A difference x - mean is off by a unit of the mean; the sums of a row, which no thread adds alone, by a few.
    """
    x, dy = x.astype(np.float64), dy.astype(np.float64)
    mean = np.abs(x.mean(1, keepdims=True)) if kind == "layernorm" else 0
    scale = 1 / np.sqrt(
        (x.var(1, keepdims=True) if kind == "layernorm" else (x * x).mean(1, keepdims=True)) + ref.EPSILON
    )
    normal = (np.abs(x) + mean) * scale
    g = np.abs(dy * gamma)
    dx = scale * (g + g.mean(1, keepdims=True) + normal * (g * normal).mean(1, keepdims=True))
    return (
        8 * U * (normal * np.abs(gamma) + 1),
        16 * U * dx,
        16 * U * (np.abs(dy) * normal).sum(0),
        16 * U * np.abs(dy).sum(0),
    )


# --8<-- [end:bounds]


def check_norm(rng: np.random.Generator, kind: str, rows: int, n: int) -> float:
    x, dy = rows_of(rng, rows, n), rng.standard_normal((rows, n)).astype(np.float32)
    gamma, beta = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
    y, mean, scale = run_norm(kind, x, gamma, beta)
    of_y, of_dx, of_dgamma, of_dbeta = norm_bounds(kind, dy, x, gamma)
    centred = kind == "layernorm"
    want = ref.layernorm(x, gamma, beta) if centred else ref.rmsnorm(x, gamma)
    worst = [wb.check(y, want, of_y, f"{kind}, rows of {n}")]
    expected = (ref.layernorm_backward if centred else ref.rmsnorm_backward)(dy, x, gamma)
    for blocks in (0, 1, 4):  # 4: some blocks take an odd number of rows, some an even one
        dx, sums = run_norm_backward(kind, dy, x, gamma, mean, scale, blocks)
        named = zip(("dx", "dgamma", "dbeta"), (dx, *sums), expected, (of_dx, of_dgamma, of_dbeta), strict=False)
        worst += [wb.check(got, right, bound, f"{what} of {kind}, rows of {n}") for what, got, right, bound in named]
    return max(worst)


# --8<-- [start:differences]
def check_differences(rng: np.random.Generator, rows: int = 3, n: int = 12) -> None:
    """Every gradient, by formula and by kernel, against slopes of the forward pass in float64."""
    x, dy = rows_of(rng, rows, n) / 4, rng.standard_normal((rows, n)).astype(np.float32)
    gamma, beta = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
    for kind in NORMS:
        layer = ref.layernorm if kind == "layernorm" else lambda x, gamma, beta: ref.rmsnorm(x, gamma)
        _, mean, scale = run_norm(kind, x, gamma, beta)
        dx, sums = run_norm_backward(kind, dy, x, gamma, mean, scale)
        formula = (ref.layernorm_backward if kind == "layernorm" else ref.rmsnorm_backward)(dy, x, gamma)
        found = [
            ref.slopes(lambda x, layer=layer: float((dy * layer(x, gamma, beta)).sum()), x),
            ref.slopes(lambda gamma, layer=layer: float((dy * layer(x, gamma, beta)).sum()), gamma),
            ref.slopes(lambda beta, layer=layer: float((dy * layer(x, gamma, beta)).sum()), beta),
        ]
        bounds = norm_bounds(kind, dy, x, gamma)[1:]
        for what, slope, right, got, bound in zip(
            ("dx", "dgamma", "dbeta"), found, formula, (dx, *sums), bounds, strict=False
        ):
            wb.check(right, slope, 1e-7 * (1 + np.abs(slope)), f"{what} of {kind}, the formula")
            wb.check(got, slope, bound + 1e-7 * (1 + np.abs(slope)), f"{what} of {kind}, the kernel")
    slope = ref.slopes(lambda x: float((dy * ref.gelu(x)).sum()), x)
    wb.check(ref.gelu_backward(dy, x), slope, 1e-7 * (1 + np.abs(slope)), "gelu, the formula")
    wb.check(run_gelu(x, dy)[1], slope, gelu_bounds(x, dy)[1] + 1e-7 * (1 + np.abs(slope)), "gelu, the kernel")
    label = np.array([n - 1, -1, 0], np.int32)
    for smoothing in (0, 0.1):
        slope = ref.slopes(lambda x, s=smoothing: float(ref.losses(x, label, s).sum() / 2), x)
        formula = ref.losses_backward(x, label, 0.5, smoothing)
        wb.check(formula, slope, 1e-7 * (1 + np.abs(slope)), "classifier, the formula")
        got, _ = run_classifier(x, label, 0.5, smoothing)
        wb.check(got, slope, loss_bounds(x, label, 0.5)[0] + 1e-7, "classifier, the kernel")


# --8<-- [end:differences]


def run_gelu(x: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    y, dx = spoiled(*x.shape), spoiled(*x.shape)
    over_packs("gelu_forward", cuda.In(x), cuda.InOut(y), count=x.size)
    over_packs("gelu_backward", cuda.In(dy), cuda.In(x), cuda.InOut(dx), count=x.size)
    return y, dx


def gelu_bounds(x: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The exponent is off by a few units of itself, which the logistic function damps: at most 0.3 of a unit stays."""
    wide = np.abs(x.astype(np.float64))
    return 16 * U * wide, 16 * U * np.abs(dy) * (1 + wide)


def check_gelu(rng: np.random.Generator, count: int) -> float:
    x, dy = (rng.standard_normal(count) * 4).astype(np.float32), rng.standard_normal(count).astype(np.float32)
    y, dx = run_gelu(x, dy)
    of_y, of_dx = gelu_bounds(x, dy)
    forward = wb.check(y, ref.gelu(x), of_y, "gelu")
    return max(forward, wb.check(dx, ref.gelu_backward(dy, x), of_dx, "gelu backward"))


def run_classifier(
    x: np.ndarray, label: np.ndarray, weight: float, smoothing: float, kind: str = "classifier"
) -> tuple:
    """The gradient, which replaces the logits, and the loss of each row."""
    inout, loss = x.copy(), spoiled(len(x))
    classify(cuda.InOut(inout), cuda.In(label), cuda.InOut(loss), *x.shape, weight, smoothing, kind)
    return inout, loss


def loss_bounds(x: np.ndarray, label: np.ndarray, weight: float) -> tuple[np.ndarray, np.ndarray]:
    """A probability inherits the rounding of x - maximum, and a loss that of the logits themselves."""
    wide = x.astype(np.float64)
    below = wide.max(1, keepdims=True) - wide
    p = np.exp(-below)
    p /= p.sum(1, keepdims=True)
    size = np.abs(wide).max(1)
    terms = p * np.maximum(1, below / 4) + ref.wanted(label, x.shape[1], 0.1) + 1e-6 / x.shape[1]
    return 16 * U * weight * terms, 16 * U * (size + 20)


def check_classifier(rng: np.random.Generator, rows: int, n: int) -> float:
    x = (rng.standard_normal((rows, n)) * 3 + rng.uniform(-1000, 1000, (rows, 1))).astype(np.float32)
    label = rng.integers(0, n, rows).astype(np.int32)
    label[rng.integers(rows)] = -1
    label[-1] = n - 1
    worst, weight = 0.0, 1 / max(1, int((label >= 0).sum()))
    masked = np.where((np.arange(n) % 3 == 1) & (np.arange(n) != label[:, None]), np.float32(-np.inf), x)
    of_dx, of_loss = loss_bounds(np.maximum(masked, x.min(1, keepdims=True) - 100), label, weight)
    for kind in ("classifier", "classifier_online"):
        got, loss = run_classifier(masked, label, weight, 0, kind)
        wb.check(got, ref.losses_backward(masked, label, weight), of_dx, f"gradient by {kind}, some logits -infinity")
        wb.check(loss, ref.losses(masked, label), of_loss, f"loss by {kind}, some logits -infinity")
    for smoothing in (0, 0.1):
        of_dx, of_loss = loss_bounds(x, label, weight)
        for kind in ("classifier", "classifier_online"):
            got, loss = run_classifier(x, label, weight, smoothing, kind)
            right = ref.losses_backward(x, label, weight, smoothing)
            worst = max(
                worst,
                wb.check(got, right, of_dx, f"gradient by {kind}, rows of {n}"),
                wb.check(loss, ref.losses(x, label, smoothing), of_loss, f"loss by {kind}, rows of {n}"),
            )
    return worst


def check_adamw(rng: np.random.Generator, count: int, steps: int = 10) -> float:
    """Every parameter after every step."""
    start = rng.standard_normal(count).astype(np.float32)
    gradients = [
        (rng.standard_normal(count) * 10 ** rng.uniform(-3, 1, count)).astype(np.float32) for _ in range(steps)
    ]
    p, m, v = cuda.to_device(start), *(cuda.to_device(np.zeros(count, np.float32)) for _ in range(2))
    worst = 0.0
    for step in range(1, steps + 1):
        adamw(p, cuda.In(gradients[step - 1]), m, v, count, step)
        got = np.empty_like(start)
        cuda.memcpy_dtoh(got, p)
        want = ref.adamw(start, gradients[:step], RATE, BETA1, BETA2, DECAY, TINY)
        bound = step * U * (3 * (np.abs(start) + step * RATE) + 8 * RATE)
        worst = max(worst, wb.check(got, want, bound, f"adamw after {step} steps"))
    return worst


def check_determinism(rng: np.random.Generator, rows: int, n: int) -> None:
    """dgamma and dbeta twice, to the last bit: no atomic addition decides the order."""
    x, dy = rows_of(rng, rows, n), rng.standard_normal((rows, n)).astype(np.float32)
    gamma = rng.standard_normal(n).astype(np.float32)
    _, mean, scale = run_norm("layernorm", x, gamma, gamma)
    one, two = (run_norm_backward("layernorm", dy, x, gamma, mean, scale)[1] for _ in range(2))
    wb.check(one.view(np.int32), two.copy().view(np.int32), 0, "dgamma and dbeta, bits of two runs")


# --- Times -----------------------------------------------------------------------------------------------------------


class Shared:
    """Device memory in the shape that torch.as_tensor takes, which keeps this object and so the memory."""

    def __init__(self, address: Any, *shape: int, kind: str = "<f4") -> None:
        self.memory = address
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": kind, "data": (int(address), False), "strides": None,
        }  # fmt: skip


@dataclass
class Step:
    """A launch, the bytes that it must move, and a check of what it left, or of what a rival returns."""

    launch: Callable[[], object]
    nbytes: int
    check: Callable[[Any], None]


class Matrix:
    """`count` random numbers on the device as x, and as dy; room for a result; the vectors of a row."""

    def __init__(self, rng: np.random.Generator, count: int) -> None:
        self.rng, self.count = rng, count
        self.x, self.dy = (rng.standard_normal(count, dtype=np.float32) for _ in range(2))
        self.x += 1
        self.at = {name: cuda.to_device(values) for name, values in (("x", self.x), ("dy", self.dy))}
        self.at["out"] = cuda.mem_alloc(4 * count)

    def shape(self, n: int) -> None:
        self.n, self.rows = n, self.count // n
        self.gamma, self.beta = (self.rng.standard_normal(n, dtype=np.float32) for _ in range(2))
        self.label = self.rng.integers(0, n, self.rows).astype(np.int32)
        vectors = {"gamma": self.gamma, "beta": self.beta, "label": self.label}
        self.at |= {name: cuda.to_device(values) for name, values in vectors.items()}
        self.at |= {name: cuda.mem_alloc(4 * self.rows) for name in ("mean", "scale", "rms", "loss")}
        self.at["partial"] = cuda.mem_alloc(8 * partial_lines(self.rows, n) * n)
        self.at["sums"] = cuda.mem_alloc(8 * n)
        self.chosen = np.array([0, self.rows - 1, *self.rng.integers(0, self.rows, 14)])
        self.poison()
        for kind in NORMS:
            self.forward(kind)

    def poison(self) -> None:
        cuda.memset_d32(self.at["out"], 0xFFFFFFFF, self.count)

    def forward(self, kind: str) -> None:
        a = self.at
        scale = a["scale" if kind == "layernorm" else "rms"]
        norm(kind, a["x"], a["gamma"], a["beta"], a["out"], a["mean"], scale, self.rows, self.n)

    def backward(self, kind: str, blocks: int = 0) -> None:
        a = self.at
        scale = a["scale" if kind == "layernorm" else "rms"]
        given, left = (a["dy"], a["x"], a["gamma"], a["mean"], scale), (a["out"], a["partial"], a["sums"])
        norm_backward(kind, *given, *left, self.rows, self.n, blocks)

    def some(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(self.rows, self.n)[self.chosen]

    def left(self, result: Any = None) -> np.ndarray:
        """The chosen rows of `out`, or of what a rival returned."""
        if result is not None:
            result = result[0] if isinstance(result, tuple) else result
            return result.detach()[self.chosen].cpu().numpy()
        got = np.empty((len(self.chosen), self.n), np.float32)
        for row, at in zip(got, self.chosen, strict=True):
            cuda.memcpy_dtoh(row, int(self.at["out"]) + 4 * self.n * int(at))
        return got

    def check_norm(self, kind: str, result: Any = None) -> None:
        x = self.some(self.x)
        want = ref.layernorm(x, self.gamma, self.beta) if kind == "layernorm" else ref.rmsnorm(x, self.gamma)
        wb.check(self.left(result), want, 2 * norm_bounds(kind, x, x, self.gamma)[0], kind)

    def check_norm_backward(self, kind: str, result: Any = None) -> None:
        x, dy = self.some(self.x), self.some(self.dy)
        want = (ref.layernorm_backward if kind == "layernorm" else ref.rmsnorm_backward)(dy, x, self.gamma)[0]
        wb.check(self.left(result), want, 2 * norm_bounds(kind, dy, x, self.gamma)[1], f"dx of {kind}")
        if result is None:
            self.check_columns(kind)

    def check_columns(self, kind: str) -> None:
        """Some columns of dgamma (and dbeta), summed over all rows."""
        x, dy = self.x.reshape(self.rows, self.n), self.dy.reshape(self.rows, self.n)
        columns = self.rng.integers(0, self.n, 8)
        if not hasattr(self, "moments") or len(self.moments[0]) != self.rows:
            mean = x.mean(1, dtype=np.float64)
            self.moments = mean, np.einsum("ij,ij->i", x, x, dtype=np.float64) / self.n
        mean, squares = self.moments
        centred = kind == "layernorm"
        scale = 1 / np.sqrt(squares - (mean**2 if centred else 0) + ref.EPSILON)
        normal = (x[:, columns] - (mean[:, None] if centred else 0)) * scale[:, None]
        sums = np.empty((2, self.n), np.float32)
        cuda.memcpy_dtoh(sums, self.at["sums"])
        up = dy[:, columns].astype(np.float64)
        bound = 16 * U * (np.abs(up) * (np.abs(normal) + 2)).sum(0)
        wb.check(sums[0, columns], (up * normal).sum(0), bound, f"dgamma of {kind}")
        if centred:
            wb.check(sums[1, columns], up.sum(0), bound, "dbeta")

    def check_gelu(self, back: bool, result: Any = None) -> None:
        x, dy = self.some(self.x), self.some(self.dy)
        want = ref.gelu_backward(dy, x) if back else ref.gelu(x)
        wb.check(self.left(result), want, 2 * gelu_bounds(x, dy)[back], "gelu")

    def check_classifier(self, result: Any = None) -> None:
        x, label = self.some(self.x), self.label[self.chosen]
        want = ref.losses_backward(x, label, 1 / self.rows)
        wb.check(self.left(result), want, 4 * loss_bounds(x, label, 1 / self.rows)[0], "classifier")

    def check_copy(self, result: Any = None) -> None:
        wb.check(self.left(result), self.some(self.x), 0, COPY)

    def classifier(self) -> None:
        """In place: `restore` puts the logits back, untimed."""
        a = self.at
        classify(a["out"], a["label"], a["loss"], self.rows, self.n, 1 / self.rows)

    def restore(self) -> None:
        cuda.memcpy_dtod_async(self.at["out"], self.at["x"], 4 * self.count)

    def steps(self) -> dict[str, Step]:
        a, count = self.at, self.count
        steps = {COPY: Step(lambda: over_packs(COPY, a["x"], a["out"], count=count), 8 * count, self.check_copy)}
        for kind in NORMS:
            steps[f"{kind}_forward"] = Step(
                lambda kind=kind: self.forward(kind), 8 * count, lambda result, kind=kind: self.check_norm(kind, result)
            )
        for kind in NORMS:
            steps[f"{kind}_backward"] = Step(
                lambda kind=kind: self.backward(kind),
                12 * count,
                lambda result, kind=kind: self.check_norm_backward(kind, result),
            )
        steps["gelu_forward"] = Step(
            lambda: over_packs("gelu_forward", a["x"], a["out"], count=count),
            8 * count,
            lambda result: self.check_gelu(False, result),
        )
        steps["gelu_backward"] = Step(
            lambda: over_packs("gelu_backward", a["dy"], a["x"], a["out"], count=count),
            12 * count,
            lambda result: self.check_gelu(True, result),
        )
        steps["classifier"] = Step(self.classifier, 8 * count, self.check_classifier)
        return steps

    def check(self, name: str, step: Step) -> None:
        self.restore() if name == "classifier" else self.poison()
        step.launch()
        step.check(None)


# --8<-- [start:turns]
def time_in_turn(
    launches: dict[str, Callable[[], object]], seconds: float = 0.15, restore: Callable[[], object] | None = None
) -> dict[str, list[float]]:
    """The time per launch in ten bursts each; all take turns, forwards and backwards.

    Ours, "", works in place if there is a `restore`: it then runs once at a time, on data that were put back.
    """
    repeats = {}
    for name, launch in launches.items():
        launch()
        repeats[name] = max(1, min(20, int(seconds / 10 / burst(launch, 1))))
    times: dict[str, list[float]] = {name: [] for name in launches}
    for i in range(10):
        for name in list(launches)[:: 1 if i % 2 else -1]:
            launch = launches[name]
            if restore and not name:
                times[name].append(float(np.mean([burst(launch, 1, restore) for _ in range(repeats[name])])))
            else:
                times[name].append(burst(launch, repeats[name]))
    return times


def burst(launch: Callable[[], object], repeats: int, before: Callable[[], object] | None = None) -> float:
    start, stop = cuda.Event(), cuda.Event()
    (before or launch)()  # so that the device is busy while the host enqueues
    start.record()
    for _ in range(repeats):
        launch()
    stop.record()
    stop.synchronize()
    return stop.time_since(start) * 1e-3 / repeats


# --8<-- [end:turns]


def timing(values: list[float]) -> wb.Timing:
    low, median, high = (float(x) for x in np.percentile(values, [10, 50, 90]))
    return wb.Timing(median, low, high, len(values))


def rivals_of(m: Matrix) -> dict[str, dict[str, Callable[[], object]]]:
    """PyTorch's ways to every step, where it is installed."""
    try:
        wb.needs(packages=("torch", "triton"))
    except wb.Skipped:
        return {}
    import _rivals
    import torch

    a, rows, n = m.at, m.rows, m.n
    tensors = {name: torch.as_tensor(Shared(a[name], rows, n), device="cuda") for name in ("x", "dy")}
    tensors |= {name: torch.as_tensor(Shared(a[name], n), device="cuda") for name in ("gamma", "beta")}
    column = {"mean": "mean", "scale": "scale", "rms": "rms"}
    tensors |= {name: torch.as_tensor(Shared(a[at], rows, 1), device="cuda") for name, at in column.items()}
    label = torch.as_tensor(Shared(a["label"], rows, kind="<i4"), device="cuda").long()
    return _rivals.ways(**tensors, label=label)


def time_rows(m: Matrix, n: int) -> list[float]:
    """Every step at rows of n, in turn with a copy and its rivals. Returns the times of the copy."""
    m.shape(n)
    rivals, steps, copies = rivals_of(m), m.steps(), []
    copy = steps.pop(COPY)
    m.check(COPY, copy)
    print(f"\n{m.rows} rows of {n}\n{'':20}{'µs':>8}{'GB/s':>8}{'of copy':>9}{'eager':>8}{'torch':>8}{'compiled':>9}")
    for name, step in steps.items():
        m.check(name, step)
        for rival in rivals.get(name, {}).values():
            step.check(rival())
        restore = m.restore if name == "classifier" else None
        times = time_in_turn({"": step.launch, COPY: copy.launch, **rivals.get(name, {})}, restore=restore)
        m.check(name, step)
        copies += times[COPY]
        report(name, times, step.nbytes, copy.nbytes)
    return copies


def report(name: str, times: dict[str, list[float]], nbytes: int, copied: int) -> None:
    found = {way: timing(values) for way, values in times.items()}
    for way, t in found.items():
        if way != COPY:
            wb.timing(f"{name}.{way}" if way else name, t, nbytes)
    ours = found[""].median
    ways = (f"{found[way].median / ours:{width}.2f}" if way in found else " " * width
            for way, width in (("eager", 8), ("torch", 8), ("compiled", 9)))  # fmt: skip
    share = nbytes / ours / (copied / found[COPY].median)
    print(f"{name:20}{ours * 1e6:8.1f}{nbytes / ours / 1e9:8.0f}{share:9.1%}" + "".join(ways))


def time_adamw(rng: np.random.Generator, count: int) -> None:
    """Step after step on the same gradient. A copy of as many numbers takes turns."""
    p, g = (rng.standard_normal(count, dtype=np.float32) for _ in range(2))
    at = [cuda.to_device(p), cuda.to_device(g), *(cuda.to_device(np.zeros(count, np.float32)) for _ in range(2))]
    spare = cuda.mem_alloc(4 * count)
    chosen, taken = rng.integers(0, count, 1000), 0

    def step() -> None:
        nonlocal taken
        taken += 1
        adamw(*at, count, taken)

    def check(got: np.ndarray, steps: int, what: str) -> None:
        want = ref.adamw(p[chosen], [g[chosen]] * steps, RATE, BETA1, BETA2, DECAY, TINY)
        bound = 2 * steps * U * (3 * (np.abs(p[chosen]) + steps * RATE) + 8 * RATE)
        wb.check(got, want, bound, what)

    def check_ours() -> None:
        got = np.empty(count, np.float32)
        cuda.memcpy_dtoh(got, at[0])
        check(got[chosen], taken, f"adamw after {taken} steps")

    step()
    check_ours()
    rivals = {}
    try:
        wb.needs(packages=("torch", "triton"))
        import _rivals
        import torch

        of_p, of_g = (torch.as_tensor(Shared(cuda.to_device(a), count), device="cuda").clone() for a in (p, g))
        rivals = _rivals.steps_of_adamw(of_p, of_g)
        for way, rival in rivals.items():
            result = rival()
            result = result[0] if isinstance(result, tuple) else result
            check(result[torch.as_tensor(chosen, device="cuda")].cpu().numpy(), 1, f"adamw by {way}")
    except wb.Skipped:
        pass
    times = time_in_turn({"": step, COPY: lambda: over_packs(COPY, at[1], spare, count=count), **rivals})
    check_ours()
    report("adamw", times, 28 * count, 8 * count)


def sweep(m: Matrix, lengths: tuple[int, ...]) -> None:
    """Our kernels at other row lengths, in turn with a copy."""
    rates: dict[str, list[list[float]]] = {name: [] for name in SWEPT}
    print(f"\n{'of copy, rows of':20}" + "".join(f"{n:9}" for n in lengths))
    shares: dict[str, list[float]] = {name: [] for name in SWEPT}
    for n in lengths:
        m.shape(n)
        steps = m.steps()
        for name in SWEPT:
            m.check(name, steps[name])
            restore = m.restore if name == "classifier" else None
            times = time_in_turn({"": steps[name].launch, COPY: steps[COPY].launch}, 0.05, restore)
            m.check(name, steps[name])
            rates[name].append([steps[name].nbytes / t for t in np.percentile(times[""], [90, 50, 10])])
            shares[name].append(rates[name][-1][1] * float(np.median(times[COPY])) / steps[COPY].nbytes)
    for name, found in rates.items():
        low, rate, high = zip(*found, strict=True)
        wb.series(f"{name}.sweep", lengths, rate, x_unit="count", unit="B/s", low=low, high=high)
        print(f"{name:20}" + "".join(f"{share:9.1%}" for share in shares[name]))


def sweep_blocks(m: Matrix, blocks: tuple[int, ...]) -> None:
    """The backward passes at rows of 4096 in so many blocks, in turn with each other and a copy."""
    m.shape(4096)
    m.at["partial"] = cuda.mem_alloc(8 * max(blocks) * m.n)
    steps = m.steps()
    print(f"\n{'of copy, blocks':20}" + "".join(f"{count:9}" for count in blocks))
    for kind in NORMS:
        name = f"{kind}_backward"
        launches: dict[str, Callable[[], object]] = {COPY: steps[COPY].launch}
        for count in blocks:
            launches[str(count)] = lambda kind=kind, count=count: m.backward(kind, count)
            m.check(name, replace(steps[name], launch=launches[str(count)]))
        times = time_in_turn(launches)
        copy = steps[COPY].nbytes / float(np.median(times.pop(COPY)))
        low, rate, high = np.array([steps[name].nbytes / np.percentile(t, [90, 50, 10]) for t in times.values()]).T
        wb.series(f"{name}.blocks", blocks, rate, x_unit="count", unit="B/s", low=low, high=high)
        print(f"{name:20}" + "".join(f"{share:9.1%}" for share in rate / copy))


def profile(rng: np.random.Generator, rows: int) -> None:
    m = Matrix(rng, rows * 4096)
    m.shape(4096)
    for name, step in m.steps().items():
        m.check(name, step)
    print(f"every step on {rows} rows of 4096, right; adamw within {check_adamw(rng, rows * 4096, 1):.0%} of the bound")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator, 2**13 if wb.is_gpu() else 2**6)
        raise SystemExit
    print(f"device: {wb.device()['name']}")
    check_differences(generator)
    print("gradients by formula and by kernel: the slopes of the forward passes")
    for n in (4, 132, 1000, 1024, 4096) + ((2048, 8192) if wb.is_gpu() else ()):
        worst = max(check_norm(generator, kind, 19, n) for kind in NORMS)
        print(f"rows of {n:5}: norms within {worst:.0%}, ", end="")
        print(f"classifier within {check_classifier(generator, 9, n):.0%} of the bound")
    check_determinism(generator, 300, 256)
    print("dgamma and dbeta: the same bits in two runs")
    print(f"gelu within {check_gelu(generator, 4096):.0%} of the bound, ", end="")
    print(f"adamw within {check_adamw(generator, 4096):.0%}, ten steps")
    if wb.is_gpu():
        wb.needs(memory=24 * 2**30)
        matrix = Matrix(generator, 2**27)
        copies = time_rows(matrix, 4096)
        wb.timing(COPY, timing(copies), 8 * 2**27)
        time_adamw(generator, 2**26)
        sweep(matrix, (1024, 2048, 4096, 8192))
        resident = wb.device()["multiprocessors"] * 2
        sweep_blocks(matrix, tuple(resident * i // 32 for i in range(24, 33)))
    else:
        print("no GPU: nothing is timed")
