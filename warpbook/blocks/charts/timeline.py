"""Recorded spans as a timeline (Gantt chart): what each stream, engine or multiprocessor did, and when.

A row whose spans overlap is as many bars high as overlap. What a span's label is, its bar's colour and hatching say,
and a legend; too many labels for that stand each in its bar, where there is room. Many rows become thin.
"""

from __future__ import annotations

import hashlib
import html
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from warpbook.blocks.charts.source import Source, Span
from warpbook.blocks.charts.svg import Scale, figure, percent, table, width
from warpbook.book import BookError
from warpbook.numbers import BLANK, PREFIXES, grouped, quantity

WORDS = {
    "en": {
        "title": "{name}, measured on {device} · {date}",
        "measured": "{title}; measured on {device} · {date}",
        "s": "Time",
        "cycle": "Clock cycles",
        "cycles": "{0} cycles",
        "from to": "{0} – {1}",
        "row": "Row",
        "label": "What",
        "start": "Start",
        "stop": "End",
        "lasts": "Duration",
        "count": "Spans",
        "busy": "Busy",
        "said": "{row}: {count} spans from {start} to {stop}, busy {busy} of the time",
        "all": "{rows} rows with {count} spans, from {start} to {stop}, busy {busy} of the time on average",
        "stop mark": ". ",
    },
    "zh": {
        "title": "{name}，测自 {device} · {date}",
        "measured": "{title}；测自 {device} · {date}",
        "s": "时间",
        "cycle": "时钟周期",
        "cycles": "{0} 个周期",
        "from to": "{0} – {1}",
        "row": "行",
        "label": "工作",
        "start": "开始",
        "stop": "结束",
        "lasts": "时长",
        "count": "段数",
        "busy": "占用",
        "said": "{row}：{count} 段，从 {start} 到 {stop}，占用 {busy} 的时间",
        "all": "{rows} 行共 {count} 段，从 {start} 到 {stop}，平均占用 {busy} 的时间",
        "stop mark": "。",
    },
}
HEIGHT = 480  # px that the bars share
THICK, THIN, THINNEST = 18, 10, 2  # px of a bar: at most; from here on without text; at least
MOST_BARS = 400  # on top of one another
MOST_LISTED = 48  # spans in the table, one by one; of more, the table has a line a row
MOST_TITLES = 1024  # bars with a tooltip of their own; of more, each row has one
TOP, AXIS, LINE = 4, 24, 14  # px: above the bars, below them for the axis, between names of rows
WIDE, PHONE = 30.0, 13.0  # rem across which a bar stretches, at least: on a desk, on a telephone
LEAST = 0.003  # of the width, for what takes no time
BESIDE = 7.0  # rem of a row's name beside its bars; longer ones stand above
HATCHES = (  # one a label, 8 × 8
    "",
    '<path d="M-2 2 2-2M0 8 8 0M6 10 10 6"/>',
    '<circle cx="2" cy="2" r="1.1"/><circle cx="6" cy="6" r="1.1"/>',
    '<path d="M0 2h8M0 6h8"/>',
    '<path d="M2 0v8M6 0v8"/>',
    '<path d="M0 0 8 8M0 8 8 0"/>',
)


@dataclass
class Row:
    name: str
    bars: list[list[Span]]  # none of one bar overlap

    @property
    def spans(self) -> list[Span]:
        return sorted((span for bar in self.bars for span in bar), key=lambda span: (span.start, span.stop))

    @property
    def busy(self) -> float:
        """How long anything was being done."""
        total, until = 0.0, -math.inf
        for span in self.spans:
            total += max(0.0, span.stop - max(span.start, until))
            until = max(until, span.stop)
        return total


@dataclass
class Layout:
    """Where things are, in px from the top."""

    bar: int
    pitch: int
    above: int  # for the row's name
    tops: list[int]
    bottom: int

    @property
    def is_thin(self) -> bool:
        return self.bar < THIN


