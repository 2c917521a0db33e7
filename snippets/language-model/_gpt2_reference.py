"""GPT-2 in NumPy and float64, written with matrices of attention weights. It can round where the kernels round.

`Model(config, parameters)` is exact. With `rounded=True` it rounds to bf16 whatever the kernels store in bf16, and
nothing else: how far the two lie apart is what rounding alone costs.
"""

import numpy as np
from _gpt2 import HEAD, Arrays, Config, from_bf16, to_bf16
from _model import cross_entropy, cross_entropy_backward, gelu, gelu_backward

EPSILON = 1e-5


class Model:
    """Forward, then backward; `f` holds what the forward pass found, `g` the gradients."""

    def __init__(self, config: Config, p: Arrays, rounded: bool = False) -> None:
        self.config, self.rounded = config, rounded
        self.p = {name: w.astype(np.float64) for name, w in p.items()}
        self.f: Arrays = {}
        self.g: Arrays = {}

    def keep(self, x: np.ndarray) -> np.ndarray:
        """As it is after it was stored in bf16."""
        return from_bf16(to_bf16(x)).astype(np.float64) if self.rounded else x

    # --- Layers: [rows, channels] ---

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.p[name].T + self.p[f"bias_{name}"]

    def linear_backward(self, dy: np.ndarray, x: np.ndarray, name: str) -> np.ndarray:
        self.g[name], self.g[f"bias_{name}"] = dy.T @ x, dy.sum(0)
        return dy @ self.p[name]

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        unit = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + EPSILON)
        return self.keep(unit * self.p[f"gain{name}"] + self.p[f"bias{name}"])

    def norm_backward(self, dy: np.ndarray, x: np.ndarray, name: str) -> np.ndarray:
        deviation = np.sqrt(x.var(1, keepdims=True) + EPSILON)
        unit, g = (x - x.mean(1, keepdims=True)) / deviation, dy * self.p[f"gain{name}"]
        self.g[f"gain{name}"], self.g[f"bias{name}"] = (dy * unit).sum(0), dy.sum(0)
        return (g - g.mean(1, keepdims=True) - unit * (g * unit).mean(1, keepdims=True)) / deviation

    def heads_of(self, x: np.ndarray) -> np.ndarray:
        """[rows, channels] as [sequence, head, time, 64]."""
        return x.reshape(self.config.batch, self.config.context, -1, HEAD).swapaxes(1, 2)

    def joined(self, x: np.ndarray) -> np.ndarray:
        return x.swapaxes(1, 2).reshape(self.config.rows, -1)

    # --8<-- [start:attend]
    def attend(self, k: int) -> None:
        """The kernel rounds exp(score - largest) to bf16 for the product with the values, and not for their sum."""
        q, key, v = (self.heads_of(part) for part in np.split(self.f[f"qkv{k}"], 3, 1))
        scores = q @ key.swapaxes(-1, -2) / HEAD**0.5
        scores[..., np.triu(np.ones(scores.shape[-2:], bool), 1)] = -np.inf
        raw = np.exp(scores - scores.max(-1, keepdims=True))
        total = raw.sum(-1, keepdims=True)
        self.f[f"weights{k}"] = raw / total
        self.f[f"out{k}"] = self.keep(self.joined(self.keep(raw) @ v / total))

    def attend_backward(self, k: int, up: np.ndarray) -> np.ndarray:
        q, key, v = (self.heads_of(part) for part in np.split(self.f[f"qkv{k}"], 3, 1))
        weights, dout, out = self.f[f"weights{k}"], self.heads_of(up), self.heads_of(self.f[f"out{k}"])
        dscores = weights * (dout @ v.swapaxes(-1, -2) - (dout * out).sum(-1, keepdims=True))
        dq = self.keep(dscores) @ key / HEAD**0.5
        dk = self.keep(dscores).swapaxes(-1, -2) @ q / HEAD**0.5
        dv = self.keep(weights).swapaxes(-1, -2) @ dout
        return self.keep(np.concatenate([self.joined(part) for part in (dq, dk, dv)], 1))

    # --8<-- [end:attend]

    # --8<-- [start:passes]
    def forward(self, tokens: np.ndarray, target: np.ndarray) -> float:
        c, f = self.config, self.f
        x = self.keep(self.p["tokens"][tokens.ravel()] + np.tile(self.p["positions"], (c.batch, 1)))
        for k in range(c.layers):
            f[f"x{k}"], f[f"n_a{k}"] = x, self.norm(x, f"_a{k}")
            f[f"qkv{k}"] = self.keep(self.linear(f[f"n_a{k}"], f"qkv{k}"))
            self.attend(k)
            f[f"middle{k}"] = self.keep(x + self.linear(f[f"out{k}"], f"join{k}"))
            f[f"n_m{k}"] = self.norm(f[f"middle{k}"], f"_m{k}")
            f[f"before{k}"] = self.keep(self.linear(f[f"n_m{k}"], f"up{k}"))
            f[f"act{k}"] = self.keep(gelu(f[f"before{k}"]))
            x = self.keep(f[f"middle{k}"] + self.linear(f[f"act{k}"], f"down{k}"))
        f["x"], f["n"] = x, self.norm(x, "")
        f["logits"] = self.keep(f["n"] @ self.p["tokens"].T)[:, : c.vocabulary]
        return float(cross_entropy(f["logits"], target.ravel()).mean())

    def backward(self, tokens: np.ndarray, target: np.ndarray) -> None:
        c, f, g = self.config, self.f, self.g
        dlogits = self.keep(cross_entropy_backward(f["logits"], target.ravel()))
        g["tokens"] = np.zeros((c.padded, c.width))
        g["tokens"][: c.vocabulary] = dlogits.T @ f["n"]
        dn = self.keep(dlogits @ self.p["tokens"][: c.vocabulary])
        dx = self.keep(self.norm_backward(dn, f["x"], ""))
        for k in reversed(range(c.layers)):
            dact = self.keep(gelu_backward(self.linear_backward(dx, f[f"act{k}"], f"down{k}"), f[f"before{k}"]))
            dn = self.keep(self.linear_backward(dact, f[f"n_m{k}"], f"up{k}"))
            dx = self.keep(dx + self.norm_backward(dn, f[f"middle{k}"], f"_m{k}"))
            dout = self.keep(self.linear_backward(dx, f[f"out{k}"], f"join{k}"))
            dn = self.keep(self.linear_backward(self.attend_backward(k, dout), f[f"n_a{k}"], f"qkv{k}"))
            dx = self.keep(dx + self.norm_backward(dn, f[f"x{k}"], f"_a{k}"))
        np.add.at(g["tokens"], tokens.ravel(), dx)
        g["positions"] = dx.reshape(c.batch, c.context, -1).sum(0)

    # --8<-- [end:passes]
