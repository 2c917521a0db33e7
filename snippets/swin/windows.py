"""Cyclic shift and mask against brute force, over every small size; the bias index; patch merging.

python windows.py   mask in NumPy for all windows up to 7 × 7; the fused kernel and the chain for windows up to 4 × 4
"""

import itertools

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from _kernels import Maps, Poisoned, to_device
from _windows import Array, attention, merge, pair_index, partition, together, together_by_shift
from pycuda.compiler import SourceModule

U = 2.0**-24  # half the distance of neighbouring floats around 1


# --8<-- [start:masks]
def check_masks(largest: int, across: int) -> tuple[int, int]:
    """The pairs that shift and mask leave are those that share a window: every size, shift and number of windows."""
    cases = pairs = 0
    for m in range(1, largest + 1):
        for shift, rows, columns in itertools.product(range(m), range(1, across + 1), range(1, across + 1)):
            size = (rows * m, columns * m, m, shift)
            want = together(*size)
            wb.check(together_by_shift(*size), want, what=f"map of {size[0]} × {size[1]}, window {m}, shift {shift}")
            cases += 1
            pairs += want.size
    return cases, pairs


# --8<-- [end:masks]


def draw(rng: np.random.Generator, maps: Maps, spread: float = 1) -> tuple[Array, Array]:
    qkv = (spread * rng.standard_normal(maps.qkv_shape)).astype(np.float32)
    return qkv, rng.standard_normal(maps.table_shape).astype(np.float32)


def bounds(qkv: Array, maps: Maps) -> Array:
    """Of out: scores err by d + 4 roundings of the sum of their terms' sizes, weights and values by as many as keys."""
    q, k, v = (np.abs(qkv[:, :, :, i].astype(np.float64)) for i in range(3))
    largest = (q * maps.scale).sum(-1).max() * k.mean() + 6
    return np.broadcast_to(U * ((maps.head + 4) * largest + 2 * maps.window**2) * v.max(), maps.out_shape)


# --8<-- [start:run]
def run_fused(maps: Maps, qkv: Array, table: Array) -> Array:
    out = Poisoned(maps.out_shape)
    maps.attend(*to_device(qkv, table), out.at)
    return out.read()


def run_chain(maps: Maps, qkv: Array, table: Array) -> Array:
    """Five kernels. Here q, k and v are shifted and cut; the authors' code does that before they are computed."""
    a, b = (Poisoned(maps.qkv_shape) for _ in range(2))
    c, d = (Poisoned(maps.out_shape) for _ in range(2))
    given, bias = to_device(qkv, table)
    maps.move("roll", given, a.at, 3 * maps.channels, maps.shift)
    maps.move("partition", a.at, b.at, 3 * maps.channels)
    maps.attend(b.at, bias, c.at, partitioned=True)
    maps.move("reverse", c.at, d.at, maps.channels)
    c.spoil()
    maps.move("roll", d.at, c.at, maps.channels, -maps.shift)
    return c.read()


# --8<-- [end:run]


# --8<-- [start:kernels]
def check_kernels(rng: np.random.Generator, largest: int, across: int) -> tuple[int, float]:
    """Fused kernel and chain against brute force in float64; both must have the same bits."""
    cases, worst = 0, 0.0
    for m in range(2, largest + 1):
        for shift, rows, columns in itertools.product(range(m), range(1, across + 1), range(1, across + 1)):
            maps = Maps(1, rows * m, columns * m, heads=2, window=m, head=4, shift=shift)
            worst = max(worst, check_one(rng, maps))
            cases += 1
    return cases, worst


def check_one(rng: np.random.Generator, maps: Maps) -> float:
    qkv, table = draw(rng, maps)
    what = f"{maps.h} × {maps.w}, window {maps.window}, shift {maps.shift}"
    want = np.stack([attention(image, table, maps.window, maps.shift) for image in qkv])
    got = run_fused(maps, qkv, table)
    worst = wb.check(got, want, bounds(qkv, maps), what)
    if not np.array_equal(run_chain(maps, qkv, table), got):
        raise AssertionError(f"{what}: the chain differs from the fused kernel")
    return worst


# --8<-- [end:kernels]


