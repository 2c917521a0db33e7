"""A decoder with a KV cache: the same bits as without it, alone or in a batch, contiguous or in pages; then its speed.

python serve.py   check a small model; on a GPU also time steps of GPT-2 124M's shapes for 1 to 64 sequences
"""

import time

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _decode import Ready
from _model import Decoder, draw_weights, logits_of
from _shapes import BATCHES, GPT2, SMALL, Config

SEED = 1126
PAGE = 16


# --- Checks ----------------------------------------------------------------------------------------------------------


def bits(x: np.ndarray) -> np.ndarray:
    return x.copy().view(np.int32)


def check_norm(got: np.ndarray, want: np.ndarray, what: str) -> None:
    """Activations are rounded to fp16 some ten times per layer: so much of the length of the logits may be lost."""
    lost = np.linalg.norm(got.astype(np.float64) - want) / np.linalg.norm(want)
    wb.check(lost, np.float64(0), 0.004, what)


# --8<-- [start:cached]
def check_cache(config: Config, weights: dict, text: np.ndarray, prompt: int) -> None:
    """Decode token by token after a prompt; at each token, compute the whole text again without any cache."""
    model = Decoder(config, weights, sequences=2)
    logits = model.prefill(text[:prompt], sequence=0)[-1:]
    for n in range(prompt, len(text) + 1):
        again = model.prefill(text[:n], sequence=1)[-1:]  # writes all keys and values anew
        wb.check(bits(logits), bits(again), 0, f"cached logits after {n} tokens, bits of those computed anew")
        if n < len(text):
            model.place(text[n : n + 1], np.array([n]), np.array([0]))
            logits = model.step(1)
    check_norm(logits, logits_of(config, weights, text), "cached logits against float64")


# --8<-- [end:cached]


# --8<-- [start:batched]
def decode(model: Decoder, texts: list[np.ndarray], steps: int) -> list[np.ndarray]:
    """Prefill every text into its own sequence, then `steps` greedy steps over all sequences at once: the logits."""
    for i, text in enumerate(texts):
        model.prefill(text[:-1], i)
    rows, token = len(texts), np.array([text[-1] for text in texts])
    position, found = np.array([len(text) - 1 for text in texts]), []
    for _ in range(steps):
        model.place(token, position, np.arange(rows))
        found.append(model.step(rows))
        token, position = model.chosen(rows), position + 1
        wb.check(token, found[-1].argmax(1).astype(np.int32), 0, "the chosen tokens")
    return found


def check_batch(config: Config, weights: dict, texts: list[np.ndarray], steps: int) -> list[np.ndarray]:
    """Sequences of different lengths together: the bits of each alone."""
    together = decode(Decoder(config, weights, len(texts)), texts, steps)
    for i in (0, len(texts) - 1):
        alone = decode(Decoder(config, weights, 1), texts[i : i + 1], steps)
        for step, (one, all_of_them) in enumerate(zip(alone, together, strict=True)):
            wb.check(bits(all_of_them[i]), bits(one[0]), 0, f"sequence {i} in a batch, step {step}")
    return together


# --8<-- [end:batched]


