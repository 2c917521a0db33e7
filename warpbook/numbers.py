"""Digits and units as a reader sees them: 4.13 TB/s, 16 384, 98.1 %, 1.2 × 10⁻⁷."""

from __future__ import annotations

import math
import re

THIN = "\u202f"  # between groups of digits
BLANK = "\u00a0"  # before a unit
GROUP = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")  # 262 144, written by hand
UNIT = re.compile(r"(?<=\d) (?=(?:[kMGT]?i?B|[mµn]?s|[kMGT]?(?:Hz|flop)|%)(?![A-Za-z0-9])|倍|[毫微纳]?秒)")
PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


def significant(number: float, digits: int = 3) -> str:
    """`number` with that many digits, none of them after a point that says nothing: 0.0123, 4.13, 98.1, 412, 1280."""
    if number == 0:
        return "0"
    whole = len(str(int(abs(number)))) if abs(number) >= 1 else 0
    if whole >= digits:
        return grouped(round(number))
    text = f"{number:.{digits}g}"
    if "e" in text:
        mantissa, exponent = f"{number:.{digits - 1}e}".split("e")
        return f"{mantissa}{BLANK}×{BLANK}10{superscript(int(exponent))}"
    missing = digits - len(text.replace("-", "").replace(".", "").lstrip("0"))
    if missing > 0:
        text += ("" if "." in text else ".") + "0" * missing
    return text


def superscript(number: int) -> str:
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def grouped(number: int) -> str:
    """Digits in threes, from five digits on: 4096, 16 384."""
    return f"{number:,}".replace(",", THIN) if abs(number) >= 10_000 else str(number)


def quantity(number: float, unit: str, digits: int = 3) -> str:
    """A number and its unit as prose shows them. Units with a prefix: s, B, B/s, flop/s, Hz, 1/s."""
    if unit == "count":  # a share of a count is no whole number: instructions a symbol
        return grouped(round(number)) if math.isclose(number, round(number), rel_tol=1e-9) else significant(number)
    if unit == "1":
        return significant(number)
    if unit == "%":
        return f"{round(number, 1) + 0.0:.1f}{BLANK}%"  # no -0.0
    if unit == "x":
        return f"{significant(number)}×"
    scale, prefix, shown = 1.0, "", unit.removeprefix("1").replace("flop", "FLOP")  # FLOP/s, as everybody writes
    if number:
        allowed = PREFIXES[4:] if unit == "s" else PREFIXES[:5]
        scale, prefix = next(((s, p) for s, p in allowed if abs(number) * 1.0005 >= s), allowed[-1])
    return f"{significant(number / scale, digits)}{BLANK}{prefix}{shown}"


def hold_together(text: str) -> str:
    """A text without code or math, its numbers by hand with the blanks of the others."""
    return UNIT.sub(BLANK, GROUP.sub(THIN, text))
