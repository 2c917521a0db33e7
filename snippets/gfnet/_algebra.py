"""The layer of the paper in float64, as NumPy writes it, and the questions that the page puts to it.

x, y: [..., H, W, channels], the tokens of a network; K: [H, W // 2 + 1, channels], complex, what the network learns.
"""

import numpy as np


# --8<-- [start:layer]
def layer(x: np.ndarray, K: np.ndarray) -> np.ndarray:
    """The global filter layer: transform, multiply, transform back."""
    return np.fft.irfft2(np.fft.rfft2(x, axes=(-3, -2)) * K, s=x.shape[-3:-1], axes=(-3, -2))


# --8<-- [end:layer]


# --8<-- [start:circular]
def taps(K: np.ndarray, W: int) -> np.ndarray:
    """The filter in space, [H, W, channels]: what the layer makes of a single 1 at the origin."""
    return np.fft.irfft2(K, s=(K.shape[0], W), axes=(0, 1))


def circular(x: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Convolution on a torus, from its definition: y[h, w] = Σ k[u, v] x[h - u, w - v], indices modulo H and W."""
    H, W = k.shape[:2]
    return sum(k[u, v] * np.roll(x, (u, v), (-3, -2)) for u in range(H) for v in range(W))


# --8<-- [end:circular]


def whole(k: np.ndarray) -> np.ndarray:
    """The whole spectrum [H, W, channels] of real taps: what the kernels multiply with."""
    return np.fft.fft2(k, axes=(0, 1))


def random_filter(rng: np.random.Generator, H: int, W: int, channels: int) -> np.ndarray:
    """A filter whose output is about as large as its input."""
    shape = H, W // 2 + 1, channels
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


# --8<-- [start:effective]
def effective(H: int, W: int) -> tuple[int, int]:
    """(stored, effective): the real numbers in K, and the rank of the linear map from them to the taps."""
    stored = 2 * H * (W // 2 + 1)
    units = np.eye(stored).reshape(H, W // 2 + 1, 2, stored)  # one filter a channel, with a single 1 in it
    images = taps(units[:, :, 0] + 1j * units[:, :, 1], W).reshape(H * W, stored)
    return stored, int(np.linalg.matrix_rank(images))


# --8<-- [end:effective]


# --8<-- [start:gradients]
def multiplicity(W: int) -> np.ndarray:
    """How often each column of the half spectrum stands in the whole one: [1, W // 2 + 1, 1]."""
    m = np.full(W // 2 + 1, 2.0)
    m[0] = 1
    if W % 2 == 0:
        m[-1] = 1
    return m[None, :, None]


def gradients(x: np.ndarray, K: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(dx, dK) for the gradient g of the output: dK = ∂L/∂Re K + i ∂L/∂Im K, summed over the batch."""
    H, W = x.shape[-3:-1]
    X, G = (np.fft.rfft2(a, axes=(-3, -2)) for a in (x, g))
    return layer(g, K.conj()), multiplicity(W) / (H * W) * (X.conj() * G).sum(0)


# --8<-- [end:gradients]


def from_pairs(P: np.ndarray) -> np.ndarray:
    """dK from what gf14_dk leaves, [blocks, H, W, channels]: the Hermitian part of the sum, half of it."""
    P = P.sum(0)
    H, W = P.shape[:2]
    mirrored = np.roll(P[::-1, ::-1], (1, 1), (0, 1)).conj()  # at (-u, -v)
    return multiplicity(W) / (H * W) * ((P + mirrored) / 2)[:, : W // 2 + 1]


# --8<-- [start:table]
def mixing(operation: str, H: int, W: int, D: int, k: int = 3) -> tuple[int, int]:
    """(complexity, parameters) of one layer by the formulas of the paper's table, its constants taken as 1."""
    log = int(np.ceil(np.log2(H * W)))
    return {
        "depthwise convolution": (k * k * H * W * D, k * k * D),
        "self-attention": (H * W * D * D + (H * W) ** 2 * D, 4 * D * D),
        "spatial MLP": ((H * W) ** 2 * D, (H * W) ** 2),
        "global filter": (H * W * D * log + H * W * D, H * W * D),
    }[operation]


# --8<-- [end:table]


# --8<-- [start:resize]
def cubic(old: int, new: int) -> np.ndarray:
    """The matrix [new, old] of bicubic interpolation along one axis, as torch does it with align_corners=True."""
    A, matrix = -0.75, np.zeros((new, old))
    for i in range(new):
        at = i * (old - 1) / (new - 1)
        for j in range(int(at) - 1, int(at) + 3):
            d = abs(at - j)
            weight = (A + 2) * d**3 - (A + 3) * d**2 + 1 if d <= 1 else A * (d**3 - 5 * d**2 + 8 * d - 4)
            matrix[i, min(max(j, 0), old - 1)] += weight if d < 2 else 0
    return matrix


def resize(K: np.ndarray, new: int) -> np.ndarray:
    """K for new × new tokens, as the authors' fine-tuning does it: bicubic, real and imaginary part each."""
    H, half = K.shape[:2]
    return np.einsum("ih,jw,hwc->ijc", cubic(H, new), cubic(half, new // 2 + 1), K)


def padded_taps(K: np.ndarray, W: int, new: int) -> np.ndarray:
    """Filters for new × new tokens with the same taps, as far from each other in tokens as before."""
    k = np.roll(taps(K, W), (W // 2, W // 2), (0, 1))  # the origin in the middle
    around = (new - W) // 2
    return np.roll(np.pad(k, ((around, new - W - around),) * 2 + ((0, 0),)), (-W // 2 - around,) * 2, (0, 1))


# --8<-- [end:resize]