# --8<-- [start:paged]
def tables_for(rng: np.random.Generator, lengths: list[int], page: int) -> tuple[np.ndarray, int]:
    """Pages for sequences of these lengths, drawn from one pool in random order; -1: not there. And the pool's size."""
    counts = [-(-n // page) for n in lengths]
    order = iter(rng.permutation(sum(counts)))
    table = np.full((len(lengths), max(counts)), -1, np.int32)
    for row, count in zip(table, counts, strict=True):
        row[:count] = [next(order) for _ in range(count)]
    return table, sum(counts)


def check_pages(config: Config, weights: dict, texts: list[np.ndarray], contiguous: list[np.ndarray]) -> Decoder:
    """The same steps over a cache in pages: the same bits."""
    steps = len(contiguous)
    table, pool = tables_for(np.random.default_rng(), [len(text) + steps for text in texts], PAGE)
    model = Decoder(config, weights, len(texts), PAGE, table, pool)
    for step, (got, want) in enumerate(zip(decode(model, texts, steps), contiguous, strict=True)):
        wb.check(bits(got), bits(want), 0, f"in pages, step {step}")
    return model


# --8<-- [end:paged]


def check_all(rng: np.random.Generator, config: Config) -> None:
    weights = draw_weights(config, SEED)
    text = rng.integers(0, config.vocabulary, 68).astype(np.int32)
    check_cache(config, weights, text, prompt=60)
    print("with the cache: the bits of computing the whole text again")
    texts = [rng.integers(0, config.vocabulary, n).astype(np.int32) for n in (3, 17, 64, 5, 33, 16, 66, 40, 9)]
    together = check_batch(config, weights, texts, 2)
    print(f"{len(texts)} sequences together: the bits of each alone")
    model = check_pages(config, weights, texts, together)
    whole = len(texts) * config.context * config.token_bytes
    print(f"pages of {PAGE}: the same bits, {model.cache_bytes / whole:.0%} of the contiguous cache's bytes")


# --- Times -----------------------------------------------------------------------------------------------------------

WAIT = """
extern "C" __global__ void wait(long long cycles) {
    for (long long from = clock64(); clock64() - from < cycles;) {}
}
"""


# --8<-- [start:timing]
def enqueue(ready: list[Ready]) -> None:
    for launch in ready:
        launch()


def seconds_of(ready: list[Ready], repeats: int, hold: int = 30_000_000) -> list[float]:
    """Seconds per step on the device: a kernel that waits keeps it busy until the host has enqueued four steps."""
    from pycuda.compiler import SourceModule

    wait = SourceModule(WAIT, no_extern_c=True).get_function("wait")
    found: list[float] = []
    while len(found) < repeats:
        start, stop = cuda.Event(), cuda.Event()
        wait(np.int64(hold), grid=(1, 1), block=(1, 1, 1))
        start.record()
        for _ in range(4):
            enqueue(ready)
        stop.record()
        early = hold and start.query()  # the device was free before the host was done: it must wait longer
        stop.synchronize()
        if early and hold < 2**33:
            hold *= 2
        else:
            found.append(stop.time_since(start) * 1e-3 / 4)
    return found


def wall_of(ready: list[Ready], steps: int) -> float:
    """Seconds per step as the host sees them: it launches every kernel of every step from Python."""
    enqueue(ready)
    cuda.Context.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        enqueue(ready)
    cuda.Context.synchronize()
    return (time.perf_counter() - start) / steps


# --8<-- [end:timing]


def middle(seconds: list[float]) -> wb.Timing:
    low, median, high = (float(x) for x in np.percentile(seconds, [10, 50, 90]))
    return wb.Timing(median, low, high, len(seconds))


def check_step(model: Decoder, weights: dict, texts: list[np.ndarray], last: np.ndarray) -> None:
    """The logits of the last sequence against float64."""
    i = len(texts) - 1
    check_norm(last[i], logits_of(model.config, weights, texts[i])[0], f"step of GPT-2's shape, sequence {i}")


def measure(rng: np.random.Generator, config: Config = GPT2, tokens: int = 1023, repeats: int = 20,
            nbytes: int = 2**30, hold: int = 30_000_000) -> None:  # fmt: skip
    """Steps with `tokens` tokens in every cache: each sequence has the same text but its last token."""
    weights = draw_weights(config, SEED)
    model = Decoder(config, weights, max(BATCHES))
    text = rng.integers(0, config.vocabulary, tokens + 1).astype(np.int32)
    model.prefill(text[:-1], 0)
    each = config.context * config.kv_heads * config.d * 2
    for layer in model.cache:
        for half in layer:
            for i in range(1, max(BATCHES)):
                cuda.memcpy_dtod(int(half) + i * each, int(half), each)
    ends = [cuda.mem_alloc(nbytes) for _ in range(2)]
    cuda.memset_d32(ends[0], 0x3F803F80, nbytes // 4)
    copied = wb.time(lambda i: cuda.memcpy_dtod_async(ends[1], ends[0], nbytes), repeats=repeats)
    wb.timing("step.copy", copied, 2 * nbytes)
    rows: dict[str, list[float]] = {name: [] for name in ("tokens", "wall", "bound", "low", "high")}
    for batch in BATCHES:
        last = rng.integers(0, config.vocabulary, batch).astype(np.int32)
        arguments = last, np.full(batch, tokens), np.arange(batch)
        model.place(*arguments)
        logits = model.step(batch)
        check_step(model, weights, [np.append(text[:-1], one) for one in last], logits)
        ready = model.launches(batch)
        t, wall = middle(seconds_of(ready, repeats, hold)), wall_of(ready, repeats)
        model.place(*arguments)  # `pick` has replaced the tokens: the last timed steps began with other ones
        wb.check(bits(model.step(batch)), bits(logits), 0, f"a step of {batch} after it was timed")
        moved = config.step_bytes(batch, tokens + 1)
        wb.timing(f"step.b{batch}", t, moved)
        wb.value(f"step.b{batch}.launches", len(ready), "count")
        for name, number in (("tokens", t.median), ("wall", wall), ("low", t.high), ("high", t.low)):
            rows[name].append(batch / number)
        rows["bound"].append(batch * 2 * nbytes / copied.median / moved)
        share = 100 * moved / t.median / (2 * nbytes / copied.median)
        wb.value(f"step.b{batch}.copy_share", share, "%")
        wb.value(f"step.b{batch}.tokens", batch / t.median, "1/s", (batch / t.high, batch / t.low))
        wb.value(f"step.b{batch}.wall", batch / wall, "1/s")
        ours = f"{t.median * 1e6:7.1f} µs, {batch / t.median:8.0f} tokens/s, {share:4.1f} % of the bound"
        print(f"batch {batch:2}: {ours}; launched from Python {batch / wall:8.0f} tokens/s")
    x = [float(b) for b in BATCHES]
    wb.series("tokens", x, rows["tokens"], x_unit="count", unit="1/s", low=rows["low"], high=rows["high"])
    for name in ("wall", "bound"):
        wb.series(f"tokens.{name}", x, rows[name], x_unit="count", unit="1/s")
    time_prefill(rng, model, text, repeats, hold)


def time_prefill(rng: np.random.Generator, model: Decoder, text: np.ndarray, repeats: int, hold: int) -> None:
    """64 tokens of one prompt per step: the weights are read once for all of them."""
    start = (len(text) - 1) // 2
    model.place(text[start : start + 64], np.arange(start, start + 64), np.zeros(64))
    t = middle(seconds_of(model.launches(64), repeats, hold))
    wb.timing("prefill", t)
    wb.value("prefill.tokens", 64 / t.median, "1/s", (64 / t.high, 64 / t.low))
    print(f"prefill, 64 tokens of one prompt: {t.median * 1e6:.1f} µs, {64 / t.median:.0f} tokens/s")


if __name__ == "__main__":
    generator = np.random.default_rng()
    wb.needs("8.0")
    print(f"device: {wb.device()['name']}")
    check_all(generator, SMALL)
    if wb.is_gpu():
        wb.needs(memory=8 * 2**30)
        measure(generator)
    else:
        print("no GPU: nothing is timed")
