"""1,797 images of 8 × 8 bits: the ten digits, drawn as strokes with random shape, slant, position, width and noise."""

import functools

import numpy as np

SIDE, COUNT, TRAIN = 8, 1797, 1500


def arc(x: float, y: float, across: float, down: float, start: float, stop: float) -> np.ndarray:
    """Nine points of an ellipse; angles in degrees, clockwise from the right."""
    t = np.radians(np.linspace(start, stop, 9))
    return np.stack([x + across * np.cos(t), y + down * np.sin(t)], 1)


# --8<-- [start:strokes]
STROKES = [  # one line through these points draws the digit; x to the right, y down, both from 0 to 1
    arc(0.50, 0.50, 0.24, 0.36, 0, 360),
    np.array([(0.35, 0.28), (0.52, 0.12), (0.52, 0.88)]),
    np.vstack([arc(0.50, 0.32, 0.22, 0.20, 180, 380), [(0.27, 0.86), (0.75, 0.86)]]),
    np.vstack([arc(0.48, 0.30, 0.22, 0.19, 200, 450), arc(0.48, 0.68, 0.24, 0.20, 270, 510)]),
    np.array([(0.62, 0.88), (0.62, 0.12), (0.25, 0.62), (0.78, 0.62)]),
    np.vstack([[(0.72, 0.14), (0.34, 0.14), (0.31, 0.46)], arc(0.48, 0.64, 0.23, 0.23, 230, 500)]),
    np.vstack([[(0.66, 0.14), (0.42, 0.32)], arc(0.50, 0.66, 0.20, 0.21, 180, 540)]),
    np.array([(0.26, 0.14), (0.74, 0.14), (0.44, 0.88)]),
    np.vstack([arc(0.50, 0.31, 0.18, 0.18, 90, 450), arc(0.50, 0.69, 0.22, 0.20, 270, 630)]),
    np.vstack([arc(0.50, 0.34, 0.20, 0.21, 0, 360), [(0.68, 0.60), (0.58, 0.88)]]),
]


def draw(rng: np.random.Generator, digit: int) -> np.ndarray:
    """64 zeros and ones."""
    points = STROKES[digit] + rng.normal(0, 0.015, STROKES[digit].shape) - 0.5
    shear, turn = rng.normal(0, 0.15), rng.normal(0, 0.12)
    cosine, sine = np.cos(turn), np.sin(turn)
    move = np.array([[cosine, sine], [-sine, cosine]]) @ np.diag(rng.uniform(0.85, 1.1, 2))
    move[1] += shear * move[0]  # a slant: what is lower moves sideways
    points = points @ move + 0.5 + rng.normal(0, 0.03, 2)
    start, way = points[:-1, None], np.diff(points, axis=0)[:, None]
    middle = (np.arange(SIDE) + 0.5) / SIDE
    pixel = np.stack(np.meshgrid(middle, middle), -1).reshape(1, -1, 2)
    along = np.clip(((pixel - start) * way).sum(-1) / (way**2).sum(-1), 0, 1)
    distance = np.linalg.norm(start + along[..., None] * way - pixel, axis=-1).min(0)
    ink = (rng.uniform(0.06, 0.10) - distance) / 0.06 + rng.normal(0, 0.15, SIDE * SIDE)
    return ink > 0


# --8<-- [end:strokes]


@functools.cache
def digits(seed: int = 1797) -> tuple[np.ndarray, np.ndarray]:
    """All images, [1797, 64] of 0.0 and 1.0, and which digit each is; the same for the same seed."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, COUNT)
    return np.array([draw(rng, digit) for digit in labels], np.float64), labels


def split(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """1,500 images to train with, 297 that training never sees, and the digits of the latter."""
    images, labels = digits()
    order = np.random.default_rng([seed, 8]).permutation(COUNT)
    train, test = order[:TRAIN], order[TRAIN:]
    return images[train], images[test], labels[test]
