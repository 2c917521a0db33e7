"""What charts share: scales with their ticks, numbers on axes, the figure around a drawing, its table."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from warpbook.book import BookError
from warpbook.numbers import BLANK, PREFIXES, grouped, quantity, superscript

DATA = {"en": "The numbers", "zh": "数据"}
BINARY = ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
MOST_TICKS = 7
NARROW = "fijlrtI.,:;|'!()[]{}/- " + BLANK


@dataclass(frozen=True)
class Scale:
    """From numbers to 0 … 1. `base` is 2 or 10 on a logarithmic scale, 0 on a linear one."""

    low: float
    high: float
    base: int

    def at(self, number: float) -> float:
        low, high, number = (math.log2(n) if self.base else n for n in (self.low, self.high, number))
        return (number - low) / (high - low) if high > low else 0.5

    def ticks(self, most: int = MOST_TICKS, unit: str = "") -> list[float]:
        """Round numbers within the scale, few enough to be read; sizes are round in binary."""
        if not self.base:
            least = (self.high - self.low) / most or 1.0
            step = 2.0 ** math.ceil(math.log2(least)) if unit == "B" else nice_step(least)
            first = math.ceil(self.low / step - 1e-9)
            return [i * step for i in range(first, math.floor(self.high / step + 1e-9) + 1)]
        exponents = range(
            math.ceil(math.log(self.low, self.base) - 1e-9), math.floor(math.log(self.high, self.base) + 1e-9) + 1
        )
        if self.base == 10 and len(exponents) <= 2:
            decades = range(exponents.start - 1, exponents.stop)
            found = [m * 10.0**e for e in decades for m in (1, 2, 5)]
            return [n for n in found if self.low * (1 - 1e-9) <= n <= self.high * (1 + 1e-9)]
        step = next(s for s in (1, 2, 3, 5, 10, 20, 50) if len(exponents) / s <= most)
        return [float(self.base) ** e for e in exponents if e % step == 0]


def nice_step(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(least))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= least * (1 - 1e-9))


def logarithmic(name: str, numbers: Sequence[float], base: int) -> Scale:
    if min(numbers) <= 0:
        raise BookError(f"{name} has {min(numbers):g}, which a logarithmic axis cannot show; write {name}=linear")
    return Scale(min(numbers), max(numbers), base)


# -- numbers -----------------------------------------------------------------------------------------------------


def on_axis(number: float, unit: str, base: int = 10) -> str:
    """A tick: 64 KiB, 4 TB/s, 0.5, 2²⁰; no digits that say nothing."""
    if unit == "B":
        for size, prefix in BINARY:
            if number >= size:
                return f"{number / size:.4g}{BLANK}{prefix}"
        return f"{number:g}{BLANK}B"
    if unit in ("1", "count", "x", "flop/B"):  # the axis is named with its unit
        end = "×" if unit == "x" else ""
        if base == 2 and number >= 2**13 and math.log2(number).is_integer():
            return f"2{superscript(int(math.log2(number)))}{end}"
        if float(number).is_integer() and number < 1e9:
            return grouped(int(number)) + end
        digits, _, power = f"{number:.3g}".partition("e")
        if not power:
            return digits + end
        return ("" if digits == "1" else f"{digits}{BLANK}×{BLANK}") + f"10{superscript(int(power))}{end}"
    if unit == "%":
        return f"{number:g}{BLANK}%"
    if not number:
        return "0"
    allowed = PREFIXES[4:] if unit == "s" else PREFIXES[:5]
    scale, prefix = next(((s, p) for s, p in allowed if abs(number) * 1.0005 >= s), allowed[-1])
    shown = unit.removeprefix("1").replace("flop", "FLOP")  # FLOP/s, as everybody writes
    return f"{number / scale:.4g}{BLANK}{prefix}{shown}"


def in_table(number: float, unit: str) -> str:
    """The number in full: sizes that are whole in binary units stay so."""
    if unit == "B":
        return on_axis(number, unit) if number % 2**10 == 0 or number < 2**10 else f"{grouped(round(number))}{BLANK}B"
    if unit in ("1", "count") and float(number).is_integer():
        return grouped(int(number))
    return quantity(number, unit)


def with_spread(number: float, low: float, high: float, unit: str) -> str:
    shown = in_table(number, unit)
    return shown if low == high else f"{shown} ({in_table(low, unit)} – {in_table(high, unit)})"


def width(text: str) -> float:
    """About how many rem a label takes, in a wide font."""
    return sum(0.63 if ord(c) > 0x2E7F else 0.22 if c in ".,: |il" + BLANK else 0.41 for c in text)


def units(text: str) -> float:
    """About how many units a label takes on a sheet, in a wide font."""
    return sum(
        12.5 if ord(c) > 0x2E7F else 4.8 if c in NARROW else 11 if c in "mwMW@…" else 8.8 if c.isupper() else 7.8
        for c in text
    )


# -- around a drawing --------------------------------------------------------------------------------------------


def percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def figure(drawing: str, caption: str, data: str, language: str) -> str:
    """A chart with its caption and its numbers; `data` is empty where another chart of the page has the same ones."""
    caption = re.sub(r"\b\d{4}-\d\d-\d\d\b", r"<time>\g<0></time>", html.escape(caption))  # not cut at a hyphen
    details = f'<details class="wb-data"><summary>{DATA[language]}</summary>{data}</details>' if data else ""
    return f'<figure class="wb-chart">{drawing}{details}<figcaption>{caption}</figcaption></figure>'


def sheet(width: float, height: float, drawing: str, said: str) -> str:
    """A drawing of a size of its own, in units of 1/20 rem: it grows with the page's text and with nothing else.

    A narrower page shows a part of it, and it can be moved.
    """
    width, height = math.ceil(width), math.ceil(height)
    return (
        f'<div class="wb-sheet" tabindex="0" role="img" aria-label="{html.escape(said, quote=True)}"><svg '
        f'viewBox="0 0 {width} {height}" width="{width / 20:.2f}rem" height="{height / 20:.2f}rem">'
        f"{drawing}</svg></div>"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    heads = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>{"".join(f"<td>{html.escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def spaced(wanted: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Places as near as may be to those wanted, in their order, at least `least` apart, within low … high."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    out = list(wanted)
    before = low - least
    for i in order:
        out[i] = before = max(wanted[i], before + least)
    after = high + least
    for i in reversed(order):
        out[i] = after = min(out[i], after - least)
    return out
