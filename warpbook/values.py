"""`{{ … }}` in prose: a name bound to a record, shown with sensible digits and with where it was measured.

    {{ v6.rate }}                4.13 TB/s      a value
    {{ v0.time / v6.time }}      12.3×          a ratio
    {{ v6.rate % copy.rate }}    98.1 %         a share
    {{ softmax:online.rate }}    another article's
    {{ #reduce0.smsp__inst_executed.sum }}      a counter of a kernel's first profiled launch
    {{ claims }}  {{ chart:ladder }}  {{ figure:tree }}     on a line of their own

Blanks inside the braces are required, so that LaTeX's `{{x}}` stays LaTeX's. Nothing is replaced in code.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warpbook import records
from warpbook.book import PRIMARY, Book, BookError

EXPRESSION = re.compile(r"\{\{[ \t]+(.+?)[ \t]+\}\}")
CODE_OR_MATH = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|(?<![\\$])\$(?![\s$])[^$]*?(?<!\s)\$|\\\(.*?\\\)")
NAME = re.compile(r"(?:(?P<article>[a-z0-9_-]+):)?(?P<name>#?[A-Za-z0-9_.]+)\Z")
THIN = "\u202f"  # between groups of digits
BLANK = "\u00a0"  # before a unit
GROUP = re.compile(r"(?<=\d) (?=\d{3}(?!\d))")  # 262 144, written by hand
UNIT = re.compile(r"(?<=\d) (?=(?:[kMGT]?i?B|[mµn]?s|%)(?![A-Za-z0-9]))")
PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))


@dataclass(frozen=True)
class Value:
    """One recorded number and where it is from. `low` and `high` bound its spread, `second` is the second run's."""

    name: str
    number: float
    unit: str
    device: str
    date: str
    record: str  # path of the record file from the site's root
    low: float | None = None
    high: float | None = None
    second: float | None = None


class Values:
    """Looks names up in one device's records."""

    def __init__(self, book: Book, device: str = PRIMARY) -> None:
        self.book, self.device = book, device
        self._records: dict[str, dict[str, Any] | None] = {}

    def record(self, article: str) -> dict[str, Any]:
        if article not in self._records:
            self._records[article] = records.read(self.book, self.device, article)
        found = self._records[article]
        if found is None:
            name = self.book.relative(records.path_of(self.book, self.device, article))
            raise BookError(f"there is no {name}; {records.remedy(self.device, article)}")
        return found

    def get(self, text: str, article: str) -> Value:
        """The value called `text` by a page of `article`. Raises BookError (without a place) if there is none."""
        match = NAME.match(text)
        if not match:
            raise BookError(f'"{text}" is not a name of a value')
        article, name = match["article"] or article, match["name"]
        record = self.record(article)
        about = (
            str(record["device"].get("name", self.device)),
            str(record["date"]),
            f"records/{self.device}/{article}.json",
        )
        if name.startswith("#"):
            return Value(
                name,
                counter(record, name),
                unit_of(name),
                *about,
            )
        holders = [program for program, entry in record["programs"].items() if name in entry["values"]]
        if len(holders) > 1:
            raise BookError(f'"{name}" is recorded by {" and ".join(holders)}; give one of them another name')
        if not holders:
            known = sorted({n for entry in record["programs"].values() for n in entry["values"]})
            raise BookError(f'no value "{name}" in {about[2]}; there are: {", ".join(known) or "none"}')
        kept = record["programs"][holders[0]]["values"][name]
        return Value(
            name, float(kept["value"]), kept["unit"], *about, kept.get("low"), kept.get("high"), kept.get("second")
        )


def unit_of(metric: str) -> str:
    """A counter's unit, which its name ends in: `….pct` and `….pct_of_peak_…` are percentages, `….ratio` has none."""
    last = metric.rpartition(".")[2]
    return "%" if last.startswith("pct") else "1" if last == "ratio" else "count"


def counter(record: dict[str, Any], name: str) -> float:
    kernel, _, metric = name[1:].partition(".")
    for launches in record.get("counters", {}).values():
        for launch in launches:
            if launch["kernel"] == kernel:
                if metric in launch["metrics"]:
                    return float(launch["metrics"][metric])
                raise BookError(f'kernel "{kernel}" was not asked for "{metric}"; see warpbook/counters.py')
    raise BookError(f'no counters of a kernel "{kernel}"')


