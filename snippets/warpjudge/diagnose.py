"""Find the cause of a wrong result by comparing what the kernel wrote with what was expected."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from warpjudge.exercise import Cause, Failure

# An element of a linear input and the output that counts it wrongly; the first that was found is said.
PAIRS = ("counted-elsewhere", "left-out-of", "counted-again", "not-its-own")
MOST_TIMES = 1 << 16  # that an element counts; more is no number of times, but what memory happened to hold
EXP_RANGE, EXP_OVER, EXP_UNDER = 80.0, 90.0, -105.0  # expf: harmless up to ±80, infinite above 90, 0 below -105
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
    found = where(np.flatnonzero(mask), mask.size)
    if mask.ndim > 1 and found["kind"] == "some":
        found["list"] = ", ".join("".join(f"[{i}]" for i in place) for place in np.argwhere(mask)[:3].tolist())
    return found


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
    """The first explanation that fits; the exercise's own come before the others where all was written."""
    for explain in (not_written, *failure.exercise.causes, *EXPLANATIONS):
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
    if not bad.any():
        return None
    return overflowed(failure, bad) or Cause("nan", values(failure, int(np.argmax(bad))))


def overflowed(failure: Failure, bad: np.ndarray) -> Cause | None:
    """Results that are not finite exactly in rows whose exponentials overflow, or all become 0."""
    for name, given in failure.inputs.items():
        if np.ndim(given) != 2 or given.dtype.kind != "f" or bad.shape[:1] != given.shape[:1]:
            continue
        rows = bad.reshape(len(bad), -1).any(axis=1)
        tops = given.astype(np.float64).max(axis=1)
        if (np.abs(tops[rows]) < EXP_RANGE).any() or (np.abs(tops[~rows]) > EXP_RANGE).all():
            continue
        over = rows & (tops > 0)
        alike = tops > EXP_OVER if over.any() else tops < EXP_UNDER
        if (alike & ~rows).any():
            continue  # another row of this kind came out finite
        row = int(np.argmax(over if over.any() else rows))
        at = int(np.argmax(bad.reshape(len(bad), -1)[row])) + row * (bad.size // len(bad))
        about = {"input": name, "row": row, "largest": shown(tops[row])}
        return Cause("exp-overflow" if over.any() else "exp-underflow", values(failure, at) | about)
    return None


def wrapped(failure: Failure) -> Cause | None:
    """A whole number that is off by a multiple of 2^16 or 2^32: something on the way is too narrow."""
    if failure.got.dtype.kind not in "iu" or failure.want.dtype.kind not in "iu":
        return None
    off = [abs(int(a) - int(b)) for a, b in zip(failure.got[failure.wrong], failure.want[failure.wrong], strict=True)]
    for bits in (32, 16):
        if 8 * failure.got.dtype.itemsize > bits and not any(one % (1 << bits) for one in off):
            return Cause("wrapped", values(failure, int(np.argmax(failure.wrong))) | {"bits": bits})
    return None


def started_with(failure: Failure) -> Cause | None:
    """A maximum or minimum over an axis that starts with a number instead of with the neutral element."""
    got, want = failure.got, failure.want
    if not any(np.ndim(given) > got.ndim for given in failure.inputs.values()):
        return None
    if not failure.wrong.any() or failure.wrong.all() or got.size < 3:
        return None
    start = got[failure.wrong].reshape(-1)[0]
    if not (got[failure.wrong] == start).all() or len(set(want[failure.wrong].tolist())) < 2:
        return None
    for kind, sign in (("greatest", 1), ("least", -1)):
        if (sign * want[failure.wrong] < sign * start).all() and (sign * want[~failure.wrong] >= sign * start).all():
            return Cause(f"started-{kind}", values(failure, int(np.argmax(failure.wrong))))
    return None


def miscounted(failure: Failure) -> Cause | None:
    """What unit vectors showed of a linear result."""
    counts = failure.counts
    if not (counts or failure.pairs):
        return None
    about = values(failure, int(np.argmax(failure.wrong))) | {"input": failure.exercise.linear}
    total = failure.inputs[failure.exercise.linear].size
    for name in PAIRS:
        if pairs := failure.pairs.get(name):
            i, (output, more) = next(iter(pairs.items()))
            shape = failure.inputs[failure.exercise.linear].shape
            source = "".join(f"[{k}]" for k in np.unravel_index(i, shape))
            about |= {"source": source, "target": place(failure, output), "where": where(pairs, total), "times": more}
            return Cause(name, about | ({"other_at": place(failure, more)} if name == "counted-elsewhere" else {}))
    missing = [i for i, times in counts.items() if times == 0]
    if missing:
        return Cause("not-counted", about | {"where": where(missing, total)})
    times = set(counts.values())
    if len(times) == 1 and (k := times.pop()) == int(k) and 1 < k < MOST_TIMES:
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
    roundings = failure.exercise.roundings
    size = failure.bound / max(1, roundings) / (np.finfo(got.dtype).eps / 2)  # of what is rounded
    near = (error <= np.maximum(np.minimum(failure.bound * 1e5, size / 64), np.abs(want) * 2.0**-9))[bad].all()
    if near and roundings:
        at = int(np.argmax(np.where(bad, error, -1)))
        about = {"error": f"{error.reshape(-1)[at]:.2g}", "bound": f"{failure.bound.reshape(-1)[at]:.2g}"}
        return Cause("rounding", values(failure, at) | about | {"roundings": roundings})
    return None


def constant(failure: Failure) -> Cause | None:
    got = failure.got.reshape(-1)
    if got.size > 2 and (got == got[0]).all():
        return Cause("constant", values(failure, int(np.argmax(failure.wrong))))
    return None


def forgets_before(failure: Failure) -> Cause | None:
    """An output that is updated in place, without the value that it had."""
    if failure.name not in failure.inputs:
        return None
    before = np.asarray(failure.inputs[failure.name], np.float64)
    missing = failure.want.astype(np.float64) - before
    with np.errstate(invalid="ignore", over="ignore"):
        close = np.abs(failure.got.astype(np.float64) - missing) <= failure.bound + 1e-6 * np.abs(before)
    if failure.wrong.any() and close[failure.wrong].all():
        return Cause("forgets-before", values(failure, int(np.argmax(failure.wrong))))
    return None


def input_copied(failure: Failure) -> Cause | None:
    for name, given in failure.inputs.items():
        if given.size == failure.got.size > 2 and np.array_equal(given.reshape(-1), failure.got.reshape(-1)):
            return Cause("input-copied", values(failure, int(np.argmax(failure.wrong))) | {"input": name})
    return None


def shifted(failure: Failure) -> Cause | None:
    """Every wrong element holds what belongs to the one a few places further on, or before."""
    got, want, limit = failure.got.reshape(-1), failure.want.reshape(-1), failure.bound.reshape(-1)
    bad = np.flatnonzero(failure.wrong.reshape(-1))
    for shift in (sign * k for k in range(1, 64) for sign in (1, -1)):
        here = bad[(bad + shift >= 0) & (bad + shift < want.size)]
        if here.size >= max(8, 0.7 * bad.size):
            there = here + shift
            if (np.abs(got[here] - want[there]) <= limit[there]).all():
                about = values(failure, int(here[0])) | {"shift": abs(shift), "other_at": place(failure, int(there[0]))}
                return Cause("shifted", about)
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
    if np.unique(want).size < want.size / 2:
        return None  # among few values each is found somewhere
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


def row_factor(failure: Failure) -> Cause | None:
    """Every wrong row of a matrix is a multiple of the right one, each with a factor of its own."""
    if failure.want.ndim != 2 or failure.want.dtype.kind != "f" or failure.want.shape[1] < 2:
        return None
    got, want = failure.got.astype(np.float64), failure.want
    factors = {}
    for row in np.flatnonzero(failure.wrong.any(axis=1)).tolist():
        used = np.abs(want[row]) > 1e-30
        if used.sum() < 2:
            continue
        ratios = got[row][used] / want[row][used]
        if abs(ratios[0]) < 1e-30 or not np.allclose(ratios, ratios[0], rtol=1e-4):
            return None  # rows of zeros are a constant
        if abs(ratios[0] - 1) > 1e-3:
            factors[row] = float(ratios[0])
    if not factors:
        return None
    row = min(factors)
    at = int(np.argmax(failure.wrong[row])) + row * want.shape[1]
    return Cause("row-factor", values(failure, at) | {"row": row, "factor": f"{factors[row]:.4g}"})


# What may be said better of another size; the last one is said only if there is nothing else.
VAGUE = (*(name for name in PAIRS if name != "counted-again"), "factor", "misplaced", "constant", "not-written",
         "miscounted", "nan", "different")  # fmt: skip
# What a finding of the checker's explains.
EXPLAINED = (*PAIRS, "miscounted", "nan", "different", "factor", "row-factor", "constant", "misplaced", "rounding")
EXPLANATIONS: tuple[Callable[[Failure], Cause | None], ...] = (
    not_finite,
    forgets_before,
    shifted,
    miscounted,
    wrapped,
    low_precision,
    factor,
    started_with,
    row_factor,
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
