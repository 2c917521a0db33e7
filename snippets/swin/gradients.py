"""The gradients of window attention: float64 formulas against differences, layer by layer; kernels against formulas.

python gradients.py   also breaks the backward kernels in seven ways, each of which must be noticed
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pycuda.autoprimaryctx  # noqa: F401
import warpbench as wb
from _kernels import Maps, Poisoned, to_device
from _windows import (
    Array,
    add_bias,
    add_bias_backward,
    attention,
    attention_backward,
    mix,
    mix_backward,
    pair_index,
    scores,
    scores_backward,
    softmax,
    softmax_backward,
    together,
)
from pycuda.compiler import SourceModule

STEP = 1e-5
BROKEN = {  # a mistake, and what it does to a line of swin.cu
    "sign of the mean": ("(slope[j] - mean)", "(slope[j] + mean)"),
    "mean missing": ("(slope[j] - mean)", "slope[j]"),
    "scale missing in dk": ("float slope = slopes[i * ODD + t] * scale", "float slope = slopes[i * ODD + t]"),
    "bias not read": (" + own[-(j / M * SIDE + j % M)]", " + 0 * own[0]"),
    "no mask": ("at.region[j] == at.region[t] ? score", "true ? score"),
    "entries of the table mirrored": ("(y - dy) * M + x - dx]", "(M - 1 - y) * M + M - 1 - x]"),
    "buffer of the last step kept": ("dtable[column] = sum", "dtable[column] += sum"),
}


# --8<-- [start:differences]
def slopes(f: Callable[[], float], x: Array) -> Array:
    """Of f for every element of x, which is changed in place and put back: central differences."""
    found = np.empty_like(x)
    for at in np.ndindex(x.shape):
        kept = x[at]
        x[at] = kept + STEP
        up = f()
        x[at] = kept - STEP
        found[at] = (up - f()) / (2 * STEP)
        x[at] = kept
    return found


def check_layers(rng: np.random.Generator) -> None:
    """Each layer alone: a random gradient comes in, so f = sum(gradient · result) has the slopes to return."""
    h, w, m, heads, d = 2, 4, 2, 2, 3
    shared, index = together(h, w, m, 1), pair_index(h, w, m)
    q, k, v = rng.standard_normal((3, heads, h * w, d))
    s, table = rng.standard_normal((heads, h * w, h * w)), rng.standard_normal((heads, (2 * m - 1) ** 2))
    p, down, do = softmax(s, shared), rng.standard_normal(s.shape), rng.standard_normal(q.shape)
    for name, got, by in zip("qk", scores_backward(down, q, k), (q, k), strict=True):
        wb.check(got, slopes(lambda: float((down * scores(q, k)).sum()), by), 1e-7, f"scores, d{name}")
    want = slopes(lambda: float((down * add_bias(s, table, index)).sum()), table)
    wb.check(add_bias_backward(down, table, index), want, 1e-7, "bias, dtable")
    want = slopes(lambda: float((down * softmax(s, shared)).sum()), s)
    wb.check(softmax_backward(down, p), want, 1e-7, "softmax, ds")
    for name, got, by in zip("pv", mix_backward(do, p, v), (p, v), strict=True):
        wb.check(got, slopes(lambda: float((do * mix(p, v)).sum()), by), 1e-7, f"mix, d{name}")


def weighted(do: Array, qkv: Array, table: Array, shift: int) -> float:
    return float((do * attention(qkv, table, 2, shift)).sum())


def check_whole(rng: np.random.Generator) -> int:
    """The layers joined by the chain rule, for a shifted and an unshifted map."""
    count = 0
    for shift in (0, 1):
        qkv, do = rng.standard_normal((4, 4, 3, 2, 4)), rng.standard_normal((4, 4, 2, 4))
        table = rng.standard_normal((2, 9))
        found = attention_backward(do, qkv, table, 2, shift)
        for name, got, by in zip(("dqkv", "dtable"), found, (qkv, table), strict=True):
            want = slopes(partial(weighted, do, qkv, table, shift), by)
            wb.check(got, want, 1e-7, f"{name}, shift {shift}")
            count += by.size
    return count


# --8<-- [end:differences]


# --8<-- [start:kernels]
def check_kernels(rng: np.random.Generator, maps: Maps) -> None:
    """Two launches on different data into the same buffers: a kernel that adds to what is there passes the first."""
    dqkv, dtable = Poisoned(maps.qkv_shape), Poisoned(maps.table_shape)
    lines = Poisoned((maps.lines, *maps.table_shape))
    for _ in range(2):
        qkv, do = (rng.standard_normal(s).astype(np.float32) for s in (maps.qkv_shape, maps.out_shape))
        table = rng.standard_normal(maps.table_shape).astype(np.float32)
        dqkv.spoil()
        lines.spoil()
        maps.backward(*to_device(do, qkv, table), dqkv.at, lines.at, dtable.at)
        of_images = [
            attention_backward(do[i], qkv[i], table, maps.window, maps.shift) for i in range(maps.batch)
        ]  # fmt: skip
        want, of_table = np.stack([of_qkv for of_qkv, _ in of_images]), sum(table for _, table in of_images)
        found = {"dqkv": (dqkv.read(), want), "dtable": (dtable.read(), of_table)}
        found["lines"] = lines.read().sum(0, dtype=np.float64), of_table  # two wrong signs would make a right dtable
        for name, (got, right) in found.items():
            wb.check(got, right, 1e-5 * np.abs(right).max(), f"{name}, window {maps.window}, shift {maps.shift}")


# --8<-- [end:kernels]


def check_twice(rng: np.random.Generator) -> None:
    """dtable has the same bits in two runs: sums are taken in a fixed order, without atomics."""
    maps = Maps(2, 14, 14, heads=3, shift=3)
    given = [rng.standard_normal(s).astype(np.float32) for s in (maps.out_shape, maps.qkv_shape, maps.table_shape)]
    found = []
    for _ in range(2):
        out = [Poisoned(s) for s in (maps.qkv_shape, (maps.lines, *maps.table_shape), maps.table_shape)]
        maps.backward(*to_device(*given), *(o.at for o in out))
        found.append(out[2].read())
    if not np.array_equal(*found) or not np.isfinite(found[0]).all():
        raise AssertionError("dtable differs between two runs")


def check_checks(rng: np.random.Generator) -> None:
    """The same check of the kernels with a mistake in them: each must fail."""
    source = wb.source("swin/swin.cu", WINDOW=2, HEAD=4)
    for what, (right, wrong) in BROKEN.items():
        if source.count(right) != 1:
            raise AssertionError(f"{what}: not one such line in swin.cu")
        module: Any = SourceModule(source.replace(right, wrong), no_extern_c=True)
        try:
            check_kernels(rng, Maps(2, 4, 6, heads=2, window=2, head=4, shift=1, module=module))
        except AssertionError as error:
            print(f"  {what:30} noticed in {str(error).split(',')[0]}")
        else:
            raise AssertionError(f"not noticed: {what}")


if __name__ == "__main__":
    generator = np.random.default_rng()
    check_layers(generator)
    numbers = check_whole(generator)
    print(f"float64 against differences, within 1e-7: scores, bias, softmax, values; {numbers} slopes of the whole")
    for window, shifts in ((2, (0, 1)), (3, (0, 2)), (4, (1,)), (7, (3,))):
        for by in shifts:
            size = Maps(2, 2 * window, 3 * window, heads=2, window=window, head=32 if window == 7 else 4, shift=by)
            check_kernels(generator, size)
    print("kernels against float64, within 1e-5 of the largest: windows of 2, 3, 4 and 7")
    check_twice(generator)
    print("the table's gradient: the same bits in two runs")
    check_checks(generator)
