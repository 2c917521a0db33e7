from itertools import pairwise

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

WARPS = 4  # of a block, each with one ray
LONGEST = 100  # samples of a ray


def inputs(random, rays):
    lengths = random.integers(rays, 0, LONGEST)
    for i, special in enumerate((0, 1, 31, 32, 33, 64, 65)):
        if i < rays:
            lengths[i] = special
    random.generator.shuffle(lengths)
    return of_lengths(random, lengths)


def of_lengths(random, lengths):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    alpha = random.generator.uniform(0, 0.12, offsets[-1]).astype(np.float32)
    colour = random.generator.uniform(0.1, 1, offsets[-1]).astype(np.float32)
    return {"alpha": alpha, "colour": colour, "offsets": offsets, "rays": len(lengths)}


def composed(alpha, colour, offsets, rays, weigh):
    return np.array([weigh(alpha[a:b].astype(float)) @ colour[a:b].astype(float) for a, b in pairwise(offsets)])


def before(alpha):
    """What of the light passes all samples in front of each."""
    return np.cumprod(np.concatenate([[1.0], 1 - alpha[:-1]]))[: len(alpha)]


def of_warps(alpha):
    """As `before`, and anew from every 32nd sample on."""
    return np.concatenate([[], *(before(alpha[i : i + 32]) for i in range(0, len(alpha), 32))])


def reference(alpha, colour, offsets, rays):
    return {"out": composed(alpha, colour, offsets, rays, lambda a: a * before(a))}


KNOWN = {
    "inclusive": (
        lambda a: a * np.cumprod(1 - a),
        "{size}: out{at} is {got}, expected {want}: each sample is dimmed by itself, too; only those in front of it "
        "should dim it",
        "{size}：out{at} 是 {got}，应为 {want}：每个样本把自己也算进了遮挡，只有它前面的样本才遮挡它",
    ),
    "no-carry": (
        lambda a: a * of_warps(a),
        "{size}: out{at} is {got}, expected {want}: from sample 32 on, the product begins anew; what the 32 samples "
        "before let through must be carried over",
        "{size}：out{at} 是 {got}，应为 {want}：从第 32 个样本起，乘积又从头开始；前 32 个样本透过的比例要带到下一轮",
    ),
    "no-product": (
        lambda a: a,
        "{size}: out{at} is {got}, expected {want}: no sample is dimmed by those in front of it",
        "{size}：out{at} 是 {got}，应为 {want}：没有一个样本受到前面样本的遮挡",
    ),
    "first-warp": (
        lambda a: a * before(a) * (np.arange(len(a)) < 32),
        "{size}: out{at} is {got}, expected {want}: only the first 32 samples of a ray count",
        "{size}：out{at} 是 {got}，应为 {want}：每条光线只计了前 32 个样本",
    ),
    "no-alpha": (
        before,
        "{size}: out{at} is {got}, expected {want}: the colour is not multiplied by the sample's own alpha",
        "{size}：out{at} 是 {got}，应为 {want}：颜色没有乘以样本自己的 alpha",
    ),
}


def known(failure):
    """What somebody computes whose product is another."""
    for name, (weigh, english, chinese) in KNOWN.items():
        if np.allclose(failure.got, composed(**failure.inputs, weigh=weigh), rtol=1e-4, atol=1e-6):
            ray = int(np.argmax(failure.wrong))
            about = {"at": f"[{ray}]", "got": f"{failure.got[ray]:.5g}", "want": f"{failure.want[ray]:.5g}"}
            return Cause(name, about, {"en": english, "zh": chinese})
    return None


exercise = Exercise(
    kernel="void composite(const float* alpha, const float* colour, const int* offsets, float* out, int rays)",
    sizes=Sizes([1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 97]),
    inputs=inputs,
    reference=reference,
    launch=lambda rays: Launch(grid=-(-rays // WARPS), block=32 * WARPS),
    roundings=3 * LONGEST,
    causes=(known,),
    budget=Budget(at=256, sectors_per_load=4.0, instructions_per_warp=220),
)
