"""Results of two devices side by side: bit for bit where PTX defines every bit, within the form's bound elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from forms import Form, bits_of
from inputs import operands

FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "f16x2": np.float16}


def columns(form: Form, payload: bytes) -> list[np.ndarray]:
    """The results of a form, one array of words each."""
    arrays, at = [], 0
    for kind in form.results:
        size = form.count * bits_of(kind) // 8
        arrays.append(np.frombuffer(payload[at : at + size], f"<u{bits_of(kind) // 8}"))
        at += size
    return arrays


def numbers(kind: str, words: np.ndarray) -> np.ndarray:
    """Words as doubles, one row a lane."""
    if kind in ("bf16", "bf16x2"):
        halves = words.view(np.uint16).astype(np.uint32) << np.uint32(16)
        return halves.view(np.float32).astype(np.float64).reshape(len(words), -1)
    return words.view(FLOATS[kind]).astype(np.float64).reshape(len(words), -1)


def number(text: str) -> float:
    """0.5, 2^-11, 81*2^-22."""
    factor, _, power = text.rpartition("*")
    base, raised, exponent = power.partition("^")
    return float(factor or 1) * (float(base) ** float(exponent) if raised else float(base))


def unit(kind: str, x: np.ndarray) -> np.ndarray:
    """The distance from |x| to the next number of its type."""
    fraction, least = {"f16": (10, -24), "bf16": (7, -133), "f32": (23, -149), "f64": (52, -1074)}[
        re.sub("x2$", "", kind)
    ]
    with np.errstate(all="ignore"):
        exponent = np.floor(np.log2(np.abs(x)))
    return np.exp2(np.maximum(np.where(np.isfinite(exponent), exponent, least) - fraction, least))


def agree(form: Form, kind: str, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """For each lane: are the two results the same as far as the form promises?

    Both devices may be off by the published bound, and softcuda rounds what is nearly exact: so the distance between
    them may be the bound and one unit in the last place.  NaN, infinities and the signs of zeros are exact.
    """
    same = got == want
    if form.check == "exact" or same.all():
        return same
    rule, _, text = form.check.partition(":")
    x, y = numbers(kind, got), numbers(kind, want)
    with np.errstate(all="ignore"):
        size = {"abs": 1.0, "rel": np.abs(y), "mixed": np.maximum(1.0, np.abs(y)), "ulp": unit(kind, y)}[rule]
        near = np.abs(x - y) <= number(text) * size + unit(kind, y)
    near &= np.isfinite(x) & np.isfinite(y)  # a bound relative to infinity would admit anything
    near &= (x != 0) | (y != 0) | (np.signbit(x) == np.signbit(y))
    if kind.endswith("x2"):
        same = (got.view(np.uint16) == want.view(np.uint16)).reshape(-1, 2)
    return (near | same.reshape(near.shape)).all(axis=1)


def differences(form: Form, got: bytes, want: bytes) -> Iterator[tuple[int, str]]:
    """Lane, and one line: operands, got and want in hex."""
    wrong = np.zeros(form.count, bool)
    mine, theirs = columns(form, got), columns(form, want)
    for kind, a, b in zip(form.results, mine, theirs, strict=True):
        wrong |= ~agree(form, kind, a, b)
    if not wrong.any():
        return
    sources = operands(form.operands, form.count)
    for lane in np.flatnonzero(wrong):
        given = ", ".join(f"{int(s[lane]):0{bits_of(k) // 4}x}" for s, k in zip(sources, form.operands, strict=True))
        shown = [
            " ".join(f"{int(a[lane]):0{bits_of(k) // 4}x}" for a, k in zip(side, form.results, strict=True))
            for side in (mine, theirs)
        ]
        yield int(lane), f"({given}): got {shown[0]}, want {shown[1]}"


def report(form: Form, got: bytes, want: bytes, most: int = 4) -> str:
    """Empty when the results agree."""
    found = list(differences(form, got, want))
    if not found:
        return ""
    lines = [f"{form.name} [{form.check}]: {len(found)} of {form.count} lanes differ"]
    return "\n".join([*lines, *(f"    lane {lane} {text}" for lane, text in found[:most])])
