"""Every gradient of the VAE, layer by layer: float64 formulas against differences, kernels against the formulas.

python gradients.py   also breaks the gradient of the latent layer in five ways, each of which must be noticed
"""

from collections.abc import Callable

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from _kernels import Network, unpack
from _vae import (
    LATENT,
    PIXELS,
    forward,
    gradients,
    kl,
    latent_backward,
    linear,
    linear_backward,
    loss,
    nats,
    nats_backward,
    reparameterise,
    start,
    tanh_backward,
)
from pycuda.compiler import SourceModule

ROWS, STEP = 8, 1e-5
BROKEN = {  # a mistake, and what it does to a line of latent.cu
    "KL term missing in dμ": ("dmu[to] = dz[at] + weight * mu[to];", "dmu[to] = dz[at];"),
    "sign of the KL term": ("weight * (sigma * sigma - 1)", "weight * (1 - sigma * sigma)"),
    "half forgotten": ("0.5f * (dz[at] * noise", "(dz[at] * noise"),
    "log σ² taken for σ": ("float sigma = expf(0.5f * logvar[to]);", "float sigma = logvar[to];"),
    "buffer of the last step kept": ("dlogvar[to] = 0.5f", "dlogvar[to] += 0.5f"),
}


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
    """Each layer alone: a random gradient dy comes in, so f = sum(dy · y) has the slopes that the layer must return."""
    x, w, dy = rng.standard_normal((ROWS, 5)), rng.standard_normal((6, 4)), rng.standard_normal((ROWS, 4))
    for name, got, by in zip(("x", "w"), linear_backward(dy, x, w), (x, w), strict=True):
        want = slopes(lambda: float((dy * linear(x, w)).sum()), by)
        wb.check(got, want, 1e-6, f"linear, d{name}")

    got = tanh_backward(dy, np.tanh(dy))
    want = dy * slopes(lambda: float(np.tanh(t).sum()), t := dy.copy())
    wb.check(got, want, 1e-6, "tanh")

    mu, logvar, noise, dz = rng.standard_normal((4, ROWS, LATENT))

    def both() -> float:
        return float((dz * reparameterise(mu, logvar, noise)).sum() + 0.3 * kl(mu, logvar).sum())

    for name, got, by in zip(("μ", "log σ²"), latent_backward(dz, mu, logvar, noise, 0.3), (mu, logvar), strict=True):
        wb.check(got, slopes(both, by), 1e-6, f"latent, d {name}")

    logits, bits = 5 * rng.standard_normal((ROWS, 6)), rng.integers(0, 2, (ROWS, 6)).astype(np.float64)
    want = slopes(lambda: float(nats(logits, bits).sum()), logits)
    wb.check(nats_backward(logits, bits), want, 1e-6, "nats, d logits")


# --8<-- [end:differences]


def example(rng: np.random.Generator) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Random weights with biases, bits, and noise."""
    p = start(rng)
    for w in p.values():
        w[-1] = 0.5 * rng.standard_normal(w.shape[1])
    return p, rng.integers(0, 2, (ROWS, PIXELS)).astype(np.float64), rng.standard_normal((ROWS, LATENT))


def check_model(p: dict[str, np.ndarray], x: np.ndarray, noise: np.ndarray) -> None:
    """The gradients of all weights, joined by the chain rule, against differences of the loss."""
    got = gradients(p, x, noise, beta=0.7)
    for name, w in p.items():
        want = slopes(lambda: loss(p, x, noise, beta=0.7), w)
        wb.check(got[name], want, 1e-6, f"model, {name}")


# --8<-- [start:kernels]
def check_kernels(p: dict[str, np.ndarray], x: np.ndarray, noise: np.ndarray, latent: object = None) -> None:
    """All that one step writes, against the formulas in float64: each array within 1e-4 of its largest element."""
    network = Network(p, len(x), latent)
    network.fill(0)  # a buffer that is added to passes the first step, not the second
    for beta in (1.0, 0.7):
        network.step(x, noise, beta, learn=False)
    f, grad = forward(p, x, noise), gradients(p, x, noise, 0.7)
    want = {"z": f["z"], "logits": f["logits"], "kl": kl(f["mu"], f["logvar"]).sum(1, keepdims=True)}
    want["nats"] = nats(f["logits"], x).sum(1, keepdims=True)
    got = {name: network.read(name) for name in want}
    got |= {f"d {name}": g for name, g in unpack(network.read("grad")).items()}
    want |= {f"d {name}": g for name, g in grad.items()}
    for name, right in want.items():
        wb.check(got[name], right, 1e-4 * np.abs(right).max(), f"kernels, {name}")


# --8<-- [end:kernels]


def check_checks(p: dict[str, np.ndarray], x: np.ndarray, noise: np.ndarray) -> None:
    """The same check of kernels with a mistake in them: each must fail."""
    source = wb.source("vae/latent.cu")
    for what, (right, wrong) in BROKEN.items():
        if source.count(right) != 1:
            raise AssertionError(f"{what}: no such line in latent.cu")
        latent = SourceModule(source.replace(right, wrong), no_extern_c=True)
        try:
            check_kernels(p, x, noise, latent)
        except AssertionError as error:
            print(f"  {what:29} noticed in {str(error).split(':')[0]}")
        else:
            raise AssertionError(f"not noticed: {what}")


if __name__ == "__main__":
    generator = np.random.default_rng()
    check_layers(generator)
    weights, images, draws = example(generator)
    check_model(weights, images, draws)
    count = sum(w.size for w in weights.values())
    print(f"float64 against differences, within 1e-6: linear, tanh, latent, nats; the model's {count} weights")
    check_kernels(weights, images, draws)
    print(f"kernels against float64, within 1e-4: forward, and all {count} gradients")
    check_checks(weights, images, draws)
