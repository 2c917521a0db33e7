"""A language model in NumPy: every layer with its gradient, the whole model, AdamW, and sampling."""

from dataclasses import dataclass

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Size:
    """Of a model: tokens it knows, how far it looks back, channels, heads, blocks; and the sequences of a batch."""

    vocabulary: int = 512
    context: int = 64
    width: int = 64
    heads: int = 4
    blocks: int = 2
    batch: int = 8

    @property
    def head(self) -> int:
        return self.width // self.heads

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Of all parameters: matrices first, since only these decay; then the gains of the normalisations."""
        d, found = self.width, {"embedding": (self.vocabulary, self.width)}
        for k in range(self.blocks):
            found |= {f"qkv{k}": (d, 3 * d), f"join{k}": (d, d), f"up{k}": (d, 4 * d), f"down{k}": (4 * d, d)}
        for k in range(self.blocks):
            found |= {f"gain_a{k}": (d,), f"gain_m{k}": (d,)}
        return found | {"gain": (d,)}


def start(rng: np.random.Generator, size: Size) -> Arrays:
    """Random matrices, small where a residual is written; gains are 1."""
    p = {}
    for name, shape in size.shapes.items():
        deviation = size.width**-0.5 if name == "embedding" else shape[0] ** -0.5
        if name.startswith(("join", "down")):
            deviation /= (2 * size.blocks) ** 0.5
        p[name] = rng.standard_normal(shape) * deviation if len(shape) == 2 else np.ones(shape)
    return p


# --8<-- [start:norm]
EPSILON = 1e-5


def normalise(x: np.ndarray, gain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """RMSNorm of each row, and 1 / root mean square."""
    scale = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON)
    return x * scale * gain, scale


def normalise_backward(dy: np.ndarray, x: np.ndarray, gain: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, ...]:
    """Gradients for x and gain."""
    unit, g = x * scale, dy * gain
    return scale * (g - unit * (g * unit).mean(-1, keepdims=True)), (dy * unit).reshape(-1, len(gain)).sum(0)


# --8<-- [end:norm]


# --8<-- [start:gelu]
SLOPE, CUBIC = (2 / np.pi) ** 0.5, 0.044715


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(SLOPE * (x + CUBIC * x**3)))


def gelu_backward(dy: np.ndarray, x: np.ndarray) -> np.ndarray:
    t = np.tanh(SLOPE * (x + CUBIC * x**3))
    return dy * 0.5 * (1 + t + x * (1 - t * t) * SLOPE * (1 + 3 * CUBIC * x * x))


# --8<-- [end:gelu]


# --8<-- [start:rotary]
def angles(context: int, head: int) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine for each position and pair of channels; the first pair turns by a radian per position."""
    turn = np.outer(np.arange(context), 10000.0 ** (-np.arange(0, head, 2) / head))
    return np.cos(turn), np.sin(turn)


def rotate(x: np.ndarray, cosine: np.ndarray, sine: np.ndarray) -> np.ndarray:
    """Turn channels 0 and 1, 2 and 3, … of every position (the last axis but one). Back: with -sine."""
    even, odd = x[..., 0::2], x[..., 1::2]
    y = np.empty_like(x)
    y[..., 0::2], y[..., 1::2] = even * cosine - odd * sine, even * sine + odd * cosine
    return y


# --8<-- [end:rotary]


