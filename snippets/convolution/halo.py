"""The layer of the page in fp16, each input fetched once for its nine taps: checked, timed beside wgmma and cuDNN.

python halo.py             check; on a GPU also time 32 images of 56 x 56 with 64 channels
python halo.py --profile   launch the kernel once for a profiler
"""

import functools
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401  the context that torch uses too
import pycuda.driver as cuda
import warpbench as wb
from _conv import LIMIT, Layer, shape_of
from conv import MAP, SMALL, Checked, Half, record
from pycuda import compiler
from tensormaps import tensor_map
from warppairs import Side, pairs, share_of

TEAMS, TILE, HALO = 2, (8, 14), (10, 16)  # as in halo.cu; columns and rows
SHARED = 128 * (9 * 64 + TEAMS * 2 * math.prod(HALO)) + 8 * (1 + 2 * TEAMS)  # weights, halos, barriers


@functools.cache
def module() -> Any:
    options = ["-lineinfo", f"-I{wb.ROOT / 'convolution'}"]
    image = compiler.compile(wb.source("convolution/halo.cu"), options=options, arch="sm_90a", no_extern_c=True)
    return cuda.module_from_buffer(image)


class Halo(Half):
    """That layer, by this kernel too, in so many blocks; otherwise in one per SM, which is what fits."""

    blocks = 0
    held: "Halo | None" = None  # whose maps the module has

    def __init__(self, a: Checked) -> None:
        super().__init__(a)
        layer = a.layer
        if layer.k % 64 or layer != Layer(layer.n, layer.h, layer.w, 64, layer.k, pad=layer.pad):
            raise ValueError(f"{layer}: halo.cu takes 3 x 3 taps, stride 1, 64 channels and a multiple of 64 filters")
        self.maps = np.concatenate([
            tensor_map(self.at[0], (64, layer.w, layer.h, layer.n), (64, *HALO, 1)),
            tensor_map(self.at[1], (9 * 64, layer.k), (64, 64)),
            tensor_map(self.y, (layer.k, layer.q, layer.p, layer.n), (64, *TILE, 1)),
        ])  # fmt: skip
        self.kernel = module().get_function("conv_halo")
        self.kernel.set_attribute(LIMIT, SHARED)

    def launch(self, way: str) -> None:
        if way != "halo":
            super().launch(way)
            return
        if self.held is not self:  # the maps that the module has are another layer's
            cuda.memcpy_htod(module().get_global("maps")[0], self.maps)
            Halo.held = self
        blocks, filters = self.blocks or cuda.Context.get_device().multiprocessor_count, self.layer.k // 64
        grid = max(1, blocks // filters), filters
        self.kernel(shape_of(self.layer), block=(128 * TEAMS, 1, 1), grid=grid, shared=SHARED)


def check_all(rng: np.random.Generator) -> None:
    """Images of whole and of broken tiles, one and several, two groups of filters; then many tiles per block, too."""
    sizes = (1, 14, 8, 64, 1), (1, 16, 16, 64, 0), (2, 9, 17, 128, 1), (3, 15, 9, 64, 2), (1, 3, 3, 64, 0)
    for n, h, w, k, pad in sizes:
        layer = Halo(Checked(rng, Layer(n, h, w, 64, k, pad=pad)))
        share = layer.run("halo")
        layer.blocks = 1
        share = max(share, layer.run("halo"))
        print(f"{n} x {h} x {w}, 64 -> {k} channels, padding {pad}: {share:.0%} of the bound")


def time_beside(h: Halo, name: str, launch: Callable[[], Any]) -> tuple[Side, Side]:
    """This kernel and a rival in turn; records the share of its speed."""
    ours, theirs = pairs(lambda: h.launch("halo"), launch)
    share = share_of(ours, theirs)
    wb.value(f"halo.{name}.share", share[0], "%", share[1:])
    print(f"halo at {share[0]:.1f} % of the speed of {name}")
    return ours, theirs


def time_layer(rng: np.random.Generator, layer: Layer) -> None:
    """This kernel in turn with hopper.cu's and with cuDNN's best."""
    wb.needs(packages="torch")
    import _rivals as torch_ways

    h = Halo(Checked(rng, layer))
    x, w = torch_ways.tensor(h.at[0], layer.x_shape, "<f2"), torch_ways.tensor(h.at[1], h.turned.shape, "<f2")
    cudnn = torch_ways.conv2d(layer, x, w.permute(0, 3, 1, 2))
    h.check(cudnn().permute(0, 2, 3, 1).cpu().numpy(), "cuDNN, fp16", 64)  # cuDNN may use transforms, too
    for way in ("halo", "wgmma"):
        h.run(way)
    ours, theirs = time_beside(h, "cudnn", cudnn)
    took, other = record("halo", ours, layer.flop), record("halo.cudnn", theirs, layer.flop)
    print(f"halo {took:.1f} µs, cuDNN {other:.1f} µs")
    time_beside(h, "wgmma", lambda: h.launch("wgmma"))
    h.run("halo")


if __name__ == "__main__":
    wb.needs("9.0")
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        same = Halo(Checked(generator, MAP if wb.is_gpu() else SMALL))
        for way in ("halo", "wgmma"):
            same.run(way)
        print("halo and wgmma: right")
        raise SystemExit
    print(f"device: {wb.device()['name']}")
    check_all(generator)
    if wb.is_gpu():
        wb.needs(memory=2**30)
        time_layer(generator, MAP)
    else:
        print("no GPU: nothing is timed")
