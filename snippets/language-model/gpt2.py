"""GPT-2's shapes in bf16: every kernel held against float64, two whole steps, and on a GPU tokens per second.

python gpt2.py   check a small model; on a GPU also one sequence of GPT-2 124M's shape, then time steps of 16 sequences
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _gpt2 import (
    BETA,
    BETA2,
    CLIP,
    DECAY,
    GPT2,
    SMALL,
    STAGES,
    TINY,
    Arrays,
    Config,
    Kernels,
    Matrix,
    Network,
    from_bf16,
    module,
    start,
    to_bf16,
)
from _gpt2_reference import Model

RATE = 6e-4
SHARE = 2.0  # how much of what rounding alone costs the kernels may lose


# --- Checks ----------------------------------------------------------------------------------------------------------


# --8<-- [start:products]
def check_product(rng: np.random.Generator, kernels: Kernels, of: str, name: str, m: int, n: int, k: int,
                  parts: int = 1) -> float:  # fmt: skip
    """One of the three layouts. Tensor cores may cut off each addition at 2^-23; a result in bf16 is rounded again."""
    a_shape, b_shape = {"forward": ((m, k), (n, k)), "input": ((m, k), (k, n)), "weight": ((k, m), (k, n))}[of]
    bits = [to_bf16(rng.standard_normal(shape)) for shape in (a_shape, b_shape)]
    at = [cuda.to_device(one) for one in bits]
    a, b = (from_bf16(one).astype(np.float64) for one in bits)
    a, b = (a.T if of == "weight" else a), (b.T if of == "forward" else b)
    bound, kind = 2 * k * 2.0**-23 * (np.abs(a) @ np.abs(b)), np.float32 if of == "weight" else np.uint16
    if of != "weight":
        bound += 2.0**-8 * np.abs(a @ b)
    out = np.zeros((parts, m, n), kind)
    to = cuda.to_device(out)
    cuda.memset_d8(to, 0xFF, out.nbytes)  # all bits one: NaN
    matrices = [Matrix(int(one), *shape) for one, shape in zip(at, (a_shape, b_shape), strict=True)]
    left = {"sums": to} if of == "weight" else {"out": Matrix(int(to), m, n)}
    kernels.gemm(of, name, *matrices, **left, parts=parts)
    cuda.memcpy_dtoh(out, to)
    got = out.sum(0, dtype=np.float64) if kind is np.float32 else from_bf16(out[0])
    return wb.check(got, a @ b, bound, f"{of}: {m} x {n}, sums of {k} in {parts} parts")


def check_products(rng: np.random.Generator) -> float:
    kernels = Kernels(SMALL)
    worst = [check_product(rng, kernels, "forward", "logits", 200, 328, 192)]
    worst += [check_product(rng, kernels, "input", "input_backward", 72, 520, 320)]
    worst += [check_product(rng, kernels, "weight", "weight_backward", 136, 264, 448, parts) for parts in (1, 3)]
    return max(worst)


# --8<-- [end:products]


def lost(got: np.ndarray, want: np.ndarray) -> float:
    """Length of the difference as a share of the length."""
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


# --8<-- [start:judge]
def judge(config: Config, weights: Arrays, tokens: np.ndarray, target: np.ndarray,
          found: dict[str, tuple[float, Arrays]]) -> dict[str, float]:  # fmt: skip
    """Loss and every gradient that somebody found, against float64: how many times the bound each loses, at most 1.

    The bound is SHARE times what float64 loses by rounding to bf16 as our kernels do. A sum of many small errors varies
    little, so twice as much is no matter of chance.
    """
    exact, rounded = Model(config, weights), Model(config, weights, True)
    loss, _ = (model.forward(tokens, target) for model in (exact, rounded))
    for model in (exact, rounded):
        model.backward(tokens, target)
    bounds = {name: SHARE * lost(rounded.g[name], exact.g[name]) for name in exact.g}
    worst = dict.fromkeys(found, 0.0)
    for who, (their_loss, gradients) in found.items():
        wb.check(their_loss, loss, 1e-3 * loss, f"{who}: loss")
        for name, got in gradients.items():
            error = lost(got.astype(np.float64), exact.g[name])
            share = wb.check(error, np.float64(0), bounds[name], f"{who}: gradient of {name}")
            worst[who] = max(worst[who], share)
    return worst


# --8<-- [end:judge]


# --8<-- [start:update]
def check_update(network: Network, before: dict[str, np.ndarray], what: str) -> None:
    """AdamW in float64 from the device's own gradient; fp32 may round some five times, and the copy once."""
    w, g, m, v = (before[name].astype(np.float64) for name in ("weights", "grad", "m", "v"))
    g *= min(1, CLIP / (np.linalg.norm(g) + 1e-6))
    m, v, t = BETA * m + (1 - BETA) * g, BETA2 * v + (1 - BETA2) * g * g, network.steps
    decays = np.arange(len(w)) < network.decaying
    step = RATE / (1 - BETA**t) * m / (np.sqrt(v / (1 - BETA2**t)) + TINY)
    want = w * (1 - RATE * DECAY * decays) - step
    u = 2.0**-24
    wb.check(network.read("m"), m, 16 * u * (np.abs(m) + np.abs(g)), f"{what}: first moments")
    wb.check(network.read("v"), v, 16 * u * (v + g * g), f"{what}: second moments")
    got = network.read("weights")
    wb.check(got, want, 4 * u * np.abs(w) + 32 * u * np.abs(step) + 64 * u * RATE, f"{what}: weights")
    wb.check(network.read("copy").view(np.uint32), from_bf16(to_bf16(got)).view(np.uint32), 0, f"{what}: bf16 copies")


