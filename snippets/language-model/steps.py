"""Ten optimiser steps of the language model: kernels in float32 and NumPy in float64 side by side.

Every gradient and every parameter is compared after each step. Then six mistakes are made on purpose, and each must be
noticed.
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from _kernels import Network
from _model import STEPS, AdamW, Size, cross_entropy, draw_batch, forward, gradients, rate, start
from _text import corpus, encode, merges, split

COUNT = 10


class Careless(Network):
    """Makes one mistake, by its name."""

    mistake = ""

    def launch(self, kernel: str, *arguments: object, **shape: tuple[int, ...]) -> None:
        given = list(arguments)
        if self.mistake == f"{kernel} left out" and self.steps > 0:  # buffers still hold the step before
            return
        if self.mistake == "loss not divided by the tokens" and kernel == "loss_backward":
            given[-1] = 1.0
        if self.mistake == "residual forgotten" and kernel == "norm_backward":
            given[-1] = 0
        if self.mistake == "gains decay" and kernel == "adamw":
            given[5] = self.count
        super().launch(kernel, *given, **shape)


MISTAKES = (
    "embed_backward left out",
    "rotary_backward left out",
    "linear_backward_w left out",
    "loss not divided by the tokens",
    "residual forgotten",
    "gains decay",
)


# --8<-- [start:side]
def side_by_side(seed: int, size: Size, steps: int, network: type[Network] = Network) -> tuple[float, int]:
    """The same start and batches for both. Returns the largest difference of a parameter, and launches per step."""
    rng, ids = np.random.default_rng(seed), encode(split(corpus())[0], merges())
    p = start(rng, size)
    device, optimiser, worst = network(p, size), AdamW(p), 0.0
    for step in range(1, steps + 1):
        tokens, target = draw_batch(rng, ids, size)
        if network is Network:
            device.poison()  # NaN
        device.step(tokens, target, rate(step, STEPS))
        f = forward(p, tokens, size)
        wb.check(device.loss(), cross_entropy(f["logits"], target).mean(), 1e-5, f"step {step}: loss")
        g = gradients(p, tokens, target, size, f)
        for name, got in device.named("grad").items():
            wb.check(got, g[name], 5e-5 * np.abs(g[name]).max(), f"step {step}: gradient of {name}")
        optimiser.step(p, g, rate(step, STEPS))
        for name, got in device.named("weights").items():
            wb.check(got, p[name], 5e-5, f"step {step}: {name}")
            worst = max(worst, float(np.abs(got - p[name]).max()))
    return worst, device.launches // steps


# --8<-- [end:side]

if __name__ == "__main__":
    worst, launches = side_by_side(1, Size(), COUNT)
    print(
        f"{COUNT} steps of {launches} launches: gradients and parameters as in float64; largest difference {worst:.0e}"
    )
    for mistake in MISTAKES:
        Careless.mistake = mistake
        try:
            side_by_side(1, Size(batch=1), 2, Careless)
        except AssertionError as error:
            print(f"  {mistake:32} noticed at {str(error).split(':')[0]}:{str(error).split(':')[1]}")
        else:
            raise AssertionError(f"not noticed: {mistake}")
