"""Find the cause of a wrong result by comparing what the kernel wrote with what was expected."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from warpjudge.exercise import Cause, Failure

Where = dict[str, Any]  # {"kind": a row of messages.toml's [where], …}


def where(indices: Iterable[int], count: int) -> Where:
    """A set of indices below `count`, described as a reader would."""
    found = sorted(int(i) for i in indices)
    first, last = found[0], found[-1]
    steps = set(np.diff(found).tolist())
    if len(found) == count:
        return {"kind": "all"}
    if len(found) == 1:
        return {"kind": "last" if first == count - 1 else "one", "first": first}
    if steps == {1}:
        kind = "tail" if last == count - 1 else "head" if first == 0 else "range"
        return {"kind": kind, "first": first, "last": last}
    if len(steps) == 1:
        return {"kind": "step", "first": first, "step": steps.pop()}
    for step in (32, 64, 128, 256, 512, 1024, 2048):
        inside = sorted({i % step for i in found})
        if len(inside) < step and inside == list(range(inside[0], inside[-1] + 1)):
            expected = [i for i in range(count) if inside[0] <= i % step <= inside[-1]]
            if expected == found:
                return {"kind": "in_block", "first": inside[0], "last": inside[-1], "step": step}
    return {"kind": "some", "count": len(found), "list": ", ".join(map(str, found[:3]))}


def where_in(mask: np.ndarray) -> Where:
    """The same for an array of booleans; of a matrix, whole rows or columns from one on."""
    if mask.ndim == 2 and not mask.all():
        for axis, kind in ((1, "rows"), (0, "columns")):
            whole = np.asarray(mask.all(axis=axis))
            if whole.any() and (mask.any(axis=axis) == whole).all() and whole[np.argmax(whole) :].all():
                return {"kind": kind, "first": int(np.argmax(whole))}
    return where(np.flatnonzero(mask), mask.size)


def shown(value: Any) -> str:
    return str(int(value)) if np.asarray(value).dtype.kind in "iub" else f"{float(value):.7g}"


def place(failure: Failure, index: int) -> str:
    """[i] or [r][c] of an element in the flat array; empty for a result of one element without an axis."""
    shape = failure.want.shape
    return "".join(f"[{i}]" for i in np.unravel_index(index, shape)) if shape else ""


def values(failure: Failure, index: int) -> dict[str, Any]:
    return {
        "name": failure.name,
        "at": place(failure, index),
        "got": shown(failure.got.reshape(-1)[index]),
        "want": shown(failure.want.reshape(-1)[index]),
    }


def cause_of(failure: Failure) -> Cause:
    """The first explanation that fits; the exercise's own come first."""
    for explain in (*failure.exercise.causes, *EXPLANATIONS):
        if found := explain(failure):
            return found
    first = int(np.argmax(failure.wrong))
    return Cause("different", values(failure, first) | {"where": where_in(failure.wrong)})


def not_written(failure: Failure) -> Cause | None:
    untouched = failure.untouched
    if untouched.all():
        return Cause("not-written", {"name": failure.name})
    if untouched.any():
        return Cause("part-not-written", {"name": failure.name, "where": where_in(untouched)})
    return None


def not_finite(failure: Failure) -> Cause | None:
    if failure.got.dtype.kind != "f":
        return None
    bad = failure.wrong & ~np.isfinite(failure.got)
    return Cause("nan", values(failure, int(np.argmax(bad)))) if bad.any() else None


def miscounted(failure: Failure) -> Cause | None:
    """What unit vectors showed of a linear result."""
    counts = failure.counts
    if not counts:
        return None
    about = values(failure, int(np.argmax(failure.wrong))) | {"input": failure.exercise.linear}
    total = failure.inputs[failure.exercise.linear].size
    missing = [i for i, times in counts.items() if times == 0]
    if missing:
        return Cause("not-counted", about | {"where": where(missing, total)})
    times = set(counts.values())
    if len(times) == 1 and (k := times.pop()) == int(k) and k > 1:
        return Cause("counted-twice", about | {"times": int(k), "where": where(counts, total)})
    return Cause("miscounted", about | {"where": where(counts, total)})


def low_precision(failure: Failure) -> Cause | None:
    got, want = failure.got, failure.want
    if got.dtype.kind != "f" or got.dtype.itemsize < 4 or want.dtype.kind != "f":
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        bits = np.ascontiguousarray(got, np.float32).view(np.uint32)
        forms = {"fp16": got.astype(np.float16).astype(got.dtype) == got, "bf16": (bits & 0xFFFF) == 0}
        error = np.abs(got - want)
    bad = failure.wrong
    coarse = error <= np.abs(want) * 2.0**-7 + 2.0**-14
    for kind, holds in forms.items():
        if coarse[bad].all() and holds[bad].all() and holds.mean() > 0.95:
            return Cause("low-precision", values(failure, int(np.argmax(bad))) | {"kind": kind})
    near = (error <= np.maximum(failure.bound * 1e5, np.abs(want) * 2.0**-9))[bad].all()
    if near and failure.exercise.roundings:
        at = int(np.argmax(np.where(bad, error, -1)))
        about = {"error": f"{error.reshape(-1)[at]:.2g}", "bound": f"{failure.bound.reshape(-1)[at]:.2g}"}
        return Cause("rounding", values(failure, at) | about | {"roundings": failure.exercise.roundings})
    return None