# --8<-- [end:update]


def example(rng: np.random.Generator, config: Config) -> Arrays:
    """Weights of a size that moves every gradient; biases and gains are random too."""
    p = start(rng, config, config.width**-0.5)
    for name, w in p.items():
        if w.ndim == 1:
            p[name] = from_bf16(to_bf16(w + 0.2 * rng.standard_normal(w.shape)))
    return p


def ask_torch(network: Network, p: Arrays, way: str) -> Any:
    """PyTorch's model with the weights p and the network's batch; `way` is eager or compiled."""
    import _gpt2_torch

    rival = _gpt2_torch.Rival(network.config, p, compiled=way == "compiled")
    rival.give(network.read("batch"), network.read("target"))
    return rival


# --8<-- [start:steps]
def check_steps(rng: np.random.Generator, config: Config, steps: int = 2, rivals: tuple[str, ...] = ()) -> Network:
    """Whole steps; all that a step should write is NaN before it. Then the last gradient again: the same bits.

    PyTorch's gradients by the ways `rivals` are judged like ours.
    """
    network = Network(example(rng, config), config)
    for step in range(1, steps + 1):
        weights = network.named("copy")
        tokens, target = rng.integers(0, config.vocabulary, (2, config.batch, config.context))
        network.poison()
        network.give(tokens, target)
        network.forward()
        network.backward()
        found = {"ours": (network.loss(), network.named("grad"))}
        found |= {way: ask_torch(network, weights, way).gradients() for way in rivals}
        for who, share in judge(config, weights, tokens, target, found).items():
            print(f"step {step}, {who}: gradients lose {SHARE * share:.0%} of what rounding must lose")
        before = {name: network.read(name) for name in ("weights", "grad", "m", "v")}
        network.learn(RATE)
        check_update(network, before, f"step {step}")
    network.write("copy", to_bf16(np.concatenate([w.ravel() for w in weights.values()])))
    network.forward()
    network.backward()
    again = network.read("grad")
    wb.check(again.view(np.int32), before["grad"].view(np.int32), 0, "the same step again, bits of gradients")
    return network


# --8<-- [end:steps]


# --- Times -----------------------------------------------------------------------------------------------------------


def flop_of(config: Config) -> float:
    """Of a step: 6 for each weight in a product and token; attention's useful half, forward 4 and backward 10."""
    of_weights = sum(m * n for m, n in config.products)
    return config.rows * (6.0 * of_weights + 14.0 * config.layers * config.width * config.context / 2)


def timing(seconds: list[float]) -> wb.Timing:
    low, median, high = (float(x) for x in np.percentile(seconds, [10, 50, 90]))
    return wb.Timing(median, low, high, len(seconds))


PARTS = {  # of a step: the kernels of each; those of no other are the rest
    "attention": ("attention_mma",),
    "attention_backward": ("attention_delta", "backward_mma_dq", "backward_mma_dkv"),
    "optimiser": ("squares", "adamw_bf16"),
    "products": ("linear", "linear_gelu", "linear_residual", "logits", "input_backward", "input_backward_gelu",
                 "weight_backward", "add_parts"),
}  # fmt: skip


def part_of(kernel: str) -> str:
    return next((part for part, kernels in PARTS.items() if kernel in kernels), "rest")


def time_parts(network: Network, steps: int = 10) -> None:
    """Seconds per token of each part of a step, between events around each launch."""
    found: dict[str, list[float]] = {part: [] for part in (*PARTS, "rest")}
    for _ in range(steps):
        network.forward()  # the device is busy while the host enqueues
        network.watched = []
        network.step(RATE)
        network.watched[-1][2].synchronize()
        sums = dict.fromkeys(found, 0.0)
        for kernel, start_event, stop_event in network.watched:
            sums[part_of(kernel)] += stop_event.time_since(start_event) * 1e-3 / network.config.rows
        for part, seconds in sums.items():
            found[part].append(seconds)
    network.watched = None
    for part, seconds in found.items():
        t = timing(seconds[2:])
        wb.value(f"gpt2.{part}", t.median, "s", (t.low, t.high))
        print(f"{part:20} {t.median * 1e6:6.3f} µs per token")


