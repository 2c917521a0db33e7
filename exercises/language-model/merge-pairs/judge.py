"""One merge of byte pair encoding: where a pair stands, and which of overlapping ones is merged."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 256


def inputs(random, n, same):
    """With `same` the pair is a token twice, and the text has runs of it, also across the edges of blocks."""
    draw = random.generator
    a, b = (int(i) for i in draw.choice(600, 2, replace=False))
    ids = draw.choice([a, b, 700], n, p=(0.5, 0.3, 0.2))
    if same:
        b = a
        for edge in range(BLOCK, n, BLOCK):
            ids[edge - 1 - int(draw.integers(0, 4)) : edge + 3] = a
        ids[:3] = a
    return {"ids": ids.astype(np.int32), "n": n, "a": a, "b": b}


def marked(ids, n, a, b, mistake=""):
    """From left to right, as the text is read; with a mistake: see SAYS."""
    found = np.zeros(n, np.int32)
    pair = (ids[:-1] == a) & (ids[1:] == b)
    if mistake == "overlapping" or a != b:
        found[:-1] = pair
    elif mistake == "even-positions":
        found[:-1] = pair & (np.arange(n - 1) % 2 == 0)
    elif mistake == "neighbour-only":
        found[:-1] = pair
        found[1:][(ids[:-1] == a)] = 0
    elif mistake == "right-wins":
        found[:-1] = marked(ids[::-1], n, a, b)[:-1][::-1]
    else:
        i = 0
        while i + 1 < n:
            found[i] = pair[i]
            i += 2 if pair[i] else 1
    return found


SAYS = {
    "overlapping": (
        "two pairs that share a token are both merged. In a run a a a, the left pair is merged and the last a stays",
        "共用一个 token 的两对都合并了。在 a a a 里只合并左边一对，剩下最后一个 a",
    ),
    "right-wins": (
        "pairs are merged from the end of a run. Start at its beginning, as the text is read",
        "一段连续的 a 是从末尾开始合并的。应该从开头数起，和阅读的次序一致",
    ),
    "even-positions": (
        "only pairs at even positions are merged. What counts is the distance from the beginning of the run",
        "只合并了偶数位置上的对。该看的是离这一段开头有多远",
    ),
    "neighbour-only": (
        "only the first pair of a run is merged. A run of four tokens holds two pairs",
        "一段连续的 a 只合并了第一对。四个连续的 token 里有两对",
    ),
    "within-the-block": (
        "a run that crosses from one block into the next is counted anew there",
        "一段连续的 a 跨进下一个线程块之后又从头数了一遍",
    ),
}  # fmt: skip


def by_blocks(ids, n, a, b):
    """As if each block of threads began to count anew at its first token."""
    would = np.zeros(n, np.int32)
    for first in range(0, n, BLOCK):
        part = ids[first : first + BLOCK + 1]  # with the token after it, which a pair may need
        would[first : first + BLOCK] = marked(part, len(part), a, b)[:BLOCK]
    return would


def which(failure):
    """The mistake that explains every element."""
    given = {name: failure.inputs[name] for name in ("ids", "n", "a", "b")}
    would = {mistake: marked(**given, mistake=mistake) for mistake in SAYS}
    would["within-the-block"] = by_blocks(**given)
    for mistake, (en, zh) in SAYS.items():
        if (failure.got == would[mistake]).all():
            i = int(np.argmax(failure.wrong))
            values = {"i": i, "got": int(failure.got[i]), "want": int(failure.want[i])}
            head, head_zh = "{size}: hit[{i}] is {got}, expected {want}: ", "{size}：hit[{i}] 是 {got}，应为 {want}："
            return Cause(mistake, values, {"en": head + en, "zh": head_zh + zh}, "language-model#bpe")
    return None


exercise = Exercise(
    kernel="void mark(const int* ids, int* hit, int n, int a, int b)",
    sizes=Sizes([(2, 1), (3, 1), (31, 0), (33, 1), (255, 0), (257, 1), (513, 1), (700, 0), (1031, 1)]),
    inputs=inputs,
    reference=lambda **given: {"hit": marked(**given)},
    launch=lambda n, same: Launch(grid=-(-n // BLOCK), block=BLOCK),
    causes=(which,),
    budget=Budget(at=(1 << 12, 0), sectors_per_load=4.3, sectors_per_store=4.0, instructions_per_warp=60),
)
