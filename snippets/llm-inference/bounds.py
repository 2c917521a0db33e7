"""Upper bounds of tokens per second, from bytes alone; and a prediction for GPT-2 124M that adds its launches.

python bounds.py   no kernel is launched: this is arithmetic
"""

import numpy as np
import warpbench as wb
from _shapes import BATCHES, GPT2, RATE, bound

LLAMA_LAYERS, LLAMA_WIDTH, LLAMA_D = 32, 4096, 128  # of Llama 3 8B; its 8 heads of keys have 1024 columns in all
LLAMA_WEIGHTS = LLAMA_LAYERS * LLAMA_WIDTH * (2 * 4096 + 2 * 1024 + 3 * 14336 + 2) + LLAMA_WIDTH * (128256 + 1)
LAUNCHES, EACH = 4 + 8 * GPT2.layers, 3e-6  # of a step; seconds of a launch, assumed


def record(name: str, rates: list[float]) -> None:
    wb.series(name, [float(b) for b in BATCHES], rates, x_unit="count", unit="1/s")
    print(f"{name:18}" + "".join(f"{rate:9.0f}" for rate in rates))


def check_parameters() -> None:
    """The weights of GPT-2, added up from the shape of every array."""
    width, qkv = 768, 3 * 768
    shapes = [(qkv, width), (qkv,), (width, width), (width,), (4 * width, width), (4 * width,), (width, 4 * width)]
    shapes += [(width,)] * 5  # the last bias, and two LayerNorms
    total = 12 * sum(int(np.prod(shape)) for shape in shapes) + 2 * width + 50257 * width
    wb.check(np.array(GPT2.weights), np.array(total), 0, "parameters that a token multiplies")


if __name__ == "__main__":
    wb.measure_cpu()
    check_parameters()
    print(f"{'batch':18}" + "".join(f"{batch:9}" for batch in BATCHES))
    for tokens in (0, 128, 1024):
        rates = [bound(2 * GPT2.weights, GPT2.token_bytes, tokens, b) for b in BATCHES]
        record(f"bound.gpt2.n{tokens}", rates)
    steps = [LAUNCHES * EACH + GPT2.step_bytes(b, 1024) / RATE for b in BATCHES]
    record("predicted.gpt2", [b / step for b, step in zip(BATCHES, steps, strict=True)])
    for name, heads in (("mha", 32), ("gqa", 8), ("mqa", 1)):
        per_token = 2 * LLAMA_LAYERS * heads * LLAMA_D * 2
        record(f"bound.llama.{name}", [bound(2 * LLAMA_WEIGHTS, per_token, 8192, b) for b in BATCHES])
