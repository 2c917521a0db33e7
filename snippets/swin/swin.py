"""Window attention of Swin: fused against a chain of kernels, against PyTorch, and against global attention.

python swin.py             check, and count bytes and operations; on a GPU also time 64 maps of 56 × 56 × 96
python swin.py --profile   launch each kernel once for a profiler: a map of 28 × 28, on a GPU 64
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import pycuda.driver as cuda
import warpbench as wb
import warppairs as wp
from _kernels import CHAIN, Maps, Poisoned, backward_bytes, chain_bytes, fused_bytes, to_device, unpadded
from _windows import Array, attention, attention_backward, global_attention, merge, partition, together
from windows import bias_index, bounds, draw

SHIFT = 3
PIXELS = 64 * 56 * 56  # of all maps that are timed together
SIDES = (7, 14, 28, 56, 112)


# --8<-- [start:cost]
def multiply_adds(h: int, w: int, channels: int, m: int = 0) -> tuple[int, int]:
    """Of the four projections, and of attention in windows of m × m or, without m, over the whole map."""
    keys = m * m if m else h * w
    return 4 * h * w * channels**2, 2 * keys * h * w * channels


# --8<-- [end:cost]


class Layer:
    """Random maps on the device, and the ways to compute window attention and its gradients on them."""

    def __init__(self, rng: np.random.Generator, batch: int, side: int, heads: int = 3, shift: int = SHIFT) -> None:
        self.maps = maps = Maps(batch, side, side, heads, shift=shift)
        self.qkv, self.table = draw(rng, maps)
        shape = (batch, side, side, maps.channels)
        self.x, self.dout = (rng.standard_normal(shape, np.float32) for _ in range(2))
        self.at: dict[str, Any] = dict(
            zip(("qkv", "table", "x", "dout"), to_device(self.qkv, self.table, self.x, self.dout), strict=True)
        )
        self.out, self.cut, self.rolled, self.windows = (Poisoned(shape) for _ in range(4))
        (self.cut_qkv,) = to_device(np.stack([self.to_windows(one) for one in self.qkv]))
        self.wants: dict[str, Array] = {}

    def to_windows(self, image: Array) -> Array:
        return partition(np.roll(image, (-self.maps.shift,) * 2, (0, 1)), self.maps.window)

    # --8<-- [start:ways]
    def fused(self) -> None:
        self.maps.attend(self.at["qkv"], self.at["table"], self.out.at)

    def chain(self) -> None:
        """x goes to windows; its q, k and v, which a linear layer would compute there, are given as windows."""
        maps = self.maps
        maps.move("roll", self.at["x"], self.rolled.at, maps.channels, maps.shift)
        maps.move("partition", self.rolled.at, self.cut.at, maps.channels)
        maps.attend(self.cut_qkv, self.at["table"], self.windows.at, partitioned=True)
        maps.move("reverse", self.windows.at, self.rolled.at, maps.channels)
        maps.move("roll", self.rolled.at, self.out.at, maps.channels, -maps.shift)

    # --8<-- [end:ways]

    def globally(self) -> None:
        self.maps.attend_globally(self.at["qkv"], self.out.at)

    def spoil(self, _: int = 0) -> None:
        for array in (self.out, self.cut, self.rolled, self.windows):
            array.spoil()

    def check_out(self, result: Array, what: str) -> None:
        """The first and the last map against float64."""
        if not self.wants:
            maps, chosen = self.maps, [0, self.maps.batch - 1]
            self.wants = {
                "out": np.stack([attention(self.qkv[i], self.table, maps.window, maps.shift) for i in chosen]),
                "cut": np.stack([self.to_windows(self.x[i]) for i in chosen]),
            }
        want = self.wants["out"].reshape(2, *result.shape[1:])
        bound = bounds(self.qkv[:1], self.maps).flat[0]
        wb.check(result[[0, -1]], want, bound, what)

    def check(self, what: str) -> None:
        self.check_out(self.out.read(), what)
        if what == "chain":
            cut = self.cut.read()[[0, -1]].reshape(self.wants["cut"].shape)
            wb.check(cut, self.wants["cut"], what="chain, x in windows")

    def check_globally(self, _: int = 0) -> None:
        """Sixteen queries of the first map and of the last."""
        got, maps = self.out.read().reshape(self.maps.batch, -1, self.maps.heads, self.maps.head), self.maps
        n, d = maps.h * maps.w, maps.head
        chosen = np.unique(np.linspace(0, n - 1, 16).astype(int))
        for i in (0, maps.batch - 1):
            q, k, v = self.qkv[i].reshape(n, 3, maps.heads, d).astype(np.float64).transpose(1, 2, 0, 3)
            s = q[:, chosen] @ k.swapaxes(1, 2) / np.sqrt(d)
            e = np.exp(s - s.max(-1, keepdims=True))
            want = (e / e.sum(-1, keepdims=True)) @ v
            bound = bounds(self.qkv[:1], maps).flat[0] * (1 + n / 784)
            wb.check(got[i, chosen], want.swapaxes(0, 1), bound, f"global attention, map {i}")

    def prepare_backward(self) -> None:
        maps = self.maps
        self.dqkv, self.dtable = Poisoned(maps.qkv_shape), Poisoned(maps.table_shape)
        self.partial = Poisoned((maps.lines, *maps.table_shape))

    def backward(self) -> None:
        given = (self.at["dout"], self.at["qkv"], self.at["table"])
        self.maps.backward(*given, self.dqkv.at, self.partial.at, self.dtable.at)

    def spoil_backward(self, _: int = 0) -> None:
        for array in (self.dqkv, self.dtable, self.partial):
            array.spoil()

    def check_backward(self, _: int = 0) -> None:
        """The gradients of the first map; the table's, of all maps, only where there are few of them."""
        maps = self.maps
        few = maps.batch if maps.batch <= 2 else 1
        found = [
            attention_backward(dout, qkv, self.table, maps.window, maps.shift)
            for dout, qkv in zip(self.dout[:few].reshape(-1, *maps.out_shape[1:]), self.qkv[:few], strict=True)
        ]  # fmt: skip
        wb.check(self.dqkv.read()[0], found[0][0], 1e-5 * np.abs(found[0][0]).max(), "dqkv")
        lines = self.partial.read().sum(0, dtype=np.float64)
        if maps.batch <= 2:
            want = sum(of_table for _, of_table in found)
            wb.check(lines, want, 1e-5 * np.abs(want).max(), "lines of dtable")
            wb.check(self.dtable.read(), want, 1e-5 * np.abs(want).max(), "dtable")
        else:  # the references of so many maps would take long; dqkv of the first one tells of wrong slopes
            wb.check(self.dtable.read(), lines, 1e-4 * np.abs(lines).max(), "dtable")