# --8<-- [start:quotient]
def time_quotient(network: Network) -> None:
    """The product before GELU, whose epilogue divides once per element: quickly, and rounded to the nearest."""
    from warppairs import pairs, share_of, spread

    network.modules["exact"] = module("language-model/gpt2_gemm.cu", DOWN_A=0, DOWN_B=0, STAGES=STAGES, EXACT=1)
    d = network.config.width
    x, out, before = (network.tensor(name, n) for name, n in (("n_m0", d), ("act0", 4 * d), ("before0", 4 * d)))

    def run(code: str) -> Callable[[], None]:
        given = x, network.weight("up0"), out, network.copy("bias_up0"), before
        return lambda: network.gemm("forward", "linear_gelu", *given, code=code)

    found = []
    for code in ("exact", "forward"):
        cuda.memset_d8(network.at["act0"], 0xFF, network.bytes_of("act0"))
        run(code)()
        found.append(network.read("act0"))
    wb.check(found[1], found[0], 2.0**-7 * np.abs(found[0]) + 1e-30, "GELU with a quick quotient")
    quick, exact = pairs(run("forward"), run("exact"))
    for name, side in (("quick", quick), ("exact", exact)):
        median, fast, slow = spread(side.seconds)
        wb.value(f"gpt2.gelu.{name}", median, "s", (fast, slow))
    share, low, high = (x / 100 for x in share_of(quick, exact))
    wb.value("gpt2.gelu.ratio", share, "count", (low, high))
    print(f"the product before GELU: {share:.2f} times as fast with a quick quotient")


# --8<-- [end:quotient]


def ways() -> tuple[str, ...]:
    """PyTorch's, where it is installed."""
    try:
        wb.needs(packages=("torch", "triton"))
    except wb.Skipped:
        return ()
    return "eager", "compiled"


def compare(network: Network, p: Arrays, way: str, seconds: float) -> list[float]:
    """Steps in turn with PyTorch's, from the same weights and on the same batch. Returns our times.

    Both start from p: after many steps on one batch, the padding that only PyTorch's softmax counts would show.
    """
    from warppairs import Meter, pairs, share_of, spread

    network.restart(p)
    rival = ask_torch(network, p, way)
    network.forward()
    network.backward()
    wb.check(network.loss(), rival.gradients()[0], 0.01, f"loss: ours, and PyTorch's {way}")
    ours, theirs = pairs(lambda: network.step(RATE), rival.step, seconds, Meter())
    tokens, (share, low, high) = network.config.rows, share_of(ours, theirs)
    median, fast, slow = spread(theirs.seconds)
    wb.value(f"gpt2.{way}.tokens", tokens / median, "1/s", (tokens / slow, tokens / fast))
    wb.value(f"gpt2.{way}.share", share, "%", (low, high))
    for side, name in ((ours, f"gpt2.{way}.pair"), (theirs, f"gpt2.{way}.theirs")):
        if side.clocks:
            wb.value(f"{name}.clock", side.clock, "Hz")
            wb.value(f"{name}.watts", side.power, "W")
    print(f"PyTorch {way:8} {tokens / median:9.0f} tokens/s; ours {share:.0f} % of its speed")
    return ours.seconds


def measure(rng: np.random.Generator, config: Config, seconds: float = 6) -> None:
    p = start(rng, config)
    network = Network(p, config)
    network.give(*rng.integers(0, config.vocabulary, (2, config.batch, config.context)))
    time_parts(network)
    time_quotient(network)
    times: list[float] = []
    for way in ways():
        times += compare(network, p, way, seconds)
    if not times:
        from warppairs import burst

        times = [burst(lambda: network.step(RATE), 5) for _ in range(10)]
    t = timing(times)
    wb.timing("gpt2.step", t, flop=int(flop_of(config)))
    wb.value("gpt2.tokens", config.rows / t.median, "1/s", (config.rows / t.high, config.rows / t.low))
    ours = f"{config.rows / t.median:.0f} tokens/s, {flop_of(config) / t.median * 1e-12:.0f} TFLOP/s"
    print(f"a step of {config.rows} tokens: {t.median * 1e3:.2f} ms, {ours}")


if __name__ == "__main__":
    wb.needs("9.0")
    if "--profile" in sys.argv[1:]:
        check_steps(np.random.default_rng(1), SMALL, 1)
        raise SystemExit
    generator = np.random.default_rng()
    print(f"device: {wb.device()['name']}")
    print(f"products in three layouts: within {check_products(generator):.0%} of the bound")
    small = check_steps(generator, SMALL)
    print(f"two steps of {small.count} parameters: gradients lose at most twice what rounding to bf16 must lose")
    print("AdamW as in float64, copies rounded to the nearest; the same step again: the same bits")
    if wb.is_gpu():
        wb.needs(memory=96 * 2**30)
        print("a sequence in GPT-2's shape:")
        check_steps(generator, Config(batch=1), 1, ways())
        measure(generator, GPT2)
    else:
        print("no GPU: nothing is timed")
