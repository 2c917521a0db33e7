"""Train the language model by the kernels of model.cu.

python train.py         the first 40 steps of the training that curve.csv shows; with a GPU all steps
python train.py --all   all steps on softcuda, too: two to three minutes. Continues two prompts
python train.py --write the same; then trains on bytes, and with each mistake of steps.py. Writes the tables curve.csv,
                        weights.csv, samples.csv and mistakes.csv
"""

import csv
import sys
from pathlib import Path

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from _kernels import Network
from _model import STEPS, Arrays, Size, draw_batch, forward, rate, sample, start, stretches
from _text import corpus, decode, encode, entropy, merges, spell, split
from steps import MISTAKES, Careless

SEED, SHORT, EVERY = 17, 40, 50
HERE = Path(__file__).parent
PROMPTS = ("The kernel ", "每个线程")
SHOWN = "Each warp reads its row once, and the row stays in registers."
NEAR = 0.05  # nats by which a step may differ from the table: the rounding of another device grows from step to step


# --8<-- [start:train]
def train(
    ids: np.ndarray, unseen: np.ndarray, size: Size, steps: int, expected: list[float]
) -> tuple[Network, list, dict]:
    """Losses of all steps, and of the held-out text after some. Where a loss is expected, it must be near."""
    rng = np.random.default_rng(SEED)
    network, losses, held = Network(start(rng, size), size), [], {}
    for step in range(1, steps + 1):
        network.step(*draw_batch(rng, ids, size), rate(step))
        losses.append(network.loss())
        if step <= min(SHORT, len(expected)):
            wb.check(losses[-1], expected[step - 1], NEAR, f"loss of step {step}")
        if step % EVERY == 0 or step == steps:
            held[step] = held_out(network, unseen)
    return network, losses, held


def held_out(network: Network, ids: np.ndarray) -> float:
    """Nats per token of a text that training never saw."""
    losses = []
    for at in stretches(ids, network.size):
        network.give(ids[at], ids[at + 1])
        network.forward()
        network.classify()
        losses.append(network.loss())
    return float(np.mean(losses))


# --8<-- [end:train]


def write_mistakes(ids: np.ndarray, size: Size) -> None:
    """The mean loss of steps 51 to 60 of the same training, without a mistake and with each."""
    rows = [["mistake", "loss"]]
    for mistake in ("none", *MISTAKES):
        Careless.mistake = mistake
        rng = np.random.default_rng(SEED)
        network, losses = Careless(start(rng, size), size), []
        for step in range(1, 61):
            network.step(*draw_batch(rng, ids, size), rate(step))
            losses.append(network.loss())
        rows.append([mistake, f"{np.mean(losses[-10:]):.4f}"])
    write("mistakes.csv", rows)


def table(kind: str) -> list[float]:
    """What curve.csv has of the losses of each step."""
    if not (HERE / "curve.csv").exists():
        return []
    with (HERE / "curve.csv").open(encoding="utf-8", newline="") as file:
        return [float(row[kind]) for row in csv.DictReader(file)]


def write(name: str, rows: list[list]) -> None:
    with (HERE / name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def continued(p: Arrays, size: Size) -> list[str]:
    """The prompts with what the model adds to them."""
    rng = np.random.default_rng(SEED)
    texts = [sample(p, list(encode(prompt.encode(), merges())), 90, size, rng) for prompt in PROMPTS]
    return [decode(np.array(text), merges()).decode("utf-8", "replace") for text in texts]


def write_all(found: dict, p: Arrays, size: Size, texts: list[str]) -> None:
    """The tables that floors.py shows: losses; a head's attention weights for a sentence; continued prompts."""
    rows = [["step", *(f"{kind}{of}" for kind in found for of in ("", "_held"))]]
    for step in range(1, STEPS + 1):
        pairs = [
            (f"{losses[step - 1]:.4f}", f"{held[step]:.4f}" if step in held else "") for losses, held in found.values()
        ]
        rows.append([step, *(cell for pair in pairs for cell in pair)])
    write("curve.csv", rows)
    ids, words = encode(SHOWN.encode(), merges()), spell(merges())
    f = forward(p, ids[None], size)
    by_head = {f"{k}.{h}": f[f"weights{k}"][0, h] for k in range(size.blocks) for h in range(size.heads)}
    shown = max(
        by_head, key=lambda name: np.diagonal(by_head[name], -1).mean()
    )  # looks at the token before, most of all
    rows = [[shown, *(words[i].decode("utf-8", "replace").replace(" ", "·") for i in ids)]]
    rows += [[i, *(f"{w:.3f}" for w in line)] for i, line in enumerate(by_head[shown])]
    write("weights.csv", rows)
    write("samples.csv", [["prompt", "text"], *([a, b] for a, b in zip(PROMPTS, texts, strict=True))])


if __name__ == "__main__":
    table_wanted = "--write" in sys.argv
    everything = table_wanted or "--all" in sys.argv or wb.is_gpu()
    parts = [encode(part, merges()) for part in split(corpus())]
    floor = entropy(parts[0])[0]
    steps = STEPS if everything else SHORT
    trained, losses, held = train(*parts, Size(), steps, [] if table_wanted else table("bpe"))
    last = held[steps]
    print(f"{steps} steps of {trained.rows} tokens: from {losses[0]:.1f} to {last:.1f} nats per held-out token")
    if not last < floor:
        raise AssertionError(f"{last:.3f} nats per held-out token: not below the unigram entropy, {floor:.3f}")
    print(f"below {floor:.3f}, the entropy of single tokens")
    if everything:
        p = {name: w.astype(np.float64) for name, w in trained.named("weights").items()}
        texts = continued(p, trained.size)
        print(*texts, sep="\n---\n")
    if table_wanted:
        raw = [np.frombuffer(part, np.uint8).astype(np.int64) for part in split(corpus())]
        by_bytes = train(*raw, Size(vocabulary=256), steps, [])[1:]
        write_all({"bpe": (losses, held), "bytes": by_bytes}, p, trained.size, texts)
        write_mistakes(parts[0], Size())