class Shared:
    """Memory of PyCUDA as PyTorch takes it."""

    def __init__(self, at: Any, *shape: int, kind: str = "<f4") -> None:
        self.__cuda_array_interface__ = {"data": (int(at), False), "shape": shape, "typestr": kind, "version": 3}


def rivals_of(layer: Layer) -> dict[str, Callable[[], Any]]:
    try:
        wb.needs(packages=("torch", "triton"))
    except wb.Skipped:
        return {}
    import _rivals
    import torch

    maps, n = layer.maps, layer.maps.window**2
    x = torch.as_tensor(Shared(layer.at["x"], maps.batch, maps.h, maps.w, maps.channels), device="cuda")
    qkv = torch.as_tensor(Shared(layer.cut_qkv, maps.lines, n, 3, maps.heads, maps.head), device="cuda")
    table = torch.as_tensor(Shared(layer.at["table"], *maps.table_shape), device="cuda")
    pixels = layer.to_windows(np.arange(maps.h * maps.w).reshape(maps.h, maps.w))
    shared = together(maps.h, maps.w, maps.window, maps.shift)[pixels[:, :, None], pixels[:, None, :]]
    mask = torch.as_tensor(np.where(shared, 0, -100).astype(np.float32), device="cuda")
    index = torch.as_tensor(bias_index(maps.window), device="cuda")
    return _rivals.ways(x, qkv, table, index, mask, maps.window, maps.shift)


def record(name: str, values: list[float] | wp.Spread, unit: str) -> float:
    median, low, high = values if isinstance(values, tuple) else wp.spread(values)
    wb.value(name, median, unit, (low, high))
    return median


