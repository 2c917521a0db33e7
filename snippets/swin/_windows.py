"""Windows, the mask, and window attention with its gradients, in float64 and without any shift: the reference."""

import numpy as np

Array = np.ndarray


# --8<-- [start:together]
def together(h: int, w: int, m: int, shift: int) -> Array:
    """Which pairs of pixels share a window. Window lines are at shift, shift + m, ...; nothing is moved."""
    y, x = np.divmod(np.arange(h * w), w)
    row, column = (y - shift) // m, (x - shift) // m  # floor division: -1 before the first line
    return (row[:, None] == row) & (column[:, None] == column)


# --8<-- [end:together]


# --8<-- [start:shifted]
def partition(x: Array, m: int) -> Array:
    """h × w × … to windows × m² × …"""
    h, w, *rest = x.shape
    return x.reshape(h // m, m, w // m, m, *rest).swapaxes(1, 2).reshape(-1, m * m, *rest)


def together_by_shift(h: int, w: int, m: int, shift: int) -> Array:
    """The same as the cyclic shift finds it: roll, cut into windows, mask what is of another region."""
    pixels = partition(np.roll(np.arange(h * w).reshape(h, w), (-shift, -shift), (0, 1)), m)
    y, x = np.divmod(pixels, w)
    region = 1 * (y < shift) + 2 * (x < shift)  # these rows and columns came round to the other side
    allowed = region[:, :, None] == region[:, None, :]
    found = np.zeros((h * w, h * w), bool)
    found[pixels[:, :, None], pixels[:, None, :]] = allowed
    return found


# --8<-- [end:shifted]


def pair_index(h: int, w: int, m: int) -> Array:
    """For every pair of pixels its entry in the bias table; of pairs that share no window, some entry."""
    y, x = np.divmod(np.arange(h * w), w)
    dy, dx = (np.clip(a[:, None] - a, 1 - m, m - 1) + m - 1 for a in (y, x))
    return dy * (2 * m - 1) + dx


# --8<-- [start:layers]
def scores(q: Array, k: Array) -> Array:
    """heads × pixels × channels, each; result heads × pixels × pixels."""
    return q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])


def scores_backward(ds: Array, q: Array, k: Array) -> tuple[Array, Array]:
    return ds @ k / np.sqrt(q.shape[2]), ds.swapaxes(1, 2) @ q / np.sqrt(q.shape[2])


def add_bias(s: Array, table: Array, index: Array) -> Array:
    return s + table[:, index]


def add_bias_backward(ds: Array, table: Array, index: Array) -> Array:
    """The gradient of the table: each entry collects the slopes of all pairs that read it."""
    found = np.zeros_like(table)
    for head, slopes in zip(found, ds, strict=True):
        np.add.at(head, index, slopes)
    return found


def softmax(s: Array, shared: Array) -> Array:
    """Over the keys that share a window with the query."""
    e = np.where(shared, np.exp(s - np.where(shared, s, -np.inf).max(-1, keepdims=True)), 0)
    return e / e.sum(-1, keepdims=True)


def softmax_backward(dp: Array, p: Array) -> Array:
    return p * (dp - (dp * p).sum(-1, keepdims=True))


def mix(p: Array, v: Array) -> Array:
    return p @ v


def mix_backward(do: Array, p: Array, v: Array) -> tuple[Array, Array]:
    return do @ v.swapaxes(1, 2), p.swapaxes(1, 2) @ do


# --8<-- [end:layers]


def split(qkv: Array) -> list[Array]:
    """h × w × 3 × heads × channels to q, k and v of heads × pixels × channels."""
    h, w, _, heads, d = qkv.shape
    return [part.astype(np.float64) for part in qkv.reshape(h * w, 3, heads, d).transpose(1, 2, 0, 3)]


def attention(qkv: Array, table: Array, m: int, shift: int, shared: Array | None = None) -> Array:
    """Of one image; table is heads × (2m - 1)². `shared`: the pairs that share a window, if not the usual ones."""
    h, w, _, heads, d = qkv.shape
    q, k, v = split(qkv)
    s = add_bias(scores(q, k), table.astype(np.float64), pair_index(h, w, m))
    shared = together(h, w, m, shift) if shared is None else shared
    return mix(softmax(s, shared), v).swapaxes(0, 1).reshape(h, w, heads, d)


def attention_backward(do: Array, qkv: Array, table: Array, m: int, shift: int) -> tuple[Array, Array]:
    """The gradients of qkv and of the table."""
    h, w, _, heads, d = qkv.shape
    q, k, v = split(qkv)
    index = pair_index(h, w, m)
    p = softmax(add_bias(scores(q, k), table.astype(np.float64), index), together(h, w, m, shift))
    dp, dv = mix_backward(do.reshape(h * w, heads, d).swapaxes(0, 1).astype(np.float64), p, v)
    ds = softmax_backward(dp, p)
    dq, dk = scores_backward(ds, q, k)
    dtable = add_bias_backward(ds, table.astype(np.float64), index)
    return np.stack([dq, dk, dv]).transpose(2, 0, 1, 3).reshape(qkv.shape), dtable


def global_attention(qkv: Array) -> Array:
    h, w, _, heads, d = qkv.shape
    q, k, v = split(qkv)
    return mix(softmax(scores(q, k), np.ones((h * w, h * w), bool)), v).swapaxes(0, 1).reshape(h, w, heads, d)


def merge(x: Array) -> Array:
    """h × w × c to h/2 × w/2 × 4c: the slices and their order are those of the authors' code."""
    return np.concatenate([x[0::2, 0::2], x[1::2, 0::2], x[0::2, 1::2], x[1::2, 1::2]], -1)
