"""Distances to the next edge, and boundary metrics in one pass: held against SciPy and brute force, then timed.

python metrics.py             check; on a GPU also time 16 pairs of maps of 1024 x 2048
python metrics.py --profile   launch the counts once for a profiler
"""

import sys

import _reference as ref
import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
from _boundary import KNOWN, Maps
from _bytes import CLASSES
from _scenes import guess_of, scene

RADIUS, KINDS, FAR = 3, 7, 16384


class Metrics:
    """Pairs of a true map and a guess, (image, row, column)."""

    def __init__(self, truth: np.ndarray, guess: np.ndarray) -> None:
        self.wanted: dict[bool, list[np.ndarray]] = {}  # squared distances, by force or not
        self.truth, self.guess, (self.images, self.h, self.w) = truth, guess, truth.shape
        self.module = wb.module("boundary-labels/metrics.cu", CLASSES=CLASSES, RADIUS=RADIUS)
        self.at = {"truth": cuda.to_device(truth), "guess": cuda.to_device(guess)}
        self.at["counts"] = cuda.mem_alloc(4 * KINDS * CLASSES)
        self.at |= {name: cuda.mem_alloc(4 * truth.size) for name in ("distance", "squared")}
        names = "boundary_counts", "column_distances", "nearest_squared"
        self.functions = {name: self.module.get_function(name) for name in names}
        self.maps = Maps(truth, ("v4",)) if self.w % 4 == 0 else None

    # --8<-- [start:count]
    def clear(self) -> None:
        cuda.memset_d32_async(self.at["counts"], 0, KINDS * CLASSES)

    def count(self) -> None:
        arrays = self.at["truth"], self.at["guess"], self.at["counts"]
        grid = (-(-self.w // 32), -(-self.h // 8), self.images)
        self.functions["boundary_counts"](*arrays, np.int32(self.h), np.int32(self.w), grid=grid, block=(32, 8, 1))

    def read_counts(self) -> np.ndarray:
        got = np.empty((KINDS, CLASSES), np.uint32)
        cuda.memcpy_dtoh(got, self.at["counts"])
        return got

    # --8<-- [end:count]

    def check_counts(self, what: str = "counts") -> None:
        pairs = zip(self.truth, self.guess, strict=True)
        want = sum(ref.counts(t, g, CLASSES, RADIUS) for t, g in pairs)
        wb.check(self.read_counts(), want, 0, what)

    def edges(self) -> None:
        assert self.maps is not None
        self.maps.counted = KNOWN
        self.maps.launch("v4")

    # --8<-- [start:transform]
    def transform(self, limit: int = FAR) -> None:
        """Squared distances to the next edge of the truth, exact up to `limit`."""
        sizes = np.int32(self.h), np.int32(self.w)
        columns, block = -(-self.w // 128), (128, 1, 1)
        self.functions["column_distances"](
            self.maps.at["bits"], self.at["distance"], *sizes, grid=(columns, self.images), block=block
        )
        self.functions["nearest_squared"](
            self.at["distance"], self.at["squared"], *sizes, np.int32(limit), grid=(columns, self.h, self.images),
            block=block,
        )  # fmt: skip

    # --8<-- [end:transform]

    def poison(self) -> None:
        for name in ("distance", "squared"):
            cuda.memset_d32_async(self.at[name], 0x7FC00001, self.truth.size)

    def check_squared(self, limit: int = FAR, images: int | None = None, force: bool = False) -> None:
        got = np.empty(self.truth.shape, np.int32)
        cuda.memcpy_dtoh(got, self.at["squared"])
        if force not in self.wanted:  # takes SciPy seconds per large map, and is asked for at every limit
            clean = (ref.clean(labels, CLASSES).any(0) for labels in self.truth[:images])
            self.wanted[force] = [(ref.squared_by_force if force else ref.squared)(edges) for edges in clean]
        for one, want in zip(got[:images], self.wanted[force], strict=True):
            wb.check(one, np.minimum(want, limit * limit + 1), 0, f"squared distances up to {limit}")


def pairs(rng: np.random.Generator, images: int, h: int, w: int, sites: int) -> Metrics:
    truth = np.stack([scene(rng, h, w, sites) for _ in range(images)])
    return Metrics(truth, np.stack([guess_of(rng, labels) for labels in truth]))


def check(rng: np.random.Generator) -> None:
    for h, w in ((1, 1), (7, 5), (9, 33), (40, 97), (64, 96)):
        m = pairs(rng, 2, h, w, 14)
        m.clear()
        m.count()
        m.check_counts(f"counts of {h} x {w}")
    print("counts of all classes, maps up to 64 x 96: right, each of them")
    for h, w, force in ((12, 16, True), (24, 36, True), (64, 96, False)):
        m = pairs(rng, 2, h, w, 14)
        m.edges()
        for limit in (FAR, 5):
            m.poison()
            m.transform(limit)
            m.check_squared(limit, force=force)
    print("squared distances: those of brute force, and of SciPy; with a limit of 5 pixels, too")


def measure(rng: np.random.Generator, images: int, h: int, w: int) -> None:
    drawn = pairs(rng, 1, h, w, 64)  # SciPy takes a second for each of its 38 distances
    m = Metrics(*(np.concatenate([part] * images) for part in (drawn.truth, drawn.guess)))
    want = images * ref.counts(drawn.truth[0], drawn.guess[0], CLASSES, RADIUS)

    def check_counts(_: int) -> None:
        wb.check(m.read_counts(), want, 0, "counts")

    pixels = m.truth.size
    found = {"counts": wb.time(lambda _: m.count(), poison=lambda _: m.clear(), check=check_counts)}
    wb.timing("counts", found["counts"], 2 * pixels)
    m.edges()

    def transforms() -> None:
        for _ in range(2 * CLASSES):
            m.transform()

    for name, launch, limit in (
        ("edt", m.transform, FAR),
        ("band", lambda: m.transform(8), 8),
        ("edt38", transforms, FAR),
    ):
        found[name] = wb.time(
            lambda _, launch=launch: launch(),
            repeats=20,
            poison=lambda _: m.poison(),
            check=lambda _, limit=limit: m.check_squared(limit, 1),
        )
        wb.timing(name, found[name])
    print(f"\n{images} pairs of {h} x {w}, {CLASSES} classes, radius {RADIUS}")
    for name, t in found.items():
        print(f"{name:7}{t.median * 1e6:10.1f} µs")


def profile(rng: np.random.Generator, h: int, w: int) -> None:
    m = pairs(rng, 1, h, w, 24)
    m.clear()
    m.count()
    m.check_counts()
    m.edges()
    m.poison()
    m.transform()
    m.check_squared()
    print(f"counts and squared distances of a map of {h} x {w}: right")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:  # the same map each time: how many blocks hold an edge is counted
        profile(np.random.default_rng(20), *((1024, 2048) if wb.is_gpu() else (64, 256)))
        raise SystemExit
    print(f"device: {wb.device()['name']}")
    check(generator)
    if wb.is_gpu():
        wb.needs(memory=4 * 2**30)
        measure(generator, 16, 1024, 2048)
    else:
        print("no GPU: nothing is timed")