# -- digits ------------------------------------------------------------------------------------------------------


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
        return f"{mantissa} × 10{superscript(int(exponent))}"
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
    """A number and its unit as prose shows them. Units with a prefix: s, B, B/s, flop/s, Hz."""
    if unit == "count":
        return grouped(round(number))
    if unit == "1":
        return significant(number)
    if unit == "%":
        return f"{number:.1f}{BLANK}%"
    if unit == "x":
        return f"{significant(number)}×"
    scale, prefix = 1.0, ""
    if number:
        allowed = PREFIXES[4:] if unit == "s" else PREFIXES[:5]
        scale, prefix = next(((s, p) for s, p in allowed if abs(number) * 1.0005 >= s), allowed[-1])
    return f"{significant(number / scale, digits)}{BLANK}{prefix}{unit}"


# -- expressions -------------------------------------------------------------------------------------------------

WORDS = {
    "en": {"measured": "measured on", "spread": "spread", "second": "second run", "record": "record", "of": "from"},
    "zh": {"measured": "测自", "spread": "波动范围", "second": "第二次运行", "record": "记录", "of": "计算自"},
}


def render(text: str, article: str, language: str, values: Values, root: str = "") -> str:
    """HTML of one expression. `root` leads from the page to the site's root (`../../`)."""
    parts = re.split(r"\s+([/%])\s+", text)
    if len(parts) not in (1, 3):
        raise BookError(f'"{text}" is not a name, a ratio `a / b` or a share `a % b`')
    found = [values.get(part, article) for part in parts[::2]]
    if len(found) == 1:
        number, unit = found[0].number, found[0].unit
    else:
        one, two = found
        if one.unit != two.unit:
            raise BookError(f'"{text}" compares {one.unit} with {two.unit}')
        if two.number == 0:
            raise BookError(f'"{text}" divides by zero')
        number = one.number / two.number * (100 if parts[1] == "%" else 1)
        unit = "%" if parts[1] == "%" else "x"
    return element(quantity(number, unit), number, describe(found, language), f"{root}{found[0].record}")


def describe(found: list[Value], language: str) -> str:
    """Where the numbers are from, in a line or two for the tooltip."""
    words = WORDS[language]
    lines = [f"{words['measured']} {found[0].device} · {found[0].date}"]
    for value in found:
        bits = [quantity(value.number, value.unit)]
        if value.low is not None and value.high is not None:
            bits.append(f"{words['spread']} {quantity(value.low, value.unit)} – {quantity(value.high, value.unit)}")
        if value.second is not None:
            bits.append(f"{words['second']} {quantity(value.second, value.unit)}")
        if len(bits) > 1 or len(found) > 1:
            lines.append(f"{value.name}: {' · '.join(bits)}")
    return "\n".join(lines)


def element(shown: str, number: float, about: str, href: str) -> str:
    # The tooltip is an attribute drawn by the style sheet; the link makes it reachable by keyboard and by touch.
    label = html.escape(f"{shown}. {about}".replace("\n", "; "), quote=True)
    tip = html.escape(about, quote=True).replace("\n", "&#10;")
    return (
        f'<data class="wb-value" value="{number!r}"><a href="{html.escape(href, quote=True)}" '
        f'aria-label="{label}" data-tip="{tip}">{html.escape(shown)}</a></data>'
    )


def substitute(text: str, replace: Callable[[str], str]) -> str:
    """`text` (one line of prose) with each expression replaced, those within inline code or math left alone.

    A number written by hand gets the blanks of the others, so that no line breaks within it or before its unit.
    """
    hidden = [match.span() for match in CODE_OR_MATH.finditer(text)]

    def inside(match: re.Match[str]) -> bool:
        return any(start <= match.start() < end for start, end in hidden)

    # One character for another, so that the spans still hold.
    text = GROUP.sub(lambda match: match[0] if inside(match) else THIN, text)
    text = UNIT.sub(lambda match: match[0] if inside(match) else BLANK, text)
    return EXPRESSION.sub(lambda match: match[0] if inside(match) else replace(match[1]), text)