# --8<-- [start:attention]
def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Causal attention over the last axis but one; also the weights."""
    scores = q @ k.swapaxes(-1, -2) / q.dtype.type(q.shape[-1] ** 0.5)
    scores = np.where(np.tri(len(scores[0, 0]), dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights @ v, weights


def attend_backward(dout: np.ndarray, q: np.ndarray, k: np.ndarray, v: np.ndarray, weights: np.ndarray) -> tuple:
    """Gradients for q, k and v."""
    dweights = dout @ v.swapaxes(-1, -2)
    dscores = weights * (dweights - (dweights * weights).sum(-1, keepdims=True))
    dscores /= q.dtype.type(q.shape[-1] ** 0.5)
    return dscores @ k, dscores.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ dout


# --8<-- [end:attention]


# --8<-- [start:loss]
def cross_entropy(logits: np.ndarray, target: np.ndarray) -> np.ndarray:
    """-log softmax(logits)[target] of each row, in nats."""
    top = logits.max(-1, keepdims=True)
    chosen = np.take_along_axis(logits, target[..., None], -1)
    return (np.log(np.exp(logits - top).sum(-1, keepdims=True)) + top - chosen)[..., 0]


def cross_entropy_backward(logits: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Of the mean over all tokens."""
    p = np.exp(logits - logits.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    np.put_along_axis(p, target[..., None], np.take_along_axis(p, target[..., None], -1) - 1, -1)
    return p / p.dtype.type(target.size)


# --8<-- [end:loss]


def heads_of(x: np.ndarray, size: Size) -> np.ndarray:
    """[batch, time, width] as [batch, head, time, channel]."""
    return x.reshape(*x.shape[:2], -1, size.head).swapaxes(1, 2)


def joined(x: np.ndarray) -> np.ndarray:
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


# --8<-- [start:model]
def forward(p: Arrays, tokens: np.ndarray, size: Size) -> Arrays:
    """All that the backward pass needs, by name; `x0`, `x1`, … is the residual stream before each block."""
    x, f = p["embedding"][tokens], {}
    turn = [t.astype(x.dtype) for t in angles(tokens.shape[1], size.head)]
    for k in range(size.blocks):
        f[f"x{k}"] = x
        n, f[f"scale_a{k}"] = normalise(x, p[f"gain_a{k}"])
        q, key, v = (heads_of(part, size) for part in np.split(n @ p[f"qkv{k}"], 3, -1))
        f[f"q{k}"], f[f"k{k}"], f[f"v{k}"], f[f"n_a{k}"] = rotate(q, *turn), rotate(key, *turn), v, n
        out, f[f"weights{k}"] = attend(f[f"q{k}"], f[f"k{k}"], v)
        f[f"out{k}"] = joined(out)
        x = f[f"middle{k}"] = x + f[f"out{k}"] @ p[f"join{k}"]
        f[f"n_m{k}"], f[f"scale_m{k}"] = normalise(x, p[f"gain_m{k}"])
        f[f"up{k}"] = f[f"n_m{k}"] @ p[f"up{k}"]
        f[f"act{k}"] = gelu(f[f"up{k}"])
        x = x + f[f"act{k}"] @ p[f"down{k}"]
    f["last"] = x
    f["n"], f["scale"] = normalise(x, p["gain"])
    f["logits"] = f["n"] @ p["embedding"].T
    return f


def loss(p: Arrays, tokens: np.ndarray, target: np.ndarray, size: Size) -> float:
    """Nats per token."""
    return float(cross_entropy(forward(p, tokens, size)["logits"], target).mean(dtype=np.float64))


def linear_backward(dy: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients for x and w, if y = x w."""
    return dy @ w.T, x.reshape(-1, len(w)).T @ dy.reshape(-1, w.shape[1])


def gradients(p: Arrays, tokens: np.ndarray, target: np.ndarray, size: Size, f: Arrays | None = None) -> Arrays:
    """Of the loss, for every parameter."""
    f, g = f or forward(p, tokens, size), {}
    cosine, sine = (t.astype(f["n"].dtype) for t in angles(tokens.shape[1], size.head))
    dlogits = cross_entropy_backward(f["logits"], target)
    dn, dembedding = linear_backward(dlogits, f["n"], p["embedding"].T)
    g["embedding"] = dembedding.T
    dx, g["gain"] = normalise_backward(dn, f["last"], p["gain"], f["scale"])
    for k in reversed(range(size.blocks)):
        dact, g[f"down{k}"] = linear_backward(dx, f[f"act{k}"], p[f"down{k}"])
        dn, g[f"up{k}"] = linear_backward(gelu_backward(dact, f[f"up{k}"]), f[f"n_m{k}"], p[f"up{k}"])
        d, g[f"gain_m{k}"] = normalise_backward(dn, f[f"middle{k}"], p[f"gain_m{k}"], f[f"scale_m{k}"])
        dx = dx + d  # around the layer, and through it
        dout, g[f"join{k}"] = linear_backward(dx, f[f"out{k}"], p[f"join{k}"])
        dq, dk, dv = attend_backward(heads_of(dout, size), *(f[f"{of}{k}"] for of in ("q", "k", "v", "weights")))
        turned = rotate(dq, cosine, -sine), rotate(dk, cosine, -sine), dv
        dqkv = np.concatenate([joined(part) for part in turned], -1)
        dn, g[f"qkv{k}"] = linear_backward(dqkv, f[f"n_a{k}"], p[f"qkv{k}"])
        d, g[f"gain_a{k}"] = normalise_backward(dn, f[f"x{k}"], p[f"gain_a{k}"], f[f"scale_a{k}"])
        dx = dx + d
    np.add.at(g["embedding"], tokens, dx)  # the embedding is used twice: its gradients add up
    return g


# --8<-- [end:model]


# --8<-- [start:adamw]
RATE, WARM, STEPS, DECAY, DECAY2, TINY, SHRINK = 8e-3, 20, 800, 0.9, 0.95, 1e-8, 0.1


def rate(step: int, steps: int = STEPS) -> float:
    """Up in a straight line for WARM steps, then down to a tenth along a cosine. The first step is 1."""
    if step <= WARM:
        return RATE * step / WARM
    return RATE * (0.55 + 0.45 * np.cos(np.pi * (step - WARM) / (steps - WARM)))


class AdamW:
    """Loshchilov and Hutter's optimiser: the decay is no part of the gradient. Gains do not decay."""

    def __init__(self, p: Arrays) -> None:
        self.m, self.v = ({name: np.zeros_like(w) for name, w in p.items()} for _ in range(2))
        self.steps = 0

    def step(self, p: Arrays, g: Arrays, lr: float) -> None:
        """Change p in place."""
        self.steps += 1
        c1, c2 = 1 - DECAY**self.steps, 1 - DECAY2**self.steps
        for name, w in p.items():
            self.m[name] += (1 - DECAY) * (g[name] - self.m[name])
            self.v[name] += (1 - DECAY2) * (g[name] ** 2 - self.v[name])
            if w.ndim == 2:
                w *= 1 - lr * SHRINK
            w -= lr * (self.m[name] / c1) / (np.sqrt(self.v[name] / c2) + TINY)


# --8<-- [end:adamw]


def draw_batch(rng: np.random.Generator, ids: np.ndarray, size: Size) -> tuple[np.ndarray, np.ndarray]:
    """Random stretches of the text, and the same moved on by one: what should come next."""
    at = rng.integers(0, len(ids) - size.context, size.batch)[:, None] + np.arange(size.context)
    return ids[at], ids[at + 1]


def stretches(ids: np.ndarray, size: Size) -> np.ndarray:
    """Where the tokens of a text stand, cut into whole batches of stretches: [batches, batch, context]."""
    count = (len(ids) - 1) // (size.batch * size.context)
    return np.arange(count * size.batch * size.context).reshape(count, size.batch, size.context)


# --8<-- [start:sample]
def sample(
    p: Arrays,
    tokens: list[int],
    count: int,
    size: Size,
    rng: np.random.Generator,
    temperature: float = 0.8,
    top: int = 40,
) -> list[int]:
    """`count` more tokens, each drawn from the `top` most likely ones; cold temperatures prefer the likeliest."""
    for _ in range(count):
        seen = np.array([tokens[-size.context :]])
        logits = forward(p, seen, size)["logits"][0, -1] / temperature
        best = np.argpartition(logits, -top)[-top:]
        weights = np.exp(logits[best] - logits[best].max())
        tokens = [*tokens, int(rng.choice(best, p=weights / weights.sum()))]
    return tokens


# --8<-- [end:sample]
