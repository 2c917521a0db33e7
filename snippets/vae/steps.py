"""Kernels and NumPy train the same VAE side by side: gradients, losses and weights of 20 steps, for five seeds.

python steps.py   on a GPU also trains to the end by kernels, for five seeds
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from _digits import split
from _kernels import Network, unpack
from _vae import BATCH, DECAY, DECAY2, EPOCHS, LATENT, SEEDS, Adam, batches, bound, gradients, loss, start
from train import train_numpy


# --8<-- [start:side]
def side_by_side(seed: int, steps: int = 20, careless: bool = False) -> int:
    """The same start, batches and noise for kernels in float32 and for NumPy in float64. Returns launches per step.

    `careless` subtracts Adam's constants from 1 in float32, as our first kernel did.
    """
    rng, (train, _, _) = np.random.default_rng(seed), split(seed)
    p = start(rng)
    network, adam = Network(p, BATCH), Adam(p)
    if careless:
        network.fresh = tuple(float(np.float32(1) - np.float32(keep)) for keep in (DECAY, DECAY2))
    for batch in batches(rng, len(train))[:steps]:
        x, noise = train[batch], rng.standard_normal((BATCH, LATENT))
        network.fill()  # NaN
        network.step(x, noise)
        want, grad = loss(p, x, noise), gradients(p, x, noise)
        for name, got in unpack(network.read("grad")).items():
            wb.check(got, grad[name], 2e-5 * np.abs(grad[name]).max(), f"gradient of {name}")
        wb.check(network.loss(), want, 1e-5, "loss")
        adam.step(p, grad)
    for name, got in network.parameters().items():
        wb.check(got, p[name], 1e-4, f"weights of {name} after {steps} steps")
    return network.launches // steps


# --8<-- [end:side]


def train_kernels(seed: int) -> dict[str, np.ndarray]:
    """The same in float32 on the device."""
    rng, (train, _, _) = np.random.default_rng(seed), split(seed)
    network = Network(start(rng), BATCH)
    for _ in range(EPOCHS):
        for batch in batches(rng, len(train)):
            network.step(train[batch], rng.standard_normal((BATCH, LATENT)))
    return {name: w.astype(np.float64) for name, w in network.parameters().items()}


if __name__ == "__main__":
    launches = {side_by_side(seed) for seed in range(SEEDS)}
    print(
        f"{SEEDS} seeds, 20 steps of {max(launches)} launches: losses within 1e-5 nats of NumPy's, weights within 1e-4"
    )
    for seed in range(SEEDS):
        try:
            side_by_side(seed, careless=True)
        except AssertionError:
            continue
        raise AssertionError(f"1 - 0.999 in float32: not noticed with seed {seed}")
    print(f"1 - 0.999 in float32: noticed with each of {SEEDS} seeds")
    if wb.is_gpu():
        found = [bound(train_kernels(seed), split(seed)[1], seed)[0] for seed in range(SEEDS)]
        wb.value("kernels.nats", np.mean(found), "1", (min(found), max(found)))
        print(f"trained by the kernels: {np.mean(found):.2f} nats per held-out image, mean of {SEEDS} seeds")
        numpy = [bound(train_numpy(seed)[0], split(seed)[1], seed)[0] for seed in range(SEEDS)]
        wb.check(np.mean(found), np.mean(numpy), 0.3, "nats per held-out image, against those of NumPy")
    else:
        print("no GPU: no training to the end")
