"""Indices below n without bias: multiply, and refuse the words that would make some indices more likely."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK, TRIES = 256, 4
MANY = 3 << 30  # a quarter of all words is refused


def inputs(random, count, n):
    return {"words": random.integers((TRIES * count,), 0, (1 << 32) - 1, np.uint32), "n": np.uint32(n), "count": count}


def indices(words, n, count, mistake=""):
    words, n = words.reshape(TRIES, count).astype(np.uint64), np.uint64(n)
    product = words * n
    low, high = product & np.uint64(0xFFFFFFFF), product >> np.uint64(32)
    surplus = n if mistake == "too-strict" else np.uint64((1 << 32) % int(n))
    kept = (words if mistake == "upper-half" else low) >= surplus
    if mistake == "nothing-refused":
        kept = np.ones_like(kept)
    if mistake == "one-word":
        kept[1:] = False
    value = words % n if mistake == "modulo" else high
    order = range(TRIES) if mistake == "last-word" else reversed(range(TRIES))
    found = np.full(count, 0 if mistake == "zero-for-none" else n, np.uint64)
    for k in order:
        found = np.where(kept[k], value[k], found)
    return found.astype(np.uint32)


def reference(words, n, count):
    return {"index": indices(words, n, count)}


SAYS = {
    "modulo": (
        "this is the word modulo n, not the high half of word * n",
        "这是随机字对 n 取余，不是 word * n 的高 32 位",
    ),
    "nothing-refused": (
        "no word is refused, so some indices come up more often than others",
        "没有拒绝任何随机字，有些下标因此比别的更常出现",
    ),
    "too-strict": (
        "words are refused although they do no harm: the low half is compared with n. Compare it with 2^32 mod n",
        "拒绝了没有问题的随机字：低 32 位是与 n 比较的。应与 2^32 mod n 比较",
    ),
    "upper-half": (
        "the word itself is compared with 2^32 mod n. Compare the low half of word * n",
        "与 2^32 mod n 比较的是随机字本身。应比较 word * n 的低 32 位",
    ),
    "last-word": (
        "a later word is used. The first that is not refused counts",
        "用了后面的随机字。应取第一个没被拒绝的",
    ),
    "zero-for-none": ("all four words are refused, so n is expected", "四个随机字都被拒绝，应写 n"),
    "one-word": ("only the first word is tried. There are four", "只试了第一个随机字。一共有四个"),
}


def which(failure):
    """The mistake that explains every index."""
    given = {name: failure.inputs[name] for name in ("words", "n", "count")}
    for mistake, (en, zh) in SAYS.items():
        if (failure.got == indices(**given, mistake=mistake)).all():
            i = int(np.argmax(failure.wrong))
            values = {"i": i, "got": int(failure.got[i]), "want": int(failure.want[i])}
            return Cause(
                mistake,
                values,
                {
                    "en": "{size}: index[{i}] is {got}, expected {want}: " + en,
                    "zh": "{size}：index[{i}] 是 {got}，应为 {want}：" + zh,
                },
                "writing-papers#philox",
            )
    return None


exercise = Exercise(
    kernel="void fair(const unsigned* words, unsigned* index, unsigned n, int count)",
    sizes=Sizes(
        [
            (1, 1),
            (31, 50),
            (33, MANY),
            (256, 1 << 20),
            (257, MANY + 1),
            (1000, (1 << 32) - 5),
            (1024, MANY),
            (2049, 2_863_311_531),
        ]
    ),
    inputs=inputs,
    reference=reference,
    launch=lambda count, n: Launch(grid=-(-count // BLOCK), block=BLOCK),
    roundings=0,
    causes=(which,),
    budget=Budget(at=(1 << 13, MANY), sectors_per_load=4.0, sectors_per_store=4.0),
)