def measure(rng: np.random.Generator, batch: int, side: int) -> None:
    """Our fused kernel in pairs with each other way; the copy, the backward pass and the merging alone."""
    layer = Layer(rng, batch, side)
    maps, pixels = layer.maps, batch * side * side
    plain = Layer(rng, batch, side, shift=0)
    others: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
        "chain": (layer.chain, lambda _: layer.check("chain")),
        "unshifted": (plain.fused, lambda _: plain.check("unshifted")),
    }
    for name, run in rivals_of(layer).items():
        others[name] = (run, lambda result, name=name: layer.check_out(result[0].cpu().numpy(), name))
    ours: list[float] = []
    print(f"\n{batch} maps of {side} × {side} × {maps.channels}\n{'':12}{'µs':>8}{'fused is':>10}")
    for name, (run, check) in others.items():
        for one in (layer, plain):
            one.spoil()
        layer.fused()
        layer.check("fused")
        layer.spoil()
        check(run())
        mine, theirs = wp.pairs(layer.fused, lambda run=run: (run(), None)[1])
        ours += mine.seconds
        took = record(f"{name}.time", theirs.seconds, "s")
        ratio = record(f"{name}.ratio", [b / a for a, b in zip(mine.seconds, theirs.seconds, strict=True)], "1")
        print(f"{name:12}{took * 1e6:8.1f}{ratio:9.2f}x")
    median = record("fused.time", ours, "s")
    low, _, high = np.percentile(ours, [10, 50, 90])
    moved = fused_bytes(pixels, maps.channels)
    wb.value("fused.rate", moved / median, "B/s", (moved / high, moved / low))
    flop = 4 * maps.window**2 * pixels * maps.channels
    wb.value("fused.flops", flop / median, "flop/s", (flop / high, flop / low))
    print(f"{'fused':12}{median * 1e6:8.1f}   {moved / median / 1e9:.0f} GB/s, {flop / median / 1e12:.1f} TFLOP/s")
    time_alone(layer)


