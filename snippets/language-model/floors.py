"""Bytes, characters and tokens of the corpus; exact entropies; and what train.py --all left in its tables.

This program needs no GPU and no CUDA.
"""

import csv
import os
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import warpbench as wb
from _text import corpus, decode, encode, entropy, merges, pair_model, spell, split

TABLES = ("curve.csv", "weights.csv", "samples.csv", "mistakes.csv")
BITS = 1 / np.log(2)


def read(name: str) -> list[list[str]]:
    with Path(__file__).with_name(name).open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def compare_units() -> dict[str, tuple[float, float, float]]:
    """One text in three units. Returns, by unit: bytes that one covers, and the entropies of one and of pairs."""
    seen, unseen = split(corpus())
    as_bytes = [np.frombuffer(part, np.uint8).astype(np.int64) for part in (seen, unseen)]
    as_characters = [np.array([ord(c) for c in part.decode()]) for part in (seen, unseen)]
    as_tokens = [encode(part, merges()) for part in (seen, unseen)]
    if decode(np.concatenate(as_tokens), merges()) != corpus():
        raise AssertionError("decoding the tokens does not give the text back")
    found = {}
    print("            kinds   units   bytes    nats: one   pairs   bits per byte: one   pairs")
    for name, ids in (("bytes", as_bytes), ("characters", as_characters), ("tokens", as_tokens)):
        one, two = entropy(ids[0])
        each = len(seen) / len(ids[0])
        kinds = len(np.unique(ids[0]))
        bits = BITS / each
        print(f"{name:12}{kinds:5}{len(ids[0]):8}{each:8.2f}{one:13.3f}{two:8.3f}{one * bits:21.3f}{two * bits:8.3f}")
        wb.value(f"{name}.count", len(ids[0]), "count")
        wb.value(f"{name}.kinds", kinds, "count")
        wb.value(f"{name}.each", each, "1")
        found[name] = each, one, two
    pairs = pair_model(as_tokens[0], as_tokens[1], 512)
    for name, nats in (("unigram", found["tokens"][1]), ("bigram", found["tokens"][2]), ("pairs", pairs)):
        wb.value(f"{name}.nats", nats, "1")
    print(f"held-out text by counts of pairs of tokens: {pairs:.3f} nats per token")
    return found


def name_tokens() -> None:
    """Some tokens, as text."""
    words = spell(merges())
    for part in (words[256:272], words[-16:]):
        print(" ".join(repr(word.decode("utf-8", "backslashreplace")) for word in part))
    halves = sum(b"\xef\xbf\xbd" in word.decode("utf-8", "replace").encode() for word in words[256:])
    wb.value("tokens.halves", halves, "count")
    print(f"{halves} of {len(words) - 256} merged tokens are no whole characters")


def show_curve(found: dict) -> None:
    """Losses of all steps, averaged over twenty; and of the held-out text, also in bits per byte."""
    head, *rows = read("curve.csv")
    columns = {name: [row[k] for row in rows] for k, name in enumerate(head)}
    for kind, unit in (("bpe", "tokens"), ("bytes", "bytes")):
        losses = np.array(columns[kind], float)
        means = losses.reshape(-1, 20).mean(1)
        steps = np.arange(20, len(losses) + 1, 20)
        held = [(int(s), float(v)) for s, v in zip(columns["step"], columns[f"{kind}_held"], strict=True) if v]
        at, y = zip(*held, strict=True)
        each = found[unit][0]
        wb.series(f"{kind}.seen", steps, means, x_unit="count", unit="1")
        wb.series(f"{kind}.held", at, y, x_unit="count", unit="1")
        wb.series(f"{kind}.bits", at, np.array(y) * BITS / each, x_unit="count", unit="1")
        wb.value(f"{kind}.final", y[-1], "1")
        wb.value(f"{kind}.last", means[-1], "1")
        wb.value(f"{kind}.final_bits", y[-1] * BITS / each, "1")
        bits = y[-1] * BITS / each
        told = f"{means[-1]:.3f} nats seen, {y[-1]:.3f} held out, {bits:.3f} bits per byte"
        print(f"{kind:6} after {at[-1]} steps: {told}")


def show_mistakes() -> None:
    """What the loss says of mistakes in the backward pass: values none.loss, mistake1.loss, …"""
    rows = read("mistakes.csv")[1:]
    for k, (mistake, loss) in enumerate(rows):
        wb.value(f"mistake{k}.loss" if k else "none.loss", float(loss), "1")
        print(f"  {mistake:32} {float(loss):.2f} nats in steps 51 to 60")


def show_head() -> None:
    """The attention weights of one head, and how much of them goes to the token before."""
    (name, *labels), *rows = read("weights.csv")
    weights = np.array([row[1:] for row in rows], float)
    wb.matrix("weights", weights, rows=labels, columns=labels)
    wb.value("head.previous", np.diagonal(weights, -1).mean(), "1")
    print(f"head {name} (block, head): {np.diagonal(weights, -1).mean():.2f} of its weight is on the token before")


if __name__ == "__main__":
    wb.measure_cpu()
    units = compare_units()
    name_tokens()
    show_curve(units)
    show_mistakes()
    show_head()
    for prompt, text in read("samples.csv")[1:]:
        print(f"\n[{prompt}]{text[len(prompt) :]}")
