"""The gradient of nine weights: which inputs each of them met. A wrong stride, padding or filter is named."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes


def outputs(size, stride):
    return (size - 1) // stride + 1  # 3 x 3, one ring of zeros


def inputs(random, h, v, stride):
    """Whole numbers, so that every sum is exact in any order."""
    p, q = outputs(h, stride), outputs(v, stride)
    x = random.generator.integers(1, 60, (h, v)).astype(np.float32)
    dy = random.generator.integers(1, 60, (p, q)).astype(np.float32)
    return {"x": x, "dy": dy, "h": h, "v": v, "p": p, "q": q, "stride": stride}


def summed(x, dy, step, tap=1, pad=1):
    """dw[r][s]: outputs are `step` apart in x, taps `tap`, and the first tap of the first output lies at -pad."""
    p, q = dy.shape
    far = 3 * max(step, tap) + 3
    room = np.zeros([2 * far + max(size, (n + 3) * max(step, tap)) for size, n in zip(x.shape, (p, q), strict=True)])
    room[far : far + x.shape[0], far : far + x.shape[1]] = x
    found = np.empty((3, 3))
    for r in range(3):
        for s in range(3):
            top, left = far - pad + r * tap, far - pad + s * tap
            found[r, s] = (room[top : top + p * step : step, left : left + q * step : step] * dy).sum()
    return found.ravel()


def reference(x, dy, h, v, p, q, stride):
    return {"dw": summed(x, dy.astype(float), stride)}


def wrapped(x, dy, stride):
    """What comes out if only the index into x is tested, so that a row's neighbours count as its ends."""
    (h, v), (p, q) = x.shape, dy.shape
    found = np.zeros(9)
    for tap in range(9):
        rows, columns = (np.arange(n) * stride + t - 1 for n, t in ((p, tap // 3), (q, tap % 3)))
        at = rows[:, None] * v + columns
        inside = (at >= 0) & (at < h * v)
        found[tap] = (np.where(inside, x.ravel()[np.clip(at, 0, h * v - 1)], 0) * dy).sum()
    return found


def mistake(failure):
    """A guess at what was done instead."""
    x, dy, stride = (failure.inputs[name] for name in ("x", "dy", "stride"))
    x, dy = x.astype(float), dy.astype(float)
    right = summed(x, dy, stride)
    lanes = (np.arange(dy.size) % 32 == 0).reshape(dy.shape)
    guesses = {
        "no-stride": summed(x, dy, 1),
        "stride-of-taps": summed(x, dy, 1, stride),
        "stride-twice": summed(x, dy, stride, stride),
        "no-padding": summed(x, dy, stride, pad=0),
        "padding-of-two": summed(x, dy, stride, pad=2),
        "turned": right[::-1],
        "taps-exchanged": right.reshape(3, 3).T.ravel(),
        "one-lane": summed(x, dy * lanes, stride),
        "wraps": wrapped(x, dy, stride),
        "negative": -right,
    }
    for name, guess in guesses.items():
        if np.array_equal(failure.got, guess) and not np.array_equal(guess, right):
            at = int(np.argmax(failure.wrong))
            about = {"at": f"[{at}]", "got": f"{failure.got[at]:.0f}", "want": f"{right[at]:.0f}"}
            sentence = {language: PREFIX[language] + text for language, text in SENTENCES[name].items()}
            return Cause(name, about, sentence, "convolution#weights")
    return None


PREFIX = {"en": "{size}: dw{at} is {got}, expected {want}: ", "zh": "{size}：dw{at} 是 {got}，应为 {want}："}
SENTENCES = {
    "no-stride": {
        "en": "neighbouring outputs are paired with neighbouring inputs. Output i began at input i * stride - 1",
        "zh": "相邻的输出配了相邻的输入。第 i 个输出是从第 i * stride - 1 个输入读起的",
    },
    "stride-of-taps": {
        "en": "the stride multiplies the tap instead of the output. Outputs are stride apart, taps are neighbours: "
        "i * stride + r - 1",
        "zh": "步长乘在了抽头上，而不是输出上。输出之间相隔 stride，抽头是紧挨着的：i * stride + r - 1",
    },
    "stride-twice": {
        "en": "the stride multiplies the taps, too. Only the outputs are stride apart",
        "zh": "抽头也乘了步长。只有输出之间才相隔 stride",
    },
    "no-padding": {
        "en": "the ring of zeros is forgotten: tap 0 of output 0 reads row -1, not row 0",
        "zh": "忘了四周那一圈零：第 0 个输出的第 0 个抽头读的是第 -1 行，不是第 0 行",
    },
    "padding-of-two": {
        "en": "there is one ring of zeros, but this is the sum for two",
        "zh": "四周只补了一圈零，这却是补两圈的结果",
    },
    "turned": {
        "en": "the nine results are right, but in reverse order: block r * 3 + s computes dw[r * 3 + s]. Only the "
        "gradient of x needs the filter turned round",
        "zh": "九个结果都对，次序却反了：第 r * 3 + s 个线程块算的是 dw[r * 3 + s]。只有求 x 的梯度才要翻转滤波器",
    },
    "taps-exchanged": {
        "en": "rows and columns of the filter are exchanged: r = blockIdx.x / 3 counts rows",
        "zh": "滤波器的行和列弄反了：r = blockIdx.x / 3 数的是行",
    },
    "one-lane": {
        "en": "only the outputs of lane 0 are counted. Add up the sums of all 32 lanes",
        "zh": "只计入了 lane 0 的那些输出。要把 32 个 lane 的和加起来",
    },
    "wraps": {
        "en": "left of a row you read the end of the row above. Test row and column each, not the index into x",
        "zh": "在一行的左边之外，读到的是上一行的末尾。行和列要分别检查，不能只检查 x 的下标",
    },
    "negative": {
        "en": "the sign is wrong: dw is the sum of x times dy",
        "zh": "符号反了：dw 就是 x 与 dy 乘积之和",
    },
}

exercise = Exercise(
    kernel="void gradient(const float* x, const float* dy, float* dw, int h, int v, int p, int q, int stride)",
    sizes=Sizes([(1, 1, 1), (4, 5, 1), (7, 9, 2), (8, 8, 2), (13, 11, 3), (17, 31, 2), (33, 20, 1)]),
    inputs=inputs,
    reference=reference,
    launch=lambda h, v, stride: Launch(grid=9, block=32),
    causes=(mistake,),
    budget=Budget(at=(64, 64, 2), instructions_per_warp=1500),
)
