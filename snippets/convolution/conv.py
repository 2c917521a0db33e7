"""Convolution five ways and both gradients: checked, then timed in pairs with cuDNN's best.

python conv.py             check a layer; on a GPU also time 32 images of 56 x 56 with 64 channels, and layers like it
python conv.py --profile   launch each kernel once for a profiler
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _conv import Arrays, Layer, bounds, data_gradient, forward, half, half_ways, weights_gradient
from warppairs import Side, pairs, share_of, spread

MAP = Layer(32, 56, 56, 64, 64, pad=1)  # the layer of the page
SMALL = Layer(1, 16, 16, 64, 64, pad=1)  # of --profile on softcuda
LAYERS = (
    Layer(32, 112, 112, 32, 32, pad=1),
    MAP,
    Layer(32, 28, 28, 128, 128, pad=1),
    Layer(32, 14, 14, 256, 256, pad=1),
    Layer(32, 7, 7, 512, 512, pad=1),
)
WINOGRAD = 16  # times the bound of the other ways
NEEDED = {"dx": "data_backward", "dw": "weights_backward"}


# --- Checks ----------------------------------------------------------------------------------------------------------


class Checked(Arrays):
    """Arrays of a layer with many images: y and dx are compared for the first and the last of them."""

    def __init__(self, rng: np.random.Generator, layer: Layer) -> None:
        super().__init__(rng, layer)
        x, w, dy = (self.host[name] for name in ("x", "w", "dy"))
        self.some = sorted({0, layer.n - 1})
        ends = Layer(len(self.some), *list(vars(layer).values())[1:])
        x_, dy_ = x[self.some], dy[self.some]
        of_y, of_dx, _ = bounds(ends, x_, w, dy_)
        self.want = {"y": (forward(ends, x_, w), of_y), "dx": (data_gradient(ends, dy_, w), of_dx)}
        wide = 1.01 * (layer.outputs + 3) * 2.0**-24 * weights_gradient(layer, np.abs(x), np.abs(dy))
        self.want["dw"] = weights_gradient(layer, x, dy), wide

    def check(self, name: str, got: np.ndarray, what: str, wide: float = 1) -> float:
        want, bound = self.want[name]
        if not np.isfinite(got).all():
            raise AssertionError(f"{what}: some elements were not written")
        return wb.check(got if name == "dw" else got[self.some], want, wide * bound, what)

    def run(self, name: str, launch: Callable[[], Any], what: str, wide: float = 1) -> float:
        """Launch once over NaN, and check."""
        shapes = {"y": self.layer.y_shape, "dx": self.layer.x_shape, "dw": self.layer.w_shape}
        self.poison(name)
        launch()
        return self.check(name, self.get(name, shapes[name]), what, wide)


class Half:
    """The same layer in fp16."""

    def __init__(self, a: Checked) -> None:
        self.layer = layer = a.layer
        self.x, self.w = (a.host[name].astype(np.float16) for name in ("x", "w"))
        self.turned = np.ascontiguousarray(np.moveaxis(self.w, 3, 0))
        self.at = [cuda.to_device(array) for array in (self.x, self.turned)]
        self.y, self.nbytes = cuda.mem_alloc(2 * layer.outputs * layer.k), 2 * layer.outputs * layer.k
        ends = Layer(len(a.some), *list(vars(layer).values())[1:])
        self.some, self.want = a.some, forward(ends, self.x[a.some], self.w)
        self.bound = bounds(ends, self.x[a.some], self.w, np.zeros(ends.y_shape))[0]
        self.bound = 1.1 * self.bound + 2.0**-11 * np.abs(self.want) + 2.0**-24

    def launch(self, way: str) -> None:
        half(way, self.layer, *self.at, self.y)

    def check(self, got: np.ndarray, what: str, wide: float = 1) -> float:
        return wb.check(got[self.some], self.want, wide * self.bound, what)

    def run(self, way: str) -> float:
        what = f"fp16 by {way}, {self.layer}"
        cuda.memset_d8(self.y, 0xFF, self.nbytes)
        self.launch(way)
        got = np.empty(self.layer.y_shape, np.float16)
        cuda.memcpy_dtoh(got, self.y)
        if not np.isfinite(got).all():
            raise AssertionError(f"{what}: some elements were not written")
        return self.check(got, what)


def check_all(a: Checked, h: Half) -> dict[str, Callable[[], Any]]:
    """Every way and both gradients, which are returned."""
    launches = a.ways()
    launches = {name: launches[name] for name in ("implicit", *launches)} | a.gradients()
    for name, launch in launches.items():
        target = name if name in NEEDED else "y"
        a.run(target, launch, f"{name}, {a.layer}", WINOGRAD if name == "winograd" else 1)
    for way in half_ways():
        h.run(way)
        launches[way] = lambda way=way: h.launch(way)
    return launches


# --- Times -----------------------------------------------------------------------------------------------------------


def record(name: str, side: Side, flop: int, nbytes: int = 0) -> float:
    """The median in µs."""
    t = wb.Timing(*spread(side.seconds), repeats=len(side.seconds))
    wb.timing(name, t, **({"nbytes": nbytes} if nbytes else {}), flop=flop)
    return t.median * 1e6


def rivals_of(a: Checked, h: Half) -> dict[str, Callable[[], Any]]:
    """cuDNN's forward pass in fp32 and fp16 and its gradients, each compared like ours."""
    wb.needs(packages="torch")
    import _rivals as torch_ways

    layer = a.layer
    x, dy = (torch_ways.tensor(a.at[name], shape) for name, shape in (("x", layer.x_shape), ("dy", layer.y_shape)))
    w = torch_ways.tensor(a.at["w"], layer.w_shape).permute(3, 2, 0, 1)
    x16 = torch_ways.tensor(h.at[0], layer.x_shape, "<f2")
    w16 = torch_ways.tensor(h.at[1], h.turned.shape, "<f2").permute(0, 3, 1, 2)
    found = {
        "cudnn": torch_ways.conv2d(layer, x, w),
        "half.cudnn": torch_ways.conv2d(layer, x16, w16),
        "dx.cudnn": torch_ways.gradient(layer, x, w, dy, "dx"),
        "dw.cudnn": torch_ways.gradient(layer, x, w, dy, "dw"),
    }
    loose = 64  # cuDNN may use transforms, too
    a.check("y", found["cudnn"]().permute(0, 2, 3, 1).cpu().numpy(), "cuDNN", loose)
    h.check(found["half.cudnn"]().permute(0, 2, 3, 1).cpu().numpy(), "cuDNN, fp16", loose)
    a.check("dx", found["dx.cudnn"]()[0].permute(0, 2, 3, 1).cpu().numpy(), "cuDNN, dx", loose)
    a.check("dw", found["dw.cudnn"]()[1].permute(2, 3, 1, 0).cpu().numpy(), "cuDNN, dw", loose)
    return found


