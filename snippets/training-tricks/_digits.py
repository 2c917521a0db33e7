"""A data set that needs no download: digits of 8 x 8 grey values, drawn as strokes with a shaky hand."""

import numpy as np

# --8<-- [start:draw]
CORNERS = np.array([(x, y) for y in (-1, 0, 1) for x in (-0.6, 0.6)])  # of a seven-segment display
STROKES = np.array(
    [(0, 1), (1, 3), (3, 5), (4, 5), (2, 4), (0, 2), (2, 3)]
)  # top, right, right, bottom, left, left, middle
LIT = ["012345", "12", "01643", "01236", "1256", "02356", "023456", "012", "0123456", "012356"]
MASK = np.array([[str(stroke) in lit for stroke in range(7)] for lit in LIT])
PIXELS = np.stack(np.meshgrid(np.linspace(-1.4, 1.4, 8), np.linspace(-1.4, 1.4, 8)), -1).reshape(64, 2)


def draw(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Images (count, 64) of mean 0 and variance 1 over all, and their labels."""
    labels = rng.integers(0, 10, count)
    corners = CORNERS * rng.uniform(0.75, 1.1, (count, 1, 2)) + rng.normal(0, 0.07, (count, 6, 2))  # each end shakes
    angle = rng.normal(0, 0.15, count)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]).transpose(2, 0, 1)
    corners = corners @ turn + rng.normal(0, 0.08, (count, 1, 2))
    start, end = corners[:, STROKES[:, 0], None], corners[:, STROKES[:, 1], None]
    along = end - start
    share = ((PIXELS - start) * along).sum(-1) / (along**2).sum(-1)  # of the way to the nearest point of the stroke
    far = ((PIXELS - start - np.clip(share, 0, 1)[..., None] * along) ** 2).sum(-1)
    far = np.where(MASK[labels][:, :, None], far, np.inf).min(1)
    ink = np.exp(-far / rng.uniform(0.04, 0.12, (count, 1)))  # pens differ in width
    images = ink + rng.normal(0, 0.1, ink.shape)
    return (images - images.mean()) / images.std(), labels


# --8<-- [end:draw]
