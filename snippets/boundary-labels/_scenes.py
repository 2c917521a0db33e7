"""Drawn scenes: Voronoi label maps with a void hood, void patches, and the errors of a pretended network."""

import numpy as np

CLASSES, VOID = 19, 255


# --8<-- [start:voronoi]
def voronoi(rng: np.random.Generator, h: int, w: int, sites: int, classes: int = CLASSES) -> np.ndarray:
    """Every pixel has the class of the nearest of some random points."""
    y, x = rng.uniform(0, h, sites).astype(np.float32), rng.uniform(0, w, sites).astype(np.float32)
    kind = rng.integers(0, classes, sites).astype(np.uint8)
    rows, columns = np.arange(h, dtype=np.float32)[:, None], np.arange(w, dtype=np.float32)
    best = np.full((h, w), np.inf, np.float32)
    labels = np.empty((h, w), np.uint8)
    for i in range(sites):
        distance = (rows - y[i]) ** 2 + (columns - x[i]) ** 2
        closer = distance < best
        best[closer], labels[closer] = distance[closer], kind[i]
    return labels


def scene(rng: np.random.Generator, h: int, w: int, sites: int, classes: int = CLASSES) -> np.ndarray:
    """With a hood of void below, as in pictures from a car, and two void patches."""
    labels = voronoi(rng, h, w, sites, classes)
    x = (np.arange(w) + 0.5) / w - 0.5
    labels[np.arange(h)[:, None] > h * (0.84 + 0.5 * x * x)] = VOID
    for _ in range(2):
        top, left = int(rng.integers(h // 8, h // 2 + 1)), int(rng.integers(w // 8, 3 * w // 4 + 1))
        labels[top : top + max(1, h // 6), left : left + max(1, w // 10)] = VOID
    return labels


# --8<-- [end:voronoi]


def shifted(labels: np.ndarray, dy: int, dx: int) -> np.ndarray:
    """A guess that is right but for its position: the same map, moved; what moves in repeats the frame."""
    h, w = labels.shape
    return labels[np.clip(np.arange(h) - dy, 0, h - 1)[:, None], np.clip(np.arange(w) - dx, 0, w - 1)]


def guess_of(rng: np.random.Generator, labels: np.ndarray, classes: int = CLASSES) -> np.ndarray:
    """Classes everywhere, void too; borders shaken by a pixel or two, and some patches wrong."""
    h, w = labels.shape
    guess = np.where(labels == VOID, rng.integers(0, classes, (h, w)), labels).astype(np.uint8)
    y = np.clip(np.arange(h)[:, None] + rng.integers(-2, 3, (h, w)), 0, h - 1)
    x = np.clip(np.arange(w) + rng.integers(-2, 3, (h, w)), 0, w - 1)
    guess = guess[y, x]
    for _ in range(4):
        top, left = int(rng.integers(0, h)), int(rng.integers(0, w))
        guess[top : top + h // 8 + 1, left : left + w // 8 + 1] = rng.integers(classes)
    return guess
