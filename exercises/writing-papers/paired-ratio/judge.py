"""Ratios of sums over resamples of pairs, from random words that are given."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK = 128


def inputs(random, n, resamples):
    """Times of up to two seconds in nanoseconds, so that 32 bits do not hold the sum of two."""
    drift = random.integers((n,), 500_000_000, 1_900_000_000, np.int64)
    a = (drift * random.integers((n,), 90, 110, np.int64) // 100).astype(np.int32)
    b = (drift * random.integers((n,), 45, 55, np.int64) // 100).astype(np.int32)
    words = random.integers((resamples * n,), 0, (1 << 32) - 1, np.uint32)
    return {"a": a, "b": b, "words": words, "n": n, "resamples": resamples}


def ratios(a, b, words, n, resamples, mistake=""):
    words = words.reshape(resamples, n).astype(np.uint64)
    if mistake == "same-words":
        words = np.broadcast_to(words[:1], words.shape)
    k = words % np.uint64(n) if mistake == "modulo" else (words * np.uint64(n)) >> np.uint64(32)
    k = k.astype(np.int64)
    if mistake == "draws-left-out" and n >= 32:
        k = k[:, : n // 32 * 32]
    left, right = a[k].astype(np.int64), b[np.roll(k, -1, 0) if mistake == "apart" else k].astype(np.int64)
    if mistake == "mean-of-ratios":
        return (left / right).mean(1)
    sums = left.sum(1), right.sum(1)
    if mistake == "overflow":
        sums = tuple(x.astype(np.int32) for x in sums)
        return sums[0] / np.where(sums[1] == 0, 1, sums[1])
    return sums[1] / sums[0] if mistake == "turned-round" else sums[0] / sums[1]


def reference(a, b, words, n, resamples):
    return {"ratio": ratios(a, b, words, n, resamples)}


SAYS = {
    "same-words": (
        "every resample uses the words of the first one. Resample r begins at words[r * n]",
        "每个重采样用的都是第一个重采样的随机字。第 r 个应从 words[r * n] 开始",
    ),
    "modulo": (
        "the index is the word modulo n. Take the high half of word * n",
        "下标用的是随机字对 n 取余。应取 word * n 的高 32 位",
    ),
    "apart": (
        "a and b are resampled by different draws. One draw chooses a pair",
        "a 和 b 用了不同的抽样。一次抽取应选中一对",
    ),
    "mean-of-ratios": (
        "this is the mean of the ratios. Add up a and b first, then divide once",
        "这是比值的平均。应先分别求和，最后只除一次",
    ),
    "overflow": (
        "the sums overflow 32 bits. Add up in 64",
        "32 位整数装不下总和。请用 64 位累加",
    ),
    "draws-left-out": (
        "the draws after the last whole warp are missing. Let each lane take every 32nd draw up to n",
        "最后不满一个线程束的抽取漏掉了。每个 lane 应每隔 32 个取一个，直到 n",
    ),
    "turned-round": ("this is b over a, expected a over b", "算成了 b 除以 a，应为 a 除以 b"),
}


def which(failure):
    """The mistake that explains every ratio."""
    given = {name: failure.inputs[name] for name in ("a", "b", "words", "n", "resamples")}
    for mistake, (en, zh) in SAYS.items():
        would = ratios(**given, mistake=mistake)
        if (np.abs(failure.got - would) <= 1e-9 * np.abs(would)).all():
            r = int(np.argmax(failure.wrong))
            values = {"r": r, "got": f"{failure.got[r]:.9g}", "want": f"{failure.want[r]:.9g}"}
            return Cause(
                mistake,
                values,
                {
                    "en": "{size}: ratio[{r}] is {got}, expected {want}: " + en,
                    "zh": "{size}：ratio[{r}] 是 {got}，应为 {want}：" + zh,
                },
                "writing-papers#coverage",
            )
    return None


exercise = Exercise(
    kernel="void resample(const int* a, const int* b, const unsigned* words, double* ratio, int n, int resamples)",
    sizes=Sizes([(5, 1), (31, 3), (32, 5), (33, 4), (50, 9), (64, 31), (100, 17), (257, 6)]),
    inputs=inputs,
    reference=reference,
    launch=lambda n, resamples: Launch(grid=-(-resamples // (BLOCK // 32)), block=BLOCK),
    roundings=1,
    causes=(which,),
    budget=Budget(at=(64, 512), sectors_per_load=8.0, instructions_per_warp=400),
)