def time_alone(layer: Layer) -> None:
    maps = layer.maps
    count = layer.qkv.nbytes
    spare = Poisoned(maps.qkv_shape)

    def check_copy(_: int) -> None:
        wb.check(np.array_equal(spare.read(), layer.qkv), True, what="copy")

    copy = wb.time(
        lambda _: cuda.memcpy_dtod_async(spare.at, layer.at["qkv"], count),
        poison=lambda _: spare.spoil(),
        check=check_copy,
    )
    wb.timing("copy", copy, 2 * count)
    layer.prepare_backward()
    back = wb.time(lambda _: layer.backward(), poison=layer.spoil_backward, check=layer.check_backward)
    wb.timing("backward", back, backward_bytes(maps))
    merged = Poisoned((maps.batch, maps.h // 2, maps.w // 2, 4 * maps.channels))

    def check_merged(_: int) -> None:
        wb.check(merged.read()[-1], merge(layer.x[-1]), what="merging")

    merging = wb.time(
        lambda _: maps.merge(layer.at["x"], merged.at, maps.channels),
        poison=lambda _: merged.spoil(),
        check=check_merged,
    )
    wb.timing("merge", merging, 2 * layer.x.nbytes)
    for name, t in (("copy", copy), ("backward", back), ("merge", merging)):
        print(f"{name:12}{t.median * 1e6:8.1f}")


def sweep(rng: np.random.Generator, pixels: int, sides: tuple[int, ...]) -> None:
    """The time of one map over its number of pixels: windows, fused and as a chain, and global attention."""
    found: dict[str, list[wp.Spread]] = {"fused": [], "chain": [], "global": []}
    print(f"\n{'µs per map':12}" + "".join(f"{name:>10}" for name in found))
    for side in sides:
        batch = max(2, pixels // side**2)
        layer = Layer(rng, batch, side, shift=SHIFT if side > 7 else 0)
        runs: dict[str, tuple[Callable[[], None], Callable[[int], None]]] = {
            "fused": (layer.fused, lambda _, layer=layer: layer.check("fused")),
            "chain": (layer.chain, lambda _, layer=layer: layer.check("chain")),
            "global": (layer.globally, layer.check_globally),
        }
        if side > 56:  # float64 references of that size take too much memory; 56 × 56 was checked
            for name in ("fused", "chain"):
                runs[name] = (runs[name][0], lambda _, layer=layer: check_crop(layer))
        for name, (run, check) in runs.items():
            t = wb.time(lambda _, run=run: run(), repeats=20, poison=layer.spoil, check=check)
            found[name].append((t.median / batch, t.low / batch, t.high / batch))
        print(f"{side:4} × {side:<5}" + "".join(f"{found[name][-1][0] * 1e6:10.2f}" for name in runs))
    for name, values in found.items():
        median, low, high = zip(*values, strict=True)
        x = [side**2 for side in sides]
        wb.series(f"{name}.sweep", x, median, x_unit="count", unit="s", low=low, high=high)
        if name != "chain":
            slope = float(np.polyfit(np.log(x[2:]), np.log(median[2:]), 1)[0])
            wb.value(f"{name}.slope", slope, "1")
            print(f"{name}: time grows as pixels to the power {slope:.2f}, from {sides[2]} × {sides[2]} on")
    at = sides.index(14)
    for name in ("fused", "chain"):
        wb.value(f"{name}.ahead", found["global"][at][0] / found[name][at][0], "1")


def check_crop(layer: Layer) -> None:
    """Rows between two window lines depend on nothing else: 14 of them, cut from the middle of the last map."""
    maps, first = layer.maps, layer.maps.shift + 28
    rows = layer.qkv[-1, first : first + 14]
    crop = Maps(1, 14, maps.w, maps.heads)
    y, x = np.divmod(np.arange(14 * maps.w), maps.w)
    column = (x - maps.shift) // maps.window
    shared = (y[:, None] // 7 == y // 7) & (column[:, None] == column)
    want = attention(rows, layer.table, 7, 0, shared)
    got = layer.out.read()[-1, first : first + 14].reshape(want.shape)
    wb.check(got, want, bounds(rows[None], crop).flat[0], "windows, rows of the last map")


def check_ways(rng: np.random.Generator, batch: int, side: int) -> None:
    layer = Layer(rng, batch, side)
    for name, run in (("fused", layer.fused), ("chain", layer.chain)):
        layer.spoil()
        run()
        layer.check(name)
    layer.spoil()
    layer.globally()
    layer.check_globally()
    want = np.stack([global_attention(one) for one in layer.qkv]).reshape(layer.out.shape)
    wb.check(layer.out.read(), want, bounds(layer.qkv, layer.maps).flat[0], "global attention")
    layer.prepare_backward()
    for _ in range(2):
        layer.dout = rng.standard_normal(layer.dout.shape, np.float32)
        (layer.at["dout"],) = to_device(layer.dout)
        layer.spoil_backward()
        layer.backward()
        layer.check_backward()


def profile(rng: np.random.Generator, batch: int, side: int) -> None:
    """Every kernel once, the bias table also with unpadded rows."""
    layer = Layer(rng, batch, side)
    layer.prepare_backward()
    layer.spoil()
    layer.fused()
    layer.check("fused")
    layer.spoil()
    maps = Maps(batch, side, side, heads=3, shift=SHIFT, module=unpadded())
    maps.attend(layer.at["qkv"], layer.at["table"], layer.out.at, name="window_attention_unpadded")
    layer.check("unpadded")
    layer.spoil()
    layer.chain()
    layer.check("chain")
    layer.spoil()
    layer.globally()
    layer.check_globally()
    merged = Poisoned((batch, side // 2, side // 2, 4 * layer.maps.channels))
    layer.maps.merge(layer.at["x"], merged.at, layer.maps.channels)
    wb.check(merged.read()[-1], merge(layer.x[-1]), what="merging")
    layer.backward()
    layer.check_backward()
    print(f"{batch} of {side} × {side}: every kernel is right")


if __name__ == "__main__":
    generator = np.random.default_rng()
    if "--profile" in sys.argv[1:]:
        profile(np.random.default_rng(11), 64 if wb.is_gpu() else 1, 28)  # how lanes diverge depends on the data
        raise SystemExit
    check_ways(generator, 2, 14)
    print("14 × 14 × 96: fused, chain, global attention and the backward pass as float64 says")
    one = 56 * 56
    print(f"chain: {len(CHAIN)} launches, {chain_bytes(one, 96) / one / 96 / 4:.0f} floats per pixel and channel")
    print(f"fused: 1 launch, {fused_bytes(one, 96) / one / 96 / 4:.0f} floats per pixel and channel")
    if wb.is_gpu():
        wb.needs(memory=12 * 2**30)
        measure(generator, 64, 56)
        sweep(generator, PIXELS, SIDES)
    else:
        print("no GPU: nothing is timed")