# --8<-- [start:index]
def bias_index(m: int) -> Array:
    """For query i and key j of a window, the entry of the table: (dy + m - 1) (2m - 1) + dx + m - 1."""
    y, x = np.divmod(np.arange(m * m), m)
    dy, dx = y[:, None] - y, x[:, None] - x
    return (dy + m - 1) * (2 * m - 1) + dx + m - 1


# --8<-- [end:index]


def check_index(largest: int) -> None:
    """Each entry is read by (m - |dy|)(m - |dx|) pairs; swapping query and key mirrors the table."""
    for m in range(1, largest + 1):
        index, d = bias_index(m), m - np.abs(np.arange(1 - m, m))
        wb.check(np.bincount(index.ravel()), np.outer(d, d).ravel(), what=f"pairs of each entry, window {m}")
        wb.check(index.T, (2 * m - 1) ** 2 - 1 - index, what=f"index of swapped pairs, window {m}")
        grid = pair_index(2 * m, 3 * m, m)
        for pixels in partition(np.arange(6 * m * m).reshape(2 * m, 3 * m), m):
            wb.check(grid[np.ix_(pixels, pixels)], index, what=f"index within a map, window {m}")


def check_merge(rng: np.random.Generator) -> None:
    """Also rows that take two blocks, and more rows than a grid's y has blocks."""
    for h, w, channels in ((2, 2, 4), (4, 6, 8), (8, 4, 12), (4, 104, 12), (70_000, 2, 4)):
        maps = Maps(2, h, w, heads=1, window=2, head=channels)
        x, out = (
            rng.standard_normal((2, h, w, channels)).astype(np.float32),
            Poisoned((2, h // 2, w // 2, 4 * channels)),
        )
        maps.merge(*to_device(x), out.at, channels)
        wb.check(out.read(), np.stack([merge(image) for image in x]), what=f"merging {h} × {w} × {channels}")


BROKEN = {  # a mistake, and what it does to a line of swin.cu
    "no mask": ("own[-(r * STRIDE + c)] : -INFINITY", "own[-(r * STRIDE + c)] : own[-(r * STRIDE + c)]"),
    "only rows masked": (" + (column(window, t) >= w ? 2 : 0)", ""),
    "a region sees those below it": ("region[r * M + c] == region ", "region[r * M + c] >= region "),
    "bias transposed": ("own[-(r * STRIDE + c)] :", "own[-(c * STRIDE + r)] :"),
    "query and key swapped": (
        "own[-(r * STRIDE + c)] :",
        "bias[2 * (M - 1) * (STRIDE + 1) - int(own - bias) + r * STRIDE + c] :",
    ),
    "shift the other way": ("t / M + shift;", "t / M - shift + h;"),
}


def check_checks(rng: np.random.Generator) -> None:
    """The same comparison with a mistake in the kernel: each must be noticed."""
    source = wb.source("swin/swin.cu", WINDOW=3, HEAD=4)
    for what, (right, wrong) in BROKEN.items():
        if source.count(right) != 1:
            raise AssertionError(f"{what}: not one such line in swin.cu")
        module = SourceModule(source.replace(right, wrong), no_extern_c=True)
        try:
            check_one(rng, Maps(1, 6, 9, heads=2, window=3, head=4, shift=1, module=module))
        except AssertionError:
            print(f"  {what:28} noticed")
        else:
            raise AssertionError(f"not noticed: {what}")


if __name__ == "__main__":
    generator = np.random.default_rng()
    sizes, compared = check_masks(7, 4)
    print(f"mask: {sizes} sizes, {compared:,} pairs of pixels, all as brute force says")
    sizes, share = check_kernels(generator, 4, 3)
    print(f"fused kernel and chain: {sizes} sizes, the same bits, within {share:.0%} of the bound of brute force")
    check_checks(generator)
    check_index(7)
    print("bias index: every entry is read by (7 - |dy|)(7 - |dx|) pairs, and windows up to 7 × 7 alike")
    check_merge(generator)
    print("patch merging: the slices in their order")
    kept = np.zeros((14, 14), np.float32)
    for pixel, number in enumerate(together_by_shift(14, 14, 7, 3).sum(1)):
        kept[pixel // 14, pixel % 14] = number
    wb.matrix("kept", kept, unit="count")
    wb.matrix("index", bias_index(4).astype(float), unit="count")
