"""Every gradient of the language model: formulas in float64 against differences, kernels against the formulas."""

from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from _kernels import Network
from _model import (
    Arrays,
    Size,
    angles,
    attend,
    attend_backward,
    cross_entropy,
    cross_entropy_backward,
    forward,
    gelu,
    gelu_backward,
    gradients,
    loss,
    normalise,
    normalise_backward,
    rotate,
    start,
)

STEP = 1e-5
TINY_MODEL = Size(vocabulary=16, context=4, width=8, heads=2, blocks=2, batch=2)


# --8<-- [start:differences]
def slopes(f: Callable[[], float], x: np.ndarray) -> np.ndarray:
    """Of f for every element of x, which is changed in place and put back: central differences."""
    found = np.empty_like(x)
    for at in np.ndindex(x.shape):
        kept = x[at]
        x[at] = kept + STEP
        up = f()
        x[at] = kept - STEP
        found[at] = (up - f()) / (2 * STEP)
        x[at] = kept
    return found


def check_layers(rng: np.random.Generator) -> None:
    """Each layer alone. A random gradient dy comes in, so sum(dy * y) has the slopes that the layer must return."""
    x, dy, gain = rng.standard_normal((3, 8)), rng.standard_normal((3, 8)), rng.standard_normal(8)
    got = normalise_backward(dy, x, gain, normalise(x, gain)[1])
    for name, slope, by in zip(("x", "gain"), got, (x, gain), strict=True):
        wb.check(slope, slopes(lambda: float((dy * normalise(x, gain)[0]).sum()), by), 1e-7, f"RMSNorm, d{name}")
    wb.check(gelu_backward(dy, x), slopes(lambda: float((dy * gelu(x)).sum()), x), 1e-7, "GELU")

    turn = angles(3, 8)
    got = rotate(dy, turn[0], -turn[1])
    wb.check(got, slopes(lambda: float((dy * rotate(x, *turn)).sum()), x), 1e-7, "rotary positions")

    q, k, v, dout = rng.standard_normal((4, 2, 2, 5, 4))
    got = attend_backward(dout, q, k, v, attend(q, k, v)[1])
    for name, slope, by in zip("qkv", got, (q, k, v), strict=True):
        wb.check(slope, slopes(lambda: float((dout * attend(q, k, v)[0]).sum()), by), 1e-7, f"attention, d{name}")

    logits, target = 3 * rng.standard_normal((2, 3, 8)), rng.integers(0, 8, (2, 3))
    want = slopes(lambda: float(cross_entropy(logits, target).mean()), logits)
    wb.check(cross_entropy_backward(logits, target), want, 1e-7, "cross-entropy")


# --8<-- [end:differences]


def example(rng: np.random.Generator, size: Size) -> tuple[Arrays, np.ndarray, np.ndarray]:
    """Random parameters, gains too; tokens, of which some occur twice; and what follows each."""
    p = start(rng, size)
    for name, w in p.items():
        if w.ndim == 1:
            p[name] = w + 0.3 * rng.standard_normal(w.shape)
    tokens, target = rng.integers(0, size.vocabulary, (2, size.batch, size.context))
    return p, tokens, target


def check_model(rng: np.random.Generator) -> int:
    """All parameters of a tiny model of two blocks, joined by the chain rule."""
    p, tokens, target = example(rng, TINY_MODEL)
    got = gradients(p, tokens, target, TINY_MODEL)
    for name, w in p.items():
        want = slopes(lambda: loss(p, tokens, target, TINY_MODEL), w)
        wb.check(got[name], want, 1e-7, f"model, {name}")
    return sum(w.size for w in p.values())


# --8<-- [start:kernels]
def check_kernels(rng: np.random.Generator, size: Size) -> float:
    """What one step leaves on the device, against float64: each array within 1e-4 of its largest element."""
    p, tokens, target = example(rng, size)
    network, worst = Network(p, size), 0.0
    for _ in range(2):  # a buffer that is added to passes the first time, not the second
        network.give(tokens, target)
        network.forward()
        logits = network.read("logits")
        network.backward()
    f = forward(p, tokens, size)
    wb.check(logits, f["logits"].ravel(), 1e-4 * np.abs(f["logits"]).max(), "logits")
    wb.check(network.loss(), loss(p, tokens, target, size), 1e-5, "loss")
    want = gradients(p, tokens, target, size, f)
    for name, got in network.named("grad").items():
        worst = max(worst, wb.check(got, want[name], 1e-4 * np.abs(want[name]).max(), f"gradient of {name}"))
    return worst


# --8<-- [end:kernels]

if __name__ == "__main__":
    generator = np.random.default_rng()
    check_layers(generator)
    print("float64 against differences, within 1e-7: RMSNorm, GELU, rotary positions, attention, cross-entropy")
    print(f"all {check_model(generator)} parameters of a tiny model with two blocks: the same")
    full = Size(batch=2)
    check_kernels(generator, full)
    count = sum(int(np.prod(shape)) for shape in full.shapes.values())
    print(f"kernels against float64, each of {count} gradients within 1e-4 of the largest in its array")
