"""A random word for every step of every drive, from a counter: no two drives may share a stream."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 256
WORD = np.uint32


def mix(h):
    h = np.asarray(h, WORD).copy()
    h ^= h >> WORD(16)
    h *= WORD(0x7D4E9C2B)
    h ^= h >> WORD(15)
    h *= WORD(0x5A3B9E6D)
    h ^= h >> WORD(16)
    return h


def inputs(random, steps, n):
    return {"seed": int(random.integers(1, 1, 1 << 20, np.int32)[0]), "steps": steps, "n": n}


def words(seed, steps, n, mistake=""):
    i, t = np.arange(n, dtype=WORD)[None, :], np.arange(steps, dtype=WORD)[:, None]
    key = {"blocks-share": i % WORD(BLOCK), "lanes-share": i % WORD(32), "all-alike": i * WORD(0)}.get(mistake, i)
    start = WORD(0 if mistake == "no-seed" else seed)
    if mistake == "diagonals":
        return mix(start + key + t).ravel()
    if mistake == "one-word":
        t = t * WORD(0)
    out = mix(mix(start + key) + t)
    return (out.T if mistake == "by-drive" else out).ravel()


def reference(seed, steps, n):
    return {"out": words(seed, steps, n).view(np.int32)}


SAYS = {
    "all-alike": ("every drive has the same stream. Put i into the key", "所有轨迹用的是同一个随机流，要把 i 放进键里"),
    "lanes-share": (
        "drives 32 apart share a stream: the key is the lane. Use the number of the drive",
        "相隔 32 条的轨迹共用一个随机流：键用的是 lane。请用轨迹的编号",
    ),
    "blocks-share": (
        "drives 256 apart share a stream: the key is threadIdx.x. Use the number of the drive",
        "相隔 256 条的轨迹共用一个随机流：键用的是 threadIdx.x。请用轨迹的编号",
    ),
    "diagonals": (
        "drive i at step t has the word of drive i + 1 at step t - 1: i and t are added before they are mixed",
        "轨迹 i 在第 t 步的字，等于轨迹 i + 1 在第 t - 1 步的字：i 与 t 未经混合就相加了",
    ),
    "no-seed": ("the seed changes nothing. Add it to i", "种子不起作用，要把它加到 i 上"),
    "one-word": (
        "every step has the same word. Add t before the second mix",
        "每一步的字都一样，第二次混合之前要加上 t",
    ),
    "by-drive": (
        "the words of one drive stand side by side. Write out[t * n + i]",
        "同一条轨迹的字排在了一起，应当写 out[t * n + i]",
    ),
}


def which(failure):
    """The mistake that explains every word."""
    for mistake, (en, zh) in SAYS.items():
        if (failure.got.view(WORD) == words(**failure.inputs, mistake=mistake)).all():
            at = int(np.argmax(failure.wrong))
            t, i = divmod(at, failure.inputs["n"])
            say = {"en": "{size}: step {t} of drive {i}: " + en, "zh": "{size}：轨迹 {i} 的第 {t} 步：" + zh}
            return Cause(mistake, {"t": t, "i": i}, say, "driving-llm#rollouts")
    return None


exercise = Exercise(
    kernel="void draw_words(int* out, unsigned seed, int steps, int n)",
    sizes=Sizes([(1, 1), (2, 31), (3, 33), (5, 257), (4, 300), (7, 1000)]),
    inputs=inputs,
    reference=reference,
    launch=lambda steps, n: Launch(grid=-(-n // BLOCK), block=BLOCK),
    roundings=0,
    causes=(which,),
    budget=Budget(at=(8, 1 << 12), sectors_per_store=4.0),
)
