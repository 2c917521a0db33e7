"""Rotary positions: neighbouring channels of each head are turned by an angle of their position."""

import numpy as np
from warpjudge import Budget, Cause, Exercise, Launch, Sizes

BLOCK, HEAD = 256, 16


def inputs(random, tokens, heads):
    draw = random.generator
    angle = draw.uniform(-3, 3, (tokens, HEAD // 2))
    return {
        "x": random.floats((tokens, heads * HEAD)),
        "cosine": np.cos(angle).astype(np.float32),
        "sine": np.sin(angle).astype(np.float32),
        "tokens": tokens,
        "d": heads * HEAD,
    }


def turned(x, cosine, sine, tokens, d, mistake=""):
    x = x.reshape(tokens, -1, HEAD).astype(np.float64)
    c, s = (table.astype(np.float64)[:, None] for table in (cosine, sine))
    if mistake == "shifted":
        c, s = (np.concatenate([table[:1], table[:-1]]) for table in (c, s))
    first, second = (x[..., : HEAD // 2], x[..., HEAD // 2 :]) if mistake == "halves" else (x[..., 0::2], x[..., 1::2])
    s = -s if mistake == "turned-back" else s
    a = first * c - second * s
    b = (a if mistake == "new-first" else first) * s + second * c
    y = np.concatenate([a, b], -1) if mistake == "halves" else np.stack([a, b], -1)
    return y.reshape(tokens, d)


def scale(x, cosine, sine, tokens, d):
    own = np.abs(x.astype(np.float64)).reshape(tokens, -1, HEAD // 2, 2)
    c, s = (np.abs(table.astype(np.float64))[:, None, :, None] for table in (cosine, sine))
    return {"y": (own * c + own[..., ::-1] * s).reshape(tokens, d) + 1e-36}  # denormals round more


SAYS = {
    "halves": (
        "channel c was turned together with channel c + 8 of its head. The pairs here are neighbours, 2 p and 2 p + 1",
        "通道 c 是和同一个头里的通道 c + 8 一起旋转的。这里成对的是相邻的通道，即 2 p 与 2 p + 1",
    ),
    "turned-back": (
        "turned the other way. The new first channel is a cos - b sin, the second a sin + b cos",
        "转反了方向。新的第一个通道是 a cos - b sin，第二个是 a sin + b cos",
    ),
    "new-first": (
        "the second channel was computed from the new first one. Both need the old values",
        "第二个通道用到了新的第一个通道。两个都应该由旧值算出",
    ),
    "shifted": (
        "the angles are those of the position before",
        "用的是前一个位置的角度",
    ),
}  # fmt: skip


def which(failure):
    """The mistake that explains every element."""
    for mistake, (en, zh) in SAYS.items():
        would = turned(**{k: v for k, v in failure.inputs.items() if k != "y"}, mistake=mistake)
        got = failure.got.reshape(would.shape)
        if (np.abs(got - would) <= 1e-5 * (1 + np.abs(would))).all():
            i = int(np.argmax(failure.wrong.ravel()))
            values = {"i": i, "got": f"{got.ravel()[i]:.6g}", "want": f"{failure.want.ravel()[i]:.6g}"}
            text = {
                "en": "{size}: y[{i}] is {got}, expected {want}: " + en,
                "zh": "{size}：y[{i}] 是 {got}，应为 {want}：" + zh,
            }
            return Cause(mistake, values, text, "language-model#rotary")
    return None


exercise = Exercise(
    kernel="void rotate(const float* x, const float* cosine, const float* sine, float* y, int tokens, int d)",
    sizes=Sizes([(1, 1), (2, 1), (3, 2), (7, 3), (31, 4), (33, 4), (64, 1), (65, 5)]),
    inputs=inputs,
    reference=lambda **given: {"y": turned(**given)},
    launch=lambda tokens, heads: Launch(grid=-(-tokens * heads * HEAD // 2 // BLOCK), block=BLOCK),
    roundings=4,
    scale=scale,
    causes=(which,),
    budget=Budget(
        at=(64, 4), bytes_loaded=32 << 10, bytes_stored=16 << 10, sectors_per_store=8.0, instructions_per_warp=60
    ),
)
