"""Depthwise convolution: 3 x 3 beside a copy, and filters up to 31 x 31 beside an FFT.

python depthwise.py             check; on a GPU also time 64 images of 112 x 112 with 64 channels, and large filters
python depthwise.py --profile   launch each kernel once for a profiler
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _conv import Arrays, Layer, bound_of, depthwise, forward, module
from warppairs import pairs, share_of, spread

SIDE = 64  # of the FFT
WAYS = ("each", "strip", "roll")


def layer_of(n: int, size: int, c: int, taps: int = 3) -> Layer:
    return Layer(n, size, size, c, c, taps, taps, 1, taps // 2, 1, c)


# --8<-- [start:spectral]
class Spectral:
    """Planes convolved in the frequency domain, by the kernel of the article on GFNet; x becomes [n][c][h][w]."""

    def __init__(self, layer: Layer, x: np.ndarray, w: np.ndarray) -> None:
        self.layer, self.planes = layer, layer.n * layer.c
        taps = np.zeros((layer.c, SIDE, SIDE))
        for r in range(layer.r):
            for s in range(layer.s):  # tap r reads row p - pad + r: in a convolution that is place pad - r
                taps[:, (layer.pad - r) % SIDE, (layer.pad - s) % SIDE] = w[r, s, 0]
        order = [int(f"{i:06b}"[::-1], 2) for i in range(SIDE)]  # the kernel keeps frequencies with their bits reversed
        spectrum = np.fft.fft2(taps)[:, order][:, :, order] / SIDE**2
        turns = np.exp(-2j * np.pi * np.arange(SIDE) / SIDE)
        self.x = cuda.to_device(np.ascontiguousarray(np.moveaxis(x, 3, 1)))
        self.filter, self.turns = (cuda.to_device(a.astype(np.complex64)) for a in (spectrum, turns))
        self.padded, self.product = (cuda.mem_alloc(4 * self.planes * SIDE**2) for _ in range(2))
        self.y = cuda.mem_alloc(4 * self.planes * layer.p * layer.q)
        self.square = wb.module("gfnet/square.cu", SIDE=SIDE).get_function("square")

    def launch(self) -> None:
        layer, count = self.layer, self.planes * SIDE**2
        over("enlarge", self.x, self.padded, count, layer.h, layer.w)
        sizes, blocks = (np.int32(layer.n), np.int32(layer.c)), -(-layer.n // 2) * layer.c
        self.square(self.padded, self.filter, self.product, self.turns, *sizes, block=(512, 1, 1), grid=(blocks, 1))
        over("crop", self.product, self.y, self.planes * layer.p * layer.q, layer.p, layer.q)

    # --8<-- [end:spectral]

    def result(self) -> np.ndarray:
        y = np.empty((self.layer.n, self.layer.c, self.layer.p, self.layer.q), np.float32)
        cuda.memcpy_dtoh(y, self.y)
        return np.moveaxis(y, 1, 3)

    def poison(self) -> None:
        cuda.memset_d32(self.y, 0xFFFFFFFF, self.planes * self.layer.p * self.layer.q)


def over(name: str, source: Any, to: Any, count: int, h: int, w: int) -> None:
    sizes = (np.int32(size) for size in (count, h, w, SIDE))
    module("planes.cu").get_function(name)(source, to, *sizes, block=(256, 1, 1), grid=(-(-count // 256), 1))


class Case(Arrays):
    """A depthwise layer; of many images the first and the last are compared."""

    def __init__(self, rng: np.random.Generator, layer: Layer) -> None:
        super().__init__(rng, layer)
        self.some = sorted({0, layer.n - 1})
        ends = Layer(len(self.some), *list(vars(layer).values())[1:])
        x, w = self.host["x"][self.some], self.host["w"]
        self.want, self.bound = forward(ends, x, w), bound_of(ends, x, w)
        # a transform mixes all terms of a plane, so its roundings are as large as the largest outputs
        norms = np.sqrt((x.astype(np.float64) ** 2).sum((1, 2)).max() * (w.astype(np.float64) ** 2).sum((0, 1)).max())
        self.of_fft = 16 * 2.0**-24 * norms

    def launch(self, way: str) -> None:
        depthwise(way, self.layer, self.at["x"], self.at["w"], self.at["y"])

    def check(self, got: np.ndarray, what: str, bound: Any = None) -> float:
        if not np.isfinite(got).all():
            raise AssertionError(f"{what}: some elements were not written")
        return wb.check(got[self.some], self.want, self.bound if bound is None else bound, what)

    def run(self, way: str) -> float:
        self.poison("y")
        self.launch(way)
        return self.check(self.get("y", self.layer.y_shape), f"{way}, {self.layer}")

    def run_spectral(self) -> Spectral:
        spectral = Spectral(self.layer, self.host["x"], self.host["w"])
        spectral.poison()
        spectral.launch()
        self.check(spectral.result(), f"FFT, {self.layer}", self.of_fft)
        return spectral


# --- Times -----------------------------------------------------------------------------------------------------------


def time_depthwise(rng: np.random.Generator, layer: Layer) -> None:
    """Each kernel in pairs with a copy of the input; the last also with PyTorch."""
    wb.needs(packages="torch")
    import _rivals as torch_ways

    case = Case(rng, layer)
    nbytes = 4 * (case.host["x"].size + layer.outputs * layer.k)
    size = case.host["x"].nbytes
    target = cuda.mem_alloc(size)
    x, w = torch_ways.tensor(case.at["x"], layer.x_shape), torch_ways.tensor(case.at["w"], layer.w_shape)
    library = torch_ways.conv2d(layer, x, w.permute(3, 2, 0, 1))
    case.check(library().permute(0, 2, 3, 1).cpu().numpy(), "PyTorch", 64 * case.bound)

    def copy() -> None:
        cuda.memcpy_dtod_async(target, case.at["x"], size)

    print(f"\n{layer}\n{'':8}{'µs':>9}{'GB/s':>8}{'of copy':>9}")
    rivals: dict[str, Callable[[], Any]] = dict.fromkeys(WAYS, copy) | {"torch": copy}
    for way in rivals:
        run = library if way == "torch" else lambda way=way: case.launch(way)
        if way != "torch":
            case.run(way)
        ours, theirs = pairs(run, copy)
        t = wb.Timing(*spread(ours.seconds), repeats=len(ours.seconds))
        wb.timing(way, t, nbytes=nbytes)
        both = zip(ours.seconds, theirs.seconds, strict=True)
        found, low, high = spread([100 * (nbytes / a) / (2 * size / b) for a, b in both])
        wb.value(f"{way}.share", found, "%", (low, high))
        print(f"{way:8}{t.median * 1e6:9.1f}{nbytes / t.median / 1e9:8.0f}{found:8.1f} %", flush=True)
        if way == "roll":
            copied = wb.Timing(*spread(theirs.seconds), repeats=len(theirs.seconds))
            wb.timing("copy", copied, nbytes=2 * size)
            case.run(way)
    ours, theirs = pairs(lambda: case.launch("roll"), library)
    found = share_of(ours, theirs)
    wb.value("roll.of_torch", found[0], "%", found[1:])
    print(f"roll: {found[0]:.0f} % of PyTorch's speed")


def sweep_filters(rng: np.random.Generator, n: int, c: int, sizes: tuple[int, ...]) -> None:
    """Larger and larger filters on images of 32 x 32: the strip and the FFT, in pairs."""
    found: dict[str, list[tuple[float, float, float]]] = {"strip": [], "fft": []}
    print(f"\n{n} images of 32 x 32 with {c} channels\n{'taps':>5}{'strip µs':>10}{'FFT µs':>9}")
    for taps in sizes:
        case = Case(rng, layer_of(n, 32, c, taps))
        case.run("strip")
        spectral = case.run_spectral()
        sides = pairs(lambda case=case: case.launch("strip"), spectral.launch)
        for name, side in zip(found, sides, strict=True):
            found[name].append(spread(side.seconds))
        print(f"{taps:5}" + "".join(f"{found[name][-1][0] * 1e6:{w}.1f}" for name, w in (("strip", 10), ("fft", 9))))
    for name, times in found.items():
        middle, low, high = zip(*times, strict=True)
        wb.series(f"{name}.taps", sizes, middle, x_unit="count", unit="s", low=low, high=high)
    for name, side in zip(found, sides, strict=True):  # of the largest filter
        wb.timing(f"{name}{sizes[-1]}", wb.Timing(*spread(side.seconds), repeats=len(side.seconds)))


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        one = Case(generator, layer_of(64, 112, 64) if wb.is_gpu() else layer_of(1, 32, 32))
        for way in WAYS:
            one.run(way)
        print(f"{', '.join(WAYS)}: right")
        raise SystemExit
    for one in (layer_of(3, 33, 8), layer_of(1, 6, 4)):
        case = Case(generator, one)
        for way in WAYS:
            case.run(way)
        print(f"{one.n} images of {one.h} x {one.w}: {', '.join(WAYS)} within the bound")
    for taps in (3, 15):
        case = Case(generator, layer_of(3, 32, 4, taps))
        case.run("strip")
        case.run_spectral()
        print(f"filter of {taps} x {taps}: strip and FFT within their bounds")
    if wb.is_gpu():
        wb.needs(memory=4 * 2**30)
        time_depthwise(generator, layer_of(64, 112, 64))
        sweep_filters(generator, 64, 128, (3, 7, 11, 15, 23, 31))
    else:
        print("no GPU: nothing is timed")
