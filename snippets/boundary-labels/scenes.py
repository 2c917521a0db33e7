"""What the operator marks on drawn scenes, where it is wrong, and what boundary metrics make of a shift; in NumPy.

python scenes.py
"""

import _reference as ref
import numpy as np
import warpbench as wb
from _bytes import CLASSES, WAYS, bytes_per_pixel
from _scenes import VOID, scene, shifted, voronoi

SEED, SCENES = 20, 5


def frame_of(labels: np.ndarray) -> np.ndarray:
    frame = np.ones(labels.shape, bool)
    frame[1:-1, 1:-1] = False
    return frame


def draw(rng: np.random.Generator) -> None:
    """One scene: what each rule marks."""
    labels = scene(rng, 72, 128, 9, 6)
    marked, right = (rule(labels, CLASSES).any(0) for rule in (ref.naive, ref.clean))
    for name, picture in (("void", labels == VOID), ("naive", marked), ("clean", right), ("false", marked & ~right)):
        wb.matrix(f"picture.{name}", picture.astype(np.uint8))
    band = ref.squared(right) <= 16
    wb.matrix("picture.band", (band & (labels != VOID)).astype(np.uint8))


# --8<-- [start:artefacts]
def count_artefacts(rng: np.random.Generator) -> None:
    """How many of the marked pixels are no boundary between two classes, and what made them."""
    marked = frames = voids = 0
    for _ in range(SCENES):
        labels = scene(rng, 256, 512, 64)
        naive, clean = (rule(labels, CLASSES).any(0) for rule in (ref.naive, ref.clean))
        wrong = naive & ~clean
        marked += int(naive.sum())
        frames += int((wrong & frame_of(labels)).sum())
        voids += int((wrong & ~frame_of(labels)).sum())
    wb.value("false.frame", 100 * frames / marked, "%")
    wb.value("false.void", 100 * voids / marked, "%")
    print(f"{SCENES} scenes of 256 x 512: {marked} pixels marked, {frames} by the frame alone, {voids} by void alone")


# --8<-- [end:artefacts]


# --8<-- [start:numbering]
def renumber(rng: np.random.Generator) -> None:
    """The Laplacian of the numbers themselves, without one-hot, before and after the classes change their numbers."""
    both = either = edges = 0
    for _ in range(SCENES):
        labels = voronoi(rng, 256, 512, 64)
        inside = ~frame_of(labels)
        order = rng.permutation(CLASSES)
        first, second = (ref.laplacian(ids.astype(np.int64)) > 0 for ids in (labels, order[labels]))
        both += int((first & second & inside).sum())
        either += int(((first | second) & inside).sum())
        edges += int((ref.clean(labels, CLASSES).any(0) & first & inside).sum())
        assert not (first & inside & ~ref.clean(labels, CLASSES).any(0)).any(), "it marks boundary pixels only"
    wb.value("numbering.same", 100 * both / either, "%")
    print(f"marked under one numbering or the other: {either}; under both: {both}")


# --8<-- [end:numbering]


def shift(rng: np.random.Generator) -> None:
    """A guess that is right but for k pixels: three metrics, and the F-score with the frame and void as boundaries."""
    labels = [scene(rng, 128, 192, 24, 6) for _ in range(SCENES)]
    steps = list(range(9))
    found: dict[str, list[float]] = {"iou": [], "trimap": [], "f": [], "naive": []}
    for k in steps:
        rows = []
        for truth in labels:
            guess = shifted(truth, 0, k)
            guess = np.where(guess == VOID, 0, guess).astype(np.uint8)  # a network has no void
            counts = ref.counts(truth, guess, 6, 3)
            flattered = ref.counts(truth, guess, 6, 3, ref.naive)
            scores = ref.iou(truth, guess, 6), ref.trimap_iou(counts), ref.f_scores(counts), ref.f_scores(flattered)
            rows.append([float(np.nanmean(one)) for one in scores])
        for name, mean in zip(found, np.mean(rows, 0), strict=True):
            found[name].append(float(mean))
    for name, values in found.items():
        wb.series(f"shift.{name}", steps, values, x_unit="count", unit="1")
    print("shift   " + "".join(f"{name:>9}" for name in found))
    for i, k in enumerate(steps):
        print(f"{k:5}   " + "".join(f"{values[i]:9.3f}" for values in found.values()))
    wb.value("shift.four.f", found["f"][4], "1")
    wb.value("shift.four.naive", found["naive"][4], "1")
    wb.value("shift.four.iou", found["iou"][4], "1")


# --8<-- [start:thickness]
def compare_bands(rng: np.random.Generator, radius: int = 5) -> None:
    """Pixels that are `radius` steps from an edge as erosion steps, and as a ruler measures."""
    squares = discs = 0
    for _ in range(SCENES):
        labels = voronoi(rng, 256, 512, 64)
        edges = ref.clean(labels, CLASSES).any(0)
        square = edges
        for _ in range(radius):
            square = ref.dilated(square)
        disc = ref.within(edges, radius)
        assert not (disc & ~square).any(), "no straight line is longer than the way by steps"
        squares += int(square.sum())
        discs += int(disc.sum())
    wb.value("band.extra", 100 * (squares / discs - 1), "%")
    print(f"within {radius} pixels of an edge: {discs} by Euclidean distance, {squares} by steps of 3 x 3")


# --8<-- [end:thickness]


if __name__ == "__main__":
    wb.measure_cpu()
    generator = np.random.default_rng(SEED)
    draw(generator)
    for way in WAYS:
        wb.value(f"moved.{way}", bytes_per_pixel(way), "B")
        print(f"{way}: {bytes_per_pixel(way):7.3f} bytes per pixel")
    count_artefacts(generator)
    renumber(generator)
    compare_bands(generator)
    shift(generator)