def timeline(source: Source) -> str:
    if len(source.names) > 1:
        raise BookError("a timeline shows one name")
    found = source.timeline(source.names[0])
    words = WORDS[source.language]
    rows = rows_of(source, found.spans)
    whole = max(span.stop for span in found.spans)
    if not whole:
        raise BookError(f'"{found.name}" lasts no time at all')
    across = max(whole, length_of(source, found.unit))
    labels = labels_of(source, found.spans)
    made = layout(rows)
    clock, axis = clocks(found.unit, across, words)
    title = words["measured" if "title" in source.options else "title"].format(
        title=source.options.get("title", ""), name=found.name, device=found.device, date=found.date
    )
    key = "wb-" + hashlib.sha256(repr((found, source.options)).encode()).hexdigest()[:8]
    head = source.options.get("rowlabel", "")
    left, names, above = named(rows, made, head)
    each = sum(len(row.spans) for row in rows) <= MOST_TITLES
    pen = Bars(made, across, labels, key, clock, each)
    bars = "".join(pen.row(row, top) for row, top in zip(rows, made.tops, strict=True))
    grid, numbered = time_axis(made, across, found.unit, axis, source.options.get("xlabel", words[found.unit]))
    plane = above + (bars + grid if made.is_thin else tracks(rows, made) + grid + bars) + numbered
    spoken = words["stop mark"].join([title, *said(rows, whole, clock, words)])
    hatches = "".join(hatch(key, kind) for kind in pen.kinds.values())
    height = made.bottom + AXIS + LINE
    columns = f"{left:.2f}rem minmax(0,1fr)" if names else "minmax(0,1fr)"
    beside = f'<svg width="100%" height="{height}">{names}</svg>' if names else ""
    drawing = (
        f'{legend(labels, key)}<div role="img" aria-label="{html.escape(spoken, quote=True)}">'
        f'<div class="wb-plot" style="grid-template-columns:{columns}">{beside}'
        f'<svg width="100%" height="{height}"><defs>{hatches}</defs>{plane}</svg></div></div>'
    )
    return figure(drawing, title, numbers(rows, whole, labels, clock, words, head), source.language)


def length_of(source: Source, unit: str) -> float:
    """How long the timeline called `scale` lasts, for two that are to be compared; 0 without it."""
    name = source.options.get("scale")
    if not name:
        return 0.0
    other = source.timeline(name)
    if other.unit != unit:
        raise BookError(f'"{name}" is in {other.unit}, the axis in {unit}')
    return max(span.stop for span in other.spans)


# -- rows and labels ---------------------------------------------------------------------------------------------


def rows_of(source: Source, spans: tuple[Span, ...]) -> list[Row]:
    """All rows in the order of their first span, numbered ones in that of their numbers; or those asked for."""
    known: dict[str | int, list[Span]] = {}
    for span in spans:
        known.setdefault(span.row, []).append(span)
    numbered = all(isinstance(row, int) for row in known)
    keys: list[str | int] = sorted(known) if numbered else list(known)  # type: ignore[type-var]
    head = source.options.get("rowlabel", "")
    shown = {key: f"{head}{BLANK}{key}".strip() if isinstance(key, int) else key for key in keys}
    if wanted := source.options.get("rows"):
        keys = []
        for part in wanted.split("|"):
            name, _, text = part.strip().partition("=")
            chosen = chosen_rows(name, known, numbered)
            keys += chosen
            shown |= {key: text or (f"{head}{BLANK}{key}".strip() if numbered else str(key)) for key in chosen}
    rows = [Row(shown[key], packed(known.get(key, []))) for key in keys]
    high = sum(len(row.bars) for row in rows)
    if high > MOST_BARS:
        raise BookError(f"{high} bars on top of one another cannot be distinguished; choose rows with rows=")
    return rows


