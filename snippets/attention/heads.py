"""Several heads, an external memory, and a permutation: what attention computes, whatever the kernel.

python heads.py   the same anywhere
"""

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from _pieces import Pieces


# --8<-- [start:reference]
def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """softmax(q kᵀ / √d) v in float64; leading axes are heads."""
    s = q.astype(np.float64) @ np.swapaxes(k, -1, -2).astype(np.float64) / np.sqrt(q.shape[-1])
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def split(x: np.ndarray, heads: int) -> np.ndarray:
    """tokens × (heads · d) to heads × tokens × d."""
    return x.reshape(len(x), heads, -1).swapaxes(0, 1)


def external(x: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """External attention in float64: softmax over the tokens, then each token's weights made to sum to one."""
    s = x.astype(np.float64) @ keys.T
    e = np.exp(s - s.max(0))
    weights = e / e.sum(0)
    return weights / weights.sum(1, keepdims=True) @ values


# --8<-- [end:reference]


# --8<-- [start:heads]
def multi_head(pieces: Pieces, x: np.ndarray, w: dict[str, np.ndarray], heads: int) -> np.ndarray:
    """Project, split into heads, let each attend by itself, put side by side, project again."""
    q, k, v = (split(pieces.project(x, w[name]), heads) for name in "qkv")
    each = [pieces.attention(q[h], k[h], v[h])[0] for h in range(heads)]
    return pieces.project(np.concatenate(each, 1), w["o"])


# --8<-- [end:heads]


# --8<-- [start:external]
def external_attention(pieces: Pieces, x: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    weights = pieces.softmax(pieces.dot(keys, x))  # slots × tokens: the softmax runs over tokens
    sizes = np.int32(len(x)), np.int32(len(keys)), np.int32(values.shape[1])
    return pieces.run("external_mix", (len(x), values.shape[1]), weights, values, numbers=sizes)


# --8<-- [end:external]


def check(pieces: Pieces, rng: np.random.Generator) -> None:
    for tokens, heads, d in ((1, 1, 4), (31, 4, 8), (50, 3, 20)):
        width = heads * d
        x = rng.standard_normal((tokens, width)).astype(np.float32)
        w = {name: (rng.standard_normal((width, width)) / np.sqrt(width)).astype(np.float32) for name in "qkvo"}
        q, k, v = (split(x.astype(np.float64) @ w[name], heads) for name in "qkv")
        want = attention(q, k, v).swapaxes(0, 1).reshape(tokens, width) @ w["o"]
        got = multi_head(pieces, x, w, heads)
        wb.check(got, want, 1e-4, "multi-head attention")
        by_head = sum(attention(q[h], k[h], v[h]) @ w["o"][h * d : (h + 1) * d] for h in range(heads))
        wb.check(want, by_head, 1e-10, "heads side by side, then projected; or projected one by one, and added")
        order = rng.permutation(tokens)
        wb.check(multi_head(pieces, x[order], w, heads), want[order], 1e-4, "tokens in another order")
        memory = [rng.standard_normal((16, width)).astype(np.float32) for _ in range(2)]
        wb.check(external_attention(pieces, x, *memory), external(x, *memory), 1e-4, "external attention")
        print(f"{tokens} tokens, {heads} heads of {d}: multi-head and external attention as in float64")


if __name__ == "__main__":
    check(Pieces(), np.random.default_rng())
