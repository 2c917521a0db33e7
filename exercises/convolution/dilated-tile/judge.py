"""A dilated 3 x 3 convolution through a tile with a halo. What the halo or the taps got wrong is named."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes


def inputs(random, rows, columns, d):
    """Whole numbers, so that every sum is exact; no weight is 0, and no two are the same."""
    w = random.generator.permutation(np.arange(1, 10)) * random.generator.choice([-1, 1], 9)
    x = random.generator.integers(1, 1000, (rows, columns)).astype(np.float32)
    return {"x": x, "w": w.astype(np.float32), "rows": rows, "columns": columns, "d": d}


def convolved(x, w, d, step=None, first=None, mode="constant"):
    """Taps `step` apart, the first of them `first` above and to the left of the output."""
    step, first = d if step is None else step, d if first is None else first
    far = 2 * max(d, 1) + 2
    wide = np.pad(x.astype(float), far, mode=mode)
    h, v = x.shape
    at = far - first
    return sum(
        w[3 * r + s] * wide[at + r * step : at + r * step + h, at + s * step : at + s * step + v]
        for r in range(3)
        for s in range(3)
    )


def reference(x, w, rows, columns, d):
    return {"y": convolved(x, w.astype(float), d)}


def mistake(failure):
    """A guess at what was done instead."""
    x, w, d = (failure.inputs[name] for name in ("x", "w", "d"))
    w = w.astype(float)
    guesses = {
        "late": convolved(x, w, d, first=d - 1),
        "early": convolved(x, w, d, first=d + 1),
        "not-padded": convolved(x, w, d, first=0),
        "adjacent": convolved(x, w, d, step=1),
        "adjacent-centred": convolved(x, w, d, step=1, first=1),
        "flipped": convolved(x, w[::-1], d),
        "transposed-taps": convolved(x, w.reshape(3, 3).T.ravel(), d),
        "edges-repeated": convolved(x, w, d, mode="edge"),
    }
    for name, guess in guesses.items():
        if np.array_equal(failure.got, guess) and not np.array_equal(guess, failure.want):
            row, column = (int(i) for i in np.argwhere(failure.wrong.reshape(failure.want.shape))[0])
            about = {"at": f"[{row}][{column}]", "got": f"{failure.got[row, column]:.0f}"}
            about["want"] = f"{failure.want[row, column]:.0f}"
            sentence = {language: PREFIX[language] + text for language, text in SENTENCES[name].items()}
            return Cause(name, about, sentence, "convolution#shape")
    return None


PREFIX = {"en": "{size}: y{at} is {got}, expected {want}: ", "zh": "{size}：y{at} 是 {got}，应为 {want}："}
SENTENCES = {
    "late": {
        "en": "every tap reads one row and one column too far down and right. The first tap lies d above and d "
        "to the left of the output",
        "zh": "每个抽头都往下、往右多读了一行一列。第一个抽头在输出的上方 d 行、左方 d 列",
    },
    "early": {
        "en": "every tap reads one row and one column too far up and left. The first tap lies d above and d to "
        "the left of the output, not d + 1",
        "zh": "每个抽头都往上、往左多读了一行一列。第一个抽头在输出的上方 d 行、左方 d 列，不是 d + 1",
    },
    "not-padded": {
        "en": "the first tap reads the place of the output itself. With d zeros around x it lies d above and d to "
        "the left",
        "zh": "第一个抽头读的就是输出所在的位置。x 四周各补 d 圈零，所以它在上方 d 行、左方 d 列",
    },
    "adjacent": {
        "en": "the taps are neighbours in the tile. They lie d apart",
        "zh": "在分块里，各抽头是紧挨着读的。它们应当相隔 d",
    },
    "adjacent-centred": {
        "en": "this is the convolution without dilation: halo and taps are those of d = 1",
        "zh": "这是不带空洞的卷积：halo 和抽头都是按 d = 1 算的",
    },
    "flipped": {
        "en": "the filter is turned round. Networks call the correlation a convolution: w[0] goes with the upper "
        "left tap",
        "zh": "滤波器被翻转了。神经网络所说的卷积其实是互相关：w[0] 对应左上角的抽头",
    },
    "transposed-taps": {
        "en": "rows and columns of the filter are exchanged: w[r * 3 + s] goes r * d down and s * d to the right",
        "zh": "滤波器的行和列弄反了：w[r * 3 + s] 对应往下 r * d、往右 s * d",
    },
    "edges-repeated": {
        "en": "outside of x the nearest element is taken. There are zeros",
        "zh": "在 x 之外取了最近的元素。那里应当是零",
    },
}

exercise = Exercise(
    kernel="void conv(const float* x, const float* w, float* y, int rows, int columns, int d)",
    sizes=Sizes([(1, 1, 2), (3, 5, 2), (16, 16, 3), (17, 33, 3), (20, 18, 8), (33, 15, 2)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, columns, d: Launch(grid=(-(-columns // 16), -(-rows // 16)), block=(16, 16)),
    causes=(mistake,),
    budget=Budget(at=(64, 64, 2), bytes_loaded=84 << 10),
)
