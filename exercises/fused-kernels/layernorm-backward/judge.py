"""LayerNorm's dx: two means per row. A term that is missing, not divided or of the wrong sign is named."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

EPSILON = 1e-5


def inputs(random, rows, n):
    """Gradients with a mean, and in the direction of x, so that every term counts."""
    draw = random.generator.standard_normal
    x = (draw((rows, n)) + random.generator.uniform(-4, 4, (rows, 1))).astype(np.float32)
    wide = x.astype(float)
    normal = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + EPSILON)
    return {
        "dy": (draw((rows, n)) + 2 + 1.5 * normal).astype(np.float32),
        "x": x,
        "gamma": (draw(n) + 1.5).astype(np.float32),
        "stats": np.stack([wide.mean(1), 1 / np.sqrt(wide.var(1) + EPSILON)], axis=1).astype(np.float32),
        "n": n,
    }


def parts(dy, x, gamma, stats):
    """g, the normalised x, and the scale of each row."""
    mean, scale = (stats.astype(float)[:, [i]] for i in (0, 1))
    return dy.astype(float) * gamma, (x.astype(float) - mean) * scale, scale


def gradient(g, normal, f, level=1.0, tilt=1.0):
    """f (g - level * mean of g - tilt * normal * mean of g normal); 1 is right."""
    return f * (g - level * g.mean(1, keepdims=True) - tilt * normal * (g * normal).mean(1, keepdims=True))


def reference(dy, x, gamma, stats, n):
    return {"dx": gradient(*parts(dy, x, gamma, stats))}


def size(dy, x, gamma, stats, n):
    """The terms; x - mean is off by a rounding of either, and a lane adds n / 32 terms."""
    g, _, f = parts(dy, x, gamma, stats)
    g, normal = np.abs(g), (np.abs(x) + np.abs(stats[:, [0]])) * f
    terms = g + g.mean(1, keepdims=True) + normal * (g * normal).mean(1, keepdims=True)
    return {"dx": f * terms * (1 + n / 256)}


def term(failure):
    """A guess at what was done instead."""
    given = {name: failure.inputs[name] for name in ("dy", "x", "gamma", "stats")}
    g, normal, f = parts(**given)
    n = g.shape[1]
    plain = given["dy"].astype(float)
    guesses = {
        "no-level": gradient(g, normal, f, level=0),
        "no-tilt": gradient(g, normal, f, tilt=0),
        "not-divided": gradient(g, normal, f, level=n, tilt=n),
        "level-not-divided": gradient(g, normal, f, level=n),
        "tilt-not-divided": gradient(g, normal, f, tilt=n),
        "tilt-sign": gradient(g, normal, f, tilt=-1),
        "gamma-outside": gradient(plain, normal, f) * given["gamma"],
        "no-gamma": gradient(plain, normal, f),
        "no-scale": gradient(g, normal, 1.0),
        "first-row": gradient(*parts(given["dy"], given["x"], given["gamma"], given["stats"][[0] * len(plain)])),
    }
    for name, guess in guesses.items():
        if np.allclose(failure.got, guess, rtol=1e-3, atol=1e-3 * np.abs(guess).max()):
            row, column = divmod(int(np.argmax(failure.wrong)), n)
            got, want = failure.got[row, column], failure.want[row, column]
            about = {"at": f"[{row}][{column}]", "got": f"{got:.5g}", "want": f"{want:.5g}"}
            return Cause(name, about, SENTENCES[name], "fused-kernels#backward")
    return None


SENTENCES = {
    "no-level": {
        "en": "{size}: dx{at} is {got}, expected {want}: the mean of g over the row is not subtracted. Every x changes "
        "the row's mean",
        "zh": "{size}：dx{at} 是 {got}，应为 {want}：没有减去 g 在这一行上的均值。每个 x 都会改变这一行的均值",
    },
    "no-tilt": {
        "en": "{size}: dx{at} is {got}, expected {want}: the term with the mean of g times the normalised x is "
        "missing. Every x changes the row's variance, too",
        "zh": "{size}：dx{at} 是 {got}，应为 {want}：少了“g 乘归一化的 x 的均值”这一项。每个 x 也会改变这一行的方差",
    },
    "not-divided": {
        "en": "{size}: dx{at} is {got}, expected {want}: both sums over the row are right, but they are sums: divide "
        "them by n",
        "zh": "{size}：dx{at} 是 {got}，应为 {want}：两个总和都对，但公式里是均值：要除以 n",
    },
    "level-not-divided": {
        "en": "{size}: dx{at} is {got}, expected {want}: the sum of g is not divided by n",
        "zh": "{size}：dx{at} 是 {got}，应为 {want}：g 的总和没有除以 n",
    },
    "tilt-not-divided": {
        "en": "{size}: dx{at} is {got}, expected {want}: the sum of g times the normalised x is not divided by n",
        "zh": "{size}：dx{at} 是 {got}，应为 {want}：“g 乘归一化的 x”的总和没有除以 n",
    },
    "tilt-sign": {
        "en": "{size}: dx{at} is {got}, expected {want}: the term of the variance has the wrong sign: it is subtracted",
        "zh": "{size}：dx{at} 是 {got}，应为 {want}：方差那一项的符号反了，应当减去",
    },
    "gamma-outside": {
        "en": "{size}: dx{at} is {got}, expected {want}: the result is multiplied by gamma. Multiply dy by gamma "
        "before taking the means: gamma differs from column to column",
        "zh": "{size}：dx{at} 是 {got}，应为 {want}：gamma 乘在了结果上。各列的 gamma 不同，应当在求均值之前乘进 g",
    },
    "no-gamma": {
        "en": "{size}: dx{at} is {got}, expected {want}: dy is not multiplied by gamma",
        "zh": "{size}：dx{at} 是 {got}，应为 {want}：dy 没有乘以 gamma",
    },
    "first-row": {
        "en": "{size}: dx{at} is {got}, expected {want}: every row uses mean and scale of row 0. Row r has its own at "
        "stats[2 * r] and stats[2 * r + 1]",
        "zh": "{size}：dx{at} 是 {got}，应为 {want}：每一行都用了第 0 行的均值和缩放系数。第 r 行的在 stats[2 * r] 和 "
        "stats[2 * r + 1]",
    },
    "no-scale": {
        "en": "{size}: dx{at} is {got}, expected {want}: the result is not multiplied by scale",
        "zh": "{size}：dx{at} 是 {got}，应为 {want}：结果没有乘以 scale",
    },
}


exercise = Exercise(
    kernel="void backward(const float* dy, const float* x, const float* gamma, const float* stats, float* dx, int n)",
    sizes=Sizes([(3, 5), (8, 17), (7, 31), (9, 32), (5, 33), (16, 97), (6, 256), (9, 519), (5, 1031)]),
    inputs=inputs,
    reference=reference,
    launch=lambda rows, n: Launch(grid=rows, block=32),
    roundings=8,
    scale=size,
    causes=(term,),
    budget=Budget(at=(16, 1024), bytes_loaded=400 << 10),
)
