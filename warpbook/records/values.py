"""`{{ … }}` in prose: a name bound to a record, shown with sensible digits and with where it was measured.

    {{ v6.rate }}                4.13 TB/s      a value
    {{ v0.time / v6.time }}      12.3×          a ratio
    {{ v6.rate % copy.rate }}    98.1 %         a share
    {{ 2 GiB / copy.rate }}      0.51 ms        what follows from one: a time, bytes, a rate
    {{ softmax:online.rate }}    another article's
    {{ #reduce0.smsp__inst_executed.sum }}      a counter of a kernel's first profiled launch
    {{ softcuda#reduce0.softcuda__branches.sum }}     the same as softcuda counted it, beside any device's numbers
    {{ sass:reduction/reduce.cu:reduce_v0.BRA }}      a count of a kernel's SASS
    {{ claims }}  {{ chart:ladder }}  {{ figure:tree }}     on a line of their own

Blanks inside the braces are required, so that LaTeX's `{{x}}` stays LaTeX's. Nothing is replaced in code.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warpbook.book import PRIMARY, SOFTCUDA, Book, BookError
from warpbook.markup import attribute
from warpbook.numbers import BLANK, GROUP, THIN, UNIT, quantity
from warpbook.records import counters, records, sass, schema
from warpbook.source.pages import EXPRESSION

CODE_OR_MATH = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|(?<![\\$])\$(?![\s$])[^$]*?(?<!\s)\$|\\\(.*?\\\)")
NUMBER = r"\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?"
UNITS = r"(?P<prefix>k|[KMGT]i|[MGT]|[mµn])?(?P<unit>B/s|B|s|flop/s|flop|Hz)"
QUANTITY = re.compile(rf"(?P<number>{NUMBER})(?:[ \t]*{UNITS})?\Z")
NAME = re.compile(r"(?:(?P<article>[a-z0-9_-]+):)?(?P<name>(?:(?:softcuda)?#)?[A-Za-z0-9_.]+)\Z")
COUNTED = "softcuda#"  # a counter of softcuda's own record, whatever device the reader chose: counts are exact


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
    compiled: bool = False  # a count of SASS: `device` is then who compiled it


class Values:
    """Looks names up in one device's records; `others` look them up in the records of the other devices."""

    def __init__(self, book: Book, device: str = PRIMARY, alone: bool = False) -> None:
        self.book, self.device = book, device
        self.others = [Values(book, d, alone=True) for d in records.devices(book) if d != device and not alone]
        self.all = [self, *self.others]
        for other in self.others:
            other.all = self.all

    def record(self, article: str) -> dict[str, Any]:
        found = records.look_with_cpu(self.book, self.device, article)
        if found is None:
            if article not in (known := self.book.articles()):
                raise BookError(f'there is no article "{article}"{schema.suggest(article, known)}')
            name = self.book.relative(records.path_of(self.book, self.device, article))
            line = f"there is no {name}; {records.remedy(self.device, article)}"
            raise records.PendingError(line) if self.pending(article) else BookError(line)
        return found

    def pending(self, article: str) -> list[str]:
        """The parts of the article that this device has not run since they changed; none of softcuda."""
        return records.pending(self.book, self.device, article)

    def get(self, text: str, article: str) -> Value:
        """The value called `text` by a page of `article`. Raises BookError (without a place) if there is none."""
        if text.startswith("sass:"):
            number, compiler = sass.named_count(self.book, article, text)
            where = self.book.relative(sass.path_of(self.book, article))
            return Value(text, float(number), "count", compiler, "", where, compiled=True)
        match = NAME.match(text)
        if not match:
            raise BookError(f'"{text}" is not a name of a value')
        article, name = match["article"] or article, match["name"]
        if name.startswith(COUNTED) and self.device != SOFTCUDA:
            own = next((one for one in self.all if one.device == SOFTCUDA), None) or Values(self.book, SOFTCUDA, True)
            return own.get(text, article)
        name = name.removeprefix("softcuda") if name.startswith(COUNTED) else name
        record = self.record(article)
        look = self.counter if name.startswith("#") else self.named
        part, found = look(record, article, name.removeprefix("#"))
        device = str(record["machines"].get(part.get("machine"), {}).get("name", self.device))
        path = f"records/{SOFTCUDA}/{article}.json" if records.cpu_of(record, part) else self.path(article)
        about = (device, str(part.get("date", ""))[:10], path)
        spread = (found.get("low"), found.get("high"), found.get("second"))
        return Value(match["name"], float(found["value"]), found["unit"], *about, *spread)

    def path(self, article: str) -> str:
        return f"records/{self.device}/{article}.json"

    def named(self, record: dict[str, Any], article: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """What a program recorded as `name`, and the part of the record that holds it."""
        _, part = self.holder(record, article, "values", name, "value")
        return part, part["values"][name]

    def holder(
        self, record: dict[str, Any], article: str, kind: str, name: str, called: str
    ) -> tuple[str, dict[str, Any]]:
        """The one program that recorded `name` among its values (series, spans, …), and its part of the record."""
        holders = [program for program, entry in record["programs"].items() if name in entry.get(kind, {})]
        waiting = self.pending(article)
        if len(holders) > 1:
            raise BookError(f'"{name}" is recorded by {" and ".join(holders)}; give one of them another name')
        if holders and holders[0] not in waiting:
            return holders[0], record["programs"][holders[0]]
        if any(part in waiting for part in (holders or map(records.program_name, self.book.programs(article)))):
            raise records.PendingError(
                f'"{name}": {self.device} has not measured it; {records.remedy(self.device, article)}'
            )
        known = {n for entry in record["programs"].values() for n in entry.get(kind, {})}
        raise BookError(f'no {called} "{name}" in {self.path(article)}{schema.suggest(name, known)}')

    def counter(self, record: dict[str, Any], article: str, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The counter `kernel.metric` of the kernel's first profiled launch, and the part of the record with it."""
        kernel = name.partition(".")[0]
        waiting = self.pending(article)
        for command, part in record["counters"].items():
            if command not in waiting and any(launch["kernel"] == kernel for launch in part["launches"]):
                return part, {"value": counters.value(part["launches"], name), "unit": counters.unit(name)}
        if waiting:
            raise records.PendingError(f'counters of "{kernel}": {self.device} has not counted them')
        known = {launch["kernel"] for part in record["counters"].values() for launch in part["launches"]}
        raise BookError(f'no counters of a kernel "{kernel}"{schema.suggest(kernel, known)}')


# -- digits ------------------------------------------------------------------------------------------------------


# -- expressions -------------------------------------------------------------------------------------------------

WORDS = {
    "en": {
        "compiled": "counted in the SASS of",
        "measured": "measured on",
        "counted": "counted by",
        "spread": "spread",
        "second": "second run",
        "record": "record",
        "of": "from",
    },
    "zh": {
        "compiled": "按编译出的 SASS 计数：",
        "measured": "测自",
        "counted": "计数：",
        "spread": "波动范围",
        "second": "第二次运行",
        "record": "记录",
        "of": "计算自",
    },
}


def render(text: str, article: str, language: str, values: Values, root: str = "") -> str:
    """HTML of one expression. `root` leads from the page to the site's root (`../../`)."""
    answer = evaluate(text, article, values)
    others: dict[str, Answer] = {}
    for other in [] if all(value.compiled for value in answer.values) else values.others:
        try:
            found = evaluate(text, article, other)
            if found != answer:  # a CPU's number is the same in every device's view
                others[other.device] = found
        except BookError:
            continue  # that device has no such number
    return element(answer, others, language, root)


@dataclass(frozen=True)
class Answer:
    """What an expression comes to on one device, and the recorded values that it names."""

    number: float
    unit: str
    values: tuple[Value, ...]

    @property
    def shown(self) -> str:
        return quantity(self.number, self.unit)


def evaluate(text: str, article: str, values: Values) -> Answer:
    """The number that an expression stands for in one device's records."""
    parts = re.split(r"\s+([/%])\s+", text)
    if len(parts) not in (1, 3):
        raise BookError(f'"{text}" is not a name, a ratio `a / b` or a share `a % b`')
    found = [operand(part, article, values) for part in parts[::2]]
    recorded = tuple(value for value in found if value.record)
    if not recorded:
        raise BookError(f'"{text}" names nothing recorded')
    if len(found) == 1:
        return Answer(found[0].number, found[0].unit, recorded)
    one, two = found
    unit = quotient(one.unit, two.unit)
    if not unit or (parts[1] == "%" and unit != "x"):
        raise BookError(f'"{text}" compares {one.unit} with {two.unit}')
    if two.number == 0:
        raise BookError(f'"{text}" divides by zero')
    number = one.number / two.number
    return Answer(100 * number, "%", recorded) if parts[1] == "%" else Answer(number, unit, recorded)


SCALES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "m": 1e-3, "µ": 1e-6, "n": 1e-9,
          "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}  # fmt: skip


def operand(text: str, article: str, values: Values) -> Value:
    """A recorded value, or a quantity written out (`2 GiB`, `16.8e6 B`, `3`), which comes from no record."""
    written = QUANTITY.match(text)
    if not written:
        return values.get(text, article)
    return Value(text, float(written["number"]) * SCALES[written["prefix"] or ""], written["unit"] or "1", "", "", "")


def quotient(one: str, two: str) -> str:
    """The unit of a quotient; "" where it means nothing to a reader."""
    if one == two:
        return "x"
    for work in ("B", "flop"):
        made = {(work, f"{work}/s"): "s", (work, "s"): f"{work}/s", (f"{work}/s", "Hz"): work}
        if (one, two) in made:
            return made[one, two]
    return {("flop/s", "B/s"): "flop/B", ("flop", "B"): "flop/B"}.get((one, two), one if two in ("1", "count") else "")


def describe(found: tuple[Value, ...], language: str) -> str:
    """Where the numbers are from, in a line or two for the tooltip."""
    words = WORDS[language]
    first = found[0]
    how = words["compiled" if first.compiled else "counted" if first.name.startswith(COUNTED) else "measured"]
    lines = [f"{how} {first.device}" + ("" if first.compiled else f" · {first.date}")]
    for value in found:
        bits = [quantity(value.number, value.unit)]
        if value.low is not None and value.high is not None:
            bits.append(f"{words['spread']} {quantity(value.low, value.unit)} – {quantity(value.high, value.unit)}")
        if value.second is not None:
            bits.append(f"{words['second']} {quantity(value.second, value.unit)}")
        if len(bits) > 1 or len(found) > 1:
            lines.append(f"{value.name}: {' · '.join(bits)}")
    return "\n".join(lines)


def element(answer: Answer, others: dict[str, Answer], language: str, root: str) -> str:
    """The number with its tooltip, which lists the other devices' numbers too.

    The tooltip is an attribute drawn by the style sheet. A screen reader reads it out when the link that holds it has
    the focus; the script makes it the link's name, so that no focus is needed. One more attribute would be 2 KB a page.
    What theme/assets/site.js shows instead, once the reader has chosen another device, is in `data-others`.
    """
    everywhere = {"": answer, **others}

    def face(of: str) -> list[str]:
        one = everywhere[of]
        lines = [f"{other.values[0].device}: {other.shown}" for key, other in everywhere.items() if key != of]
        about = "\n".join([describe(one.values, language), *lines])
        return [one.shown, f"{one.number:.6g}", about, root + one.values[0].record]

    shown, number, about, href = face("")
    swaps = json.dumps({device: face(device) for device in others}, ensure_ascii=False, separators=(",", ":"))
    return (
        f'<data class="wb-value" value="{number}"{attribute("data-others", swaps) if others else ""}>'
        f"<a{attribute('href', href)}{attribute('data-tip', about)}>{html.escape(shown)}</a></data>"
    )


def substitute(text: str, replace: Callable[[str], str]) -> str:
    """`text` (one line of prose) with each expression replaced, those within inline code or math left alone.

    A number written by hand gets the blanks of the others, so that no line breaks within it or before its unit.
    """
    hidden = [match.span() for match in CODE_OR_MATH.finditer(text)]
    kept = hidden + [match.span() for match in EXPRESSION.finditer(text)]

    def inside(match: re.Match[str], spans: list[tuple[int, int]]) -> bool:
        return any(start <= match.start() < end for start, end in spans)

    # One character for another, so that the spans still hold.
    text = GROUP.sub(lambda match: match[0] if inside(match, kept) else THIN, text)
    text = UNIT.sub(lambda match: match[0] if inside(match, kept) else BLANK, text)
    return EXPRESSION.sub(lambda match: match[0] if inside(match, hidden) else replace(match[1]), text)
