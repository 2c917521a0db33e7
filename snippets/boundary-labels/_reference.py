"""The same on the CPU, by other ways: shifted sums and SciPy's morphology, one class at a time."""

from collections.abc import Callable

import numpy as np
from scipy import ndimage


def square(a: np.ndarray) -> np.ndarray:
    """The 3 x 3 window in the last two axes: images are apart."""
    return np.ones((1,) * (a.ndim - 2) + (3, 3), bool)


def windows(a: np.ndarray, outside: int) -> list[np.ndarray]:
    """The nine neighbours of every pixel, the last two axes padded."""
    h, w = a.shape[-2:]
    padded = np.pad(a, [(0, 0)] * (a.ndim - 2) + [(1, 1), (1, 1)], constant_values=outside)
    return [padded[..., dy : dy + h, dx : dx + w] for dy in range(3) for dx in range(3)]


# --8<-- [start:laplacian]
def one_hot(labels: np.ndarray, classes: int) -> np.ndarray:
    """A plane per class, as integers; void is in none of them."""
    return (labels == np.arange(classes).reshape(-1, *(1,) * labels.ndim)).astype(np.int64)


def laplacian(planes: np.ndarray) -> np.ndarray:
    """Eight times the pixel less its eight neighbours, zeros outside."""
    return 9 * planes - sum(windows(planes, 0))


# --8<-- [end:laplacian]


# --8<-- [start:erosion]
def eroded(mask: np.ndarray) -> np.ndarray:
    return ndimage.binary_erosion(mask, square(mask), border_value=0)


def dilated(mask: np.ndarray) -> np.ndarray:
    return ndimage.binary_dilation(mask, square(mask))


def naive(labels: np.ndarray, classes: int) -> np.ndarray:
    """Per class: the mask less its erosion; the frame and void count as another class."""
    masks = one_hot(labels, classes).astype(bool)
    return np.stack([mask & ~eroded(mask) for mask in masks])


def clean(labels: np.ndarray, classes: int) -> np.ndarray:
    """Per class: pixels that touch a pixel of another class. A mask dilated, cut with the others."""
    masks = one_hot(labels, classes).astype(bool)
    known = masks.any(0)
    return np.stack([mask & dilated(known & ~mask) for mask in masks])


# --8<-- [end:erosion]


def sets(labels: np.ndarray, classes: int) -> np.ndarray:
    """Bit c: class c is in the 3 x 3 window; bit 30: void is; bit 31: the window leaves the image."""
    found = np.zeros(labels.shape, np.uint32)
    for c in range(classes):
        found |= dilated(labels == c).astype(np.uint32) << np.uint32(c)
    found |= dilated(labels >= classes).astype(np.uint32) << np.uint32(30)
    frame = np.ones(labels.shape, bool)
    frame[..., 1:-1, 1:-1] = False
    return found | frame.astype(np.uint32) << np.uint32(31)


def packed(edges: np.ndarray) -> np.ndarray:
    """Rows of bits in 32-bit words, the lowest bit first."""
    width = -edges.shape[-1] % 32
    wide = np.pad(edges, [(0, 0)] * (edges.ndim - 1) + [(0, width)])
    return np.packbits(wide, axis=-1, bitorder="little").view("<u4")


# --8<-- [start:squared]
def squared(edges: np.ndarray) -> np.ndarray:
    """Squared Euclidean distances, by SciPy; they are whole numbers."""
    return np.rint(ndimage.distance_transform_edt(~edges) ** 2).astype(np.int64)


def squared_by_force(edges: np.ndarray) -> np.ndarray:
    """The same by definition: every pixel against every edge."""
    y, x = np.nonzero(edges)
    rows, columns = np.indices(edges.shape)
    return ((rows[..., None] - y) ** 2 + (columns[..., None] - x) ** 2).min(-1)


# --8<-- [end:squared]


# --8<-- [start:counts]
def counts(
    truth: np.ndarray, guess: np.ndarray, classes: int, radius: int, boundary: Callable[..., np.ndarray] = clean
) -> np.ndarray:
    """As the kernel counts, one class at a time, with SciPy's distances."""
    void = truth >= classes
    guess = np.where(void | (guess >= classes), 255, guess)
    of_truth, of_guess = boundary(truth, classes), boundary(guess, classes)
    near = within(of_truth.any(0), radius)
    result = np.zeros((7, classes), np.int64)
    for c in range(classes):
        t, g = truth == c, guess == c
        result[:, c] = [
            of_guess[c].sum(), (of_guess[c] & within(of_truth[c], radius)).sum(),
            of_truth[c].sum(), (of_truth[c] & within(of_guess[c], radius)).sum(),
            (t & g & near).sum(), (t & near).sum(), (g & near).sum(),
        ]  # fmt: skip
    return result


def within(edges: np.ndarray, radius: int) -> np.ndarray:
    return squared(edges) <= radius * radius if edges.any() else edges


# --8<-- [end:counts]


# --8<-- [start:scores]
def f_scores(counts: np.ndarray) -> np.ndarray:
    """Per class, from precision and recall of its boundary; NaN for a class that neither map has."""
    guessed, met, true, found = counts[:4].astype(np.float64)
    with np.errstate(invalid="ignore"):
        precision, recall = met / guessed, found / true
        score = 2 * precision * recall / (precision + recall)
    score[(guessed == 0) != (true == 0)] = 0
    score[(guessed > 0) & (true > 0) & (met + found == 0)] = 0
    return score


def trimap_iou(counts: np.ndarray) -> np.ndarray:
    """Per class, over pixels near a true boundary only."""
    both, true, guessed = counts[4:].astype(np.float64)
    with np.errstate(invalid="ignore"):
        return both / (true + guessed - both)


def iou(truth: np.ndarray, guess: np.ndarray, classes: int) -> np.ndarray:
    """Per class, over all pixels that the truth does not leave open."""
    known = truth < classes
    pairs = [(known & (truth == c), known & (guess == c)) for c in range(classes)]
    with np.errstate(invalid="ignore"):
        return np.array([np.float64((t & g).sum()) / np.float64((t | g).sum()) for t, g in pairs])


# --8<-- [end:scores]