# --8<-- [start:time]
def time_layer(rng: np.random.Generator, layer: Layer) -> None:
    """Every way beside cuDNN's best in the same type; both gradients, too."""
    a = Checked(rng, layer)
    h = Half(a)
    launches, rivals = check_all(a, h), rivals_of(a, h)
    print(f"\n{layer}\n{'':10}{'µs':>9}{'TFLOP/s':>9}{'cuDNN µs':>10}{'of cuDNN':>10}")
    for name, launch in launches.items():
        theirs = rivals["half.cudnn" if "mma" in name else f"{name}.cudnn" if name in NEEDED else "cudnn"]
        ours, library = pairs(launch, theirs)
        took, other = record(name, ours, layer.flop), spread(library.seconds)[0] * 1e6
        if name in ("implicit", "wgmma", *NEEDED):
            record({"implicit": "cudnn", "wgmma": "half.cudnn"}.get(name, f"{name}.cudnn"), library, layer.flop)
        low, high = share_of(ours, library)[1:]
        wb.value(f"{name}.share", share_of(ours, library)[0], "%", (low, high))
        print(f"{name:10}{took:9.1f}{layer.flop / took / 1e6:9.1f}{other:10.1f}{other / took:10.1%}", flush=True)
    check_all(a, h)


# --8<-- [end:time]


def map_layers(rng: np.random.Generator, layers: tuple[Layer, ...]) -> None:
    """The same arithmetic with more and more channels, by every way and by cuDNN."""
    rates: dict[str, list[tuple[float, float, float]]] = {}
    for layer in layers:
        a = Checked(rng, layer)
        h = Half(a)
        launches, rivals = check_all(a, h), rivals_of(a, h)
        shown = [name for name in launches if name not in NEEDED]
        for name in shown:
            theirs = "half.cudnn" if "mma" in name else "cudnn"
            ours, library = pairs(launches[name], rivals[theirs])
            sides = {name: ours} | ({theirs: library} if name in ("implicit", "wgmma") else {})
            for which, side in sides.items():
                rates.setdefault(which, []).append(tuple(layer.flop / t for t in spread(side.seconds)))
    print(f"\n{'TFLOP/s, channels':20}" + "".join(f"{layer.c:9}" for layer in layers))
    for name, found in rates.items():
        rate, high, low = zip(*found, strict=True)  # a short time is a high rate
        if name == "winograd":
            for layer, ours, other in zip(layers, rate, (r[0] for r in rates["implicit"]), strict=True):
                wb.value(f"winograd.gain{layer.c}", ours / other, "1")
        wb.series(f"{name}.layers", [x.c for x in layers], rate, x_unit="count", unit="flop/s", low=low, high=high)
        print(f"{name:20}" + "".join(f"{value / 1e12:9.1f}" for value in rate))
    ways = ("direct", "im2col", "implicit", "winograd")
    shares = [[100 * r[0] / c[0] for r, c in zip(rates[way], rates["cudnn"], strict=True)] for way in ways]
    wb.matrix("map", shares, ways, [f"{x.c}, {x.h} × {x.w}" for x in layers], unit="%")


def profile(rng: np.random.Generator, layer: Layer) -> None:
    a = Checked(rng, layer)
    check_all(a, Half(a))
    print("direct, im2col, implicit GEMM, Winograd, dx, dw and fp16: right")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(generator, MAP if wb.is_gpu() else SMALL)
        raise SystemExit
    print(f"device: {wb.device()['name']}")
    one = Checked(generator, Layer(3, 14, 14, 32, 64, pad=1))
    for _ in range(2):  # a kernel that leaves what the first launch wrote is noticed
        check_all(one, Half(one))
    for name, count in (("matrix", one.layer.outputs * one.layer.depth), ("input", one.host["x"].size)):
        wb.value(f"{name}.bytes", 4 * count, "B")
    print(f"im2col's matrix is {one.layer.outputs * one.layer.depth / one.host['x'].size:.0f} times the input")
    if wb.is_gpu():
        wb.needs(memory=4 * 2**30)
        time_layer(generator, MAP)
        map_layers(generator, LAYERS)
    else:
        print("no GPU: nothing is timed")