def chosen_rows(name: str, known: dict[str | int, list[Span]], numbered: bool) -> list[str | int]:
    """The rows that `h2d`, `3` or `0-7` names. Among numbers, one that did nothing is shown too."""
    ends = re.fullmatch(r"(\d+)(?:-(\d+))?", name)
    if numbered and ends:
        found: list[str | int] = list(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
        if not any(row in known for row in found):
            raise BookError(f"rows={name}: none of them did anything")
        return found
    if name not in known:
        raise BookError(f'no row "{name}"; there are: {", ".join(map(str, known))}')
    return [name]


def packed(spans: list[Span]) -> list[list[Span]]:
    """The spans on as few bars as their overlaps allow, at least one."""
    bars: list[list[Span]] = []
    for span in sorted(spans, key=lambda span: (span.start, span.stop)):
        free = next((bar for bar in bars if bar[-1].stop <= span.start), None)
        if free is None:
            bars.append(free := [])
        free.append(span)
    return bars or [[]]


def labels_of(source: Source, spans: tuple[Span, ...]) -> dict[str, str]:
    """What each label is called on this page: first those that the page names, in its order."""
    known = list(dict.fromkeys(span.label for span in spans if span.label))
    given: dict[str, str] = {}
    for part in source.options.get("labels", "").split("|"):
        name, _, text = part.strip().partition("=")
        if name and name not in known:
            raise BookError(f'no label "{name}"; there are: {", ".join(known) or "none"}')
        if name:
            given[name] = text or name
    return given | {label: label for label in known if label not in given}


def layout(rows: list[Row]) -> Layout:
    bar = max(THINNEST, min(THICK, HEIGHT // sum(len(row.bars) for row in rows)))
    pitch = bar + (1 if bar > 3 else 0)
    gap = 8 if bar >= THIN else 3 if bar >= 5 else 1
    above = LINE + 2 if bar >= THIN and max(width(row.name) for row in rows) > BESIDE else 0
    tops, y = [], TOP
    for row in rows:
        tops.append(y + above)
        y += above + pitch * len(row.bars) + gap
    return Layout(bar, pitch, above, tops, y)


# -- the drawing -------------------------------------------------------------------------------------------------

Clock = Callable[[float], str]


def clocks(unit: str, whole: float, words: dict[str, str]) -> tuple[Clock, Clock]:
    """Times in one unit and with digits enough to distinguish them: in tooltips and tables, and on the axis."""
    if unit == "cycle":
        return lambda time: words["cycles"].format(grouped(round(time))), lambda time: grouped(round(time))
    scale, prefix = next(((s, p) for s, p in PREFIXES[4:] if whole * 1.0005 >= s), PREFIXES[-1])
    decimals = max(0, 3 - math.floor(math.log10(whole / scale)))
    return (
        lambda time: f"{time / scale:.{decimals}f}{BLANK}{prefix}s",
        lambda time: f"{time / scale:.4g}{BLANK}{prefix}s" if time else "0",
    )


@dataclass
class Bars:
    """What is needed to draw a span."""

    made: Layout
    whole: float
    labels: dict[str, str]
    key: str  # of this drawing, for its hatchings
    clock: Clock
    titles: bool  # whether each span has one

    @property
    def kinds(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels)} if len(self.labels) <= len(HATCHES) else {}

    def row(self, row: Row, top: int) -> str:
        spans = row.spans
        made = "".join(
            self.span(span, row.name, top + i * self.made.pitch, odd=bool(k % 2))
            for i, bar in enumerate(row.bars)
            for k, span in enumerate(bar)
        )
        if self.titles or not spans:
            return made
        title = f"{row.name}: {self.clock(spans[0].start)} – {self.clock(max(span.stop for span in spans))}"
        return f"<g><title>{html.escape(title)}</title>{made}</g>"

    def span(self, span: Span, row: str, y: int, odd: bool) -> str:
        share, middle = (span.stop - span.start) / self.whole, (span.start + span.stop) / 2 / self.whole
        kinds = self.kinds
        kind = kinds.get(span.label)
        label = self.labels.get(span.label, "")
        style = f"wb-s{kind}" if kind is not None else "wb-span--other" if kinds else "wb-span--any"
        if odd and self.made.is_thin:
            style += " wb-span--odd"  # the gap between two is hardly seen
        made = (
            f'<rect class="wb-span {style}" x="{percent(span.start / self.whole)}" y="{y}" '
            f'width="{percent(max(share, LEAST))}" height="{self.made.bar}"{filled(self.key, kind)}'
        )
        if self.titles:
            said = ", ".join(part for part in (row, label) if part)
            made += f"><title>{html.escape(said)}: {self.clock(span.start)} – {self.clock(span.stop)}</title></rect>"
        else:
            made += "/>"
        needed = width(label) + 0.5
        if self.made.is_thin or kinds or not label or share * WIDE < needed:
            return made
        wide = "" if share * PHONE >= needed else " wb-span__text--wide"
        return made + (
            f'<text class="wb-span__text{wide}" x="{percent(middle)}" y="{y + self.made.bar / 2 + 4:g}" '
            f'text-anchor="middle">{html.escape(label)}</text>'
        )


def tracks(rows: list[Row], made: Layout) -> str:
    return "".join(
        f'<rect class="wb-bar__track" x="0" y="{top}" width="100%" height="{made.pitch * len(row.bars) - 1}"/>'
        for row, top in zip(rows, made.tops, strict=True)
    )


def filled(key: str, kind: int | None) -> str:
    return f' fill="url(#{key}-{kind})"' if kind else ""


def hatch(key: str, kind: int) -> str:
    if not kind:
        return ""
    return (
        f'<pattern id="{key}-{kind}" class="wb-hatch wb-s{kind}" width="8" height="8" patternUnits="userSpaceOnUse">'
        f'<rect width="8" height="8"/><g>{HATCHES[kind]}</g></pattern>'
    )


def time_axis(made: Layout, whole: float, unit: str, clock: Clock, label: str) -> tuple[str, str]:
    """The grid, and the numbers below it."""
    ticks = [tick for tick in Scale(0.0, whole, 0).ticks() if unit == "s" or tick.is_integer()]
    grid, numbers = [], []
    for i, tick in enumerate(ticks):
        share = tick / whole
        anchor = "start" if share < 0.06 else "end" if share > 0.94 else "middle"
        odd = " wb-tick--odd" if i % 2 and len(ticks) > 4 else ""  # a telephone has room for four
        at = percent(share)
        grid.append(f'<line class="wb-grid" x1="{at}" x2="{at}" y1="{TOP}" y2="{made.bottom + 4}"/>')
        numbers.append(
            f'<text class="wb-tick{odd}" x="{at}" y="{made.bottom + 17}" text-anchor="{anchor}">'
            f"{html.escape(clock(tick))}</text>"
        )
    grid.append(f'<line class="wb-axis" x1="0" x2="100%" y1="{made.bottom}" y2="{made.bottom}"/>')
    end = made.bottom + AXIS + LINE - 6
    numbers.append(f'<text x="100%" y="{end}" text-anchor="end">{html.escape(label)}</text>')
    return "".join(grid), "".join(numbers)


def named(rows: list[Row], made: Layout, head: str) -> tuple[float, str, str]:
    """The width in rem of the column of names, the names beside their rows (of thin ones as many as there is room
    for), and those above their rows."""
    if made.above:
        texts = [
            f'<text x="0" y="{top - 5}">{html.escape(row.name)}</text>'
            for row, top in zip(rows, made.tops, strict=True)
        ]
        return 0.0, "", "".join(texts)
    short = [row.name.removeprefix(f"{head}{BLANK}") if made.is_thin else row.name for row in rows]
    middles = [top + (made.pitch * len(row.bars) - 1) / 2 for row, top in zip(rows, made.tops, strict=True)]
    apart = min((b - a for a, b in pairwise(middles)), default=LINE)
    step = next(2**k for k in range(20) if 2**k * apart >= LINE or 2**k >= len(rows))
    texts = [
        f'<text x="100%" y="{y + 4:g}" text-anchor="end">{html.escape(name)}</text>'
        for name, y in list(zip(short, middles, strict=True))[::step]
    ]
    shown = short[::step]
    if made.is_thin and head:
        texts.append(f'<text x="100%" y="{made.bottom + 17}" text-anchor="end">{html.escape(head)}</text>')
        shown.append(head)
    return max(width(name) for name in shown), "".join(texts), ""


def legend(labels: dict[str, str], key: str) -> str:
    if not labels or len(labels) > len(HATCHES):
        return ""
    items = []
    for kind, text in enumerate(labels.values()):
        items.append(
            f'<li><svg width="22" height="12" aria-hidden="true"><rect class="wb-span wb-s{kind}" x="1" y="1" '
            f'width="20" height="10"{filled(key, kind)}/></svg>{html.escape(text)}</li>'
        )
    return f'<ul class="wb-legend">{"".join(items)}</ul>'


# -- for those who do not see it ---------------------------------------------------------------------------------


def said(rows: list[Row], whole: float, clock: Clock, words: dict[str, str]) -> list[str]:
    spans = [span for row in rows for span in row.spans]
    if len(rows) <= 8:
        return [words["said"].format(row=row.name, **summary(row, whole, clock)) for row in rows if row.spans]
    busy = quantity(100 * sum(row.busy for row in rows) / whole / len(rows), "%")
    first, last = clock(min(span.start for span in spans)), clock(max(span.stop for span in spans))
    return [words["all"].format(rows=len(rows), count=len(spans), start=first, stop=last, busy=busy)]


def summary(row: Row, whole: float, clock: Clock) -> dict[str, str]:
    spans = row.spans
    return {
        "count": str(len(spans)),
        "start": clock(spans[0].start) if spans else "–",
        "stop": clock(max(span.stop for span in spans)) if spans else "–",
        "busy": quantity(100 * row.busy / whole, "%"),
    }


def numbers(
    rows: list[Row], whole: float, labels: dict[str, str], clock: Clock, words: dict[str, str], head: str
) -> str:
    """Every span, or of many a line a row."""
    first = head or words["row"]
    if sum(len(row.spans) for row in rows) <= MOST_LISTED:
        listed = [
            [row.name, *([labels[span.label] if span.label else "–"] if labels else []), clock(span.start),
             clock(span.stop), clock(span.stop - span.start)]
            for row in rows
            for span in row.spans
        ]  # fmt: skip
        heads = [first, *([words["label"]] if labels else []), words["start"], words["stop"], words["lasts"]]
        return table(heads, listed)
    cells = [[row.name, *summary(row, whole, clock).values()] for row in rows]
    return table([first, words["count"], words["start"], words["stop"], words["busy"]], cells)