def constant(failure: Failure) -> Cause | None:
    got = failure.got.reshape(-1)
    if got.size > 2 and (got == got[0]).all():
        return Cause("constant", values(failure, int(np.argmax(failure.wrong))))
    return None


def input_copied(failure: Failure) -> Cause | None:
    for name, given in failure.inputs.items():
        if given.shape == failure.got.shape and given.size > 2 and np.array_equal(given, failure.got):
            return Cause("input-copied", values(failure, int(np.argmax(failure.wrong))) | {"input": name})
    return None


def misplaced(failure: Failure) -> Cause | None:
    """Right values in wrong places: shifted, transposed, rows of another length."""
    got, want = failure.got.reshape(-1), failure.want.reshape(-1)
    limit = failure.bound.reshape(-1)
    bad = np.flatnonzero(failure.wrong.reshape(-1))
    if got.size < 2:
        return None
    origins: list[np.ndarray] = []
    some = bad if bad.size <= 200 else bad[:: bad.size // 200 + 1]
    for i in some:  # elements of the reference that equal this one
        origins.append(np.flatnonzero(np.abs(want - got[i]) <= np.maximum(limit, limit[i])))
    known = [(int(i), origin) for i, origin in zip(some, origins, strict=True) if origin.size]
    if len(known) < 0.7 * some.size:
        return None
    tight = [(i, origin) for i, origin in known if origin.size <= 3] or known
    first, origin = tight[0]
    about = values(failure, first)
    for j in origin:
        shift = int(j) - first
        if abs(shift) < 64 and sum(i + shift in o for i, o in known) >= 0.9 * len(known):
            return Cause("shifted", about | {"shift": abs(shift), "other_at": place(failure, int(j))})
    if failure.want.ndim == 2:
        rows, columns = failure.want.shape
        turned = [(i % columns) * rows + i // columns for i, _ in known]
        swapped = [(i % columns) * columns + i // columns for i, _ in known]
        back = [(i % rows) * columns + i // rows for i, _ in known]
        for guess in (turned, swapped, back):
            if sum(g in o for g, (_, o) in zip(guess, known, strict=True)) >= 0.9 * len(known):
                return Cause("transposed", about)
        pitches = {rows, columns + 1, columns - 1, 32, -(-columns // 32) * 32} - {columns}
        for pitch in sorted(p for p in pitches if p > 0):
            guess = [i // columns * pitch + i % columns for i, _ in known]
            if sum(g in o for g, (_, o) in zip(guess, known, strict=True)) >= 0.9 * len(known):
                return Cause("pitch", about | {"pitch": pitch, "columns": columns})
    return Cause("misplaced", about | {"other_at": place(failure, int(origin[0]))})


def factor(failure: Failure) -> Cause | None:
    got, want = failure.got.astype(np.float64), failure.want.astype(np.float64)
    used = np.abs(want) > 1e-30
    if not used.any():
        return None
    ratios = got[used] / want[used]
    k = ratios.reshape(-1)[0]
    if np.allclose(ratios, k, rtol=1e-6) and abs(k - 1) > 1e-3 and abs(k) > 1e-30 and used.sum() > 1:
        return Cause("factor", values(failure, int(np.argmax(failure.wrong))) | {"factor": f"{k:.6g}"})
    return None


# What may be said better of another size; the last one is said only if there is nothing else.
VAGUE = ("factor", "misplaced", "constant", "not-written", "miscounted", "nan", "different")
# What a finding of the checker's explains.
EXPLAINED = ("miscounted", "nan", "different", "factor", "constant", "misplaced", "rounding")
EXPLANATIONS: tuple[Callable[[Failure], Cause | None], ...] = (
    not_written,
    not_finite,
    miscounted,
    low_precision,
    factor,
    constant,
    input_copied,
    misplaced,
)


def only_at(failing: list[tuple[int, ...]], passing: list[tuple[int, ...]], block: int) -> Where | None:
    """What the sizes that fail have in common, and those that pass have not."""
    if not passing or any(len(size) != 1 for size in failing + passing):
        return None
    step = math.gcd(*(n for (n,) in passing))
    if step >= min(block, 32) and all(n % step for (n,) in failing):
        return {"kind": "multiples", "block": step}
    least, most = min(n for (n,) in failing), max(n for (n,) in passing)
    return {"kind": "larger", "block": most} if most < least and most > 1 else None
