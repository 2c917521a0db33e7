"""A recorded table of numbers as a heat map: a cell a number, the darker (in the dark: the brighter) the larger.

What may be negative has two colours, one a sign. Zeros and ones are drawn as one path; without names of rows and
columns they are a picture, a pattern in space and time say, that fits any page.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warpbook.blocks.charts.source import Matrix, Source
from warpbook.blocks.charts.svg import Scale, figure, in_table, on_axis, sheet, table, units
from warpbook.book import BookError
from warpbook.numbers import quantity

WORDS = {
    "en": {
        "title": "{name}, {origin}",
        "given": "{title}; {origin}",
        "row": "Row",
        "size": "{rows} rows, {columns} columns",
        "range": "from {least} ({least_at}) to {most} ({most_at})",
        "largest": "{row}: largest at {column}, {value}",
        "ones": "{ones} of {all} cells are {one} ({share})",
        "least": "Smallest",
        "most": "Largest",
        "at": "at",
        "mean": "Mean",
        "count": "Cells that are {one}",
        "where": "Which",
        "more": "… {0} in all",
        "stop": ". ",
        "and": ", ",
    },
    "zh": {
        "title": "{name}，{origin}",
        "given": "{title}；{origin}",
        "row": "行",
        "size": "{rows} 行，{columns} 列",
        "range": "最小 {least}（{least_at}），最大 {most}（{most_at}）",
        "largest": "{row}：最大值在 {column}，为 {value}",
        "ones": "{all} 格中有 {ones} 格为 {one}（{share}）",
        "least": "最小",
        "most": "最大",
        "at": "位置",
        "mean": "平均",
        "count": "为 {one} 的格数",
        "where": "位置",
        "more": "…… 共 {0} 处",
        "stop": "。",
        "and": "，",
    },
}
PHONE, WIDE = 336, 660  # units (1/20 rem) across on a telephone and on a desk
LEAST, LEGIBLE, MOST_MANY, MOST = 9, 18, 26, 34  # units of a cell
LEAST_DOT, MOST_DOT = 2, 14  # of a cell in a picture of zeros and ones
LINE = 14  # units between lines of text
MOST_TITLES = 1024  # cells with a tooltip and a place in the table of their own; of more, each row has one
MOST_RUNS = 12  # of ones, named one by one
STEPS = 24  # of colour, in the cells and in the legend
LEGEND = 180  # units
NUMBER = re.compile(r"[-−]?\d+(\.\d+)?")  # a name; such are named in steps where they are many


@dataclass(frozen=True)
class Line:
    """A row or a column, as the page calls it."""

    index: int
    name: str


@dataclass(frozen=True)
class Colours:
    """From numbers to a sign's colour and how much of it."""

    kind: str  # lin, log or diverging
    low: float
    high: float

    def at(self, number: float) -> tuple[str, float]:
        if self.kind == "diverging":
            return ("wb-heat--minus" if number < 0 else "wb-heat--plus"), abs(number) / (self.high or 1.0)
        if self.low == self.high:
            return "wb-heat", 1.0 if self.high else 0.0
        return "wb-heat", Scale(self.low, self.high, 10 if self.kind == "log" else 0).at(number)

    def step(self, number: float) -> tuple[str, int]:
        """As at(), in steps that an eye can distinguish: what is alike can be drawn as one."""
        kind, share = self.at(number)
        return kind, round(share * STEPS)

    def mark(self, step: tuple[str, int]) -> str:
        return f' class="{step[0]}" fill-opacity="{step[1] / STEPS:.3g}"'

    def number(self, share: float) -> float:
        """What stands at that share of the legend."""
        if self.kind == "log":
            return float(self.low * (self.high / self.low) ** share)
        return self.low + (self.high - self.low) * share


def heatmap(source: Source) -> str:
    if len(source.names) > 1:
        raise BookError("a heat map shows one name")
    found, origin = source.matrix(source.names[0])
    words = WORDS[source.language]
    rows = lines(source, "rows", found.rows, len(found.cells))
    columns = lines(source, "columns", found.columns, len(found.cells[0]))
    title = words["given" if "title" in source.options else "title"].format(
        title=source.options.get("title", ""), name=found.name, origin=origin
    )
    if found.is_bits:
        return bits(source, found, rows, columns, title)
    labels = source.options.get("labels", "")
    colours = colours_of(source, found)
    spoken = words["stop"].join([title, *said(found, rows, columns, words)])
    plane, left, across, bottom = cells(source, found, rows, columns, colours)
    plane += legend(colours, found.unit, labels, left, bottom + 18)
    drawing = sheet(max(across, left + LEGEND + 40), bottom + 18 + 12 + LINE + 6, plane, spoken)
    return figure(drawing, title, numbers(source, found, rows, columns, words), source.language)


# -- rows, columns and colours -----------------------------------------------------------------------------------


def lines(source: Source, option: str, names: tuple[str, ...] | None, n: int) -> list[Line]:
    """All rows (or columns), or those that the page asks for, in its order and with its names."""
    known = list(names or map(str, range(n)))
    wanted = source.options.get(option)
    if not wanted:
        return [Line(i, name) for i, name in enumerate(known)]
    out = []
    for part in wanted.split("|"):
        name, _, text = part.strip().partition("=")
        ends = re.fullmatch(r"(\d+)-(\d+)", name) if names is None else None
        some = range(int(ends[1]), int(ends[2]) + 1) if ends else [i for i, one in enumerate(known) if one == name]
        if not some or some[-1] >= n:
            there = f"0-{n - 1}" if names is None else ", ".join(dict.fromkeys(known))
            raise BookError(f'{option}: no "{name}"; there are: {there}')
        out += [Line(i, text or known[i]) for i in some]
    return out


def colours_of(source: Source, found: Matrix) -> Colours:
    numbers = [number for line in found.cells for number in line]
    low, high = min(numbers), max(numbers)
    kind = source.options.get("scale") or ("diverging" if low < 0 < high else "lin")
    if kind == "diverging":
        most = max(-low, high)
        return Colours(kind, -most, most)
    if kind == "log":
        if low <= 0:
            raise BookError(f'"{found.name}" has {low:g}, which a logarithmic scale cannot show; write scale=lin')
        return Colours(kind, low, high)
    if kind != "lin":
        raise BookError(f"scale={kind} is none of lin, log, diverging")
    return Colours(kind, 0.0 if 0 <= low <= high / 2 else low, high)


# -- the drawing -------------------------------------------------------------------------------------------------


def cells(
    source: Source, found: Matrix, rows: list[Line], columns: list[Line], colours: Colours | None
) -> tuple[str, float, float, float]:
    """The cells with the names around them; where they begin from the left, and how far all of it goes."""
    head, top_head = (source.options.get(option, "") for option in ("rowlabel", "columnlabel"))
    heads = [f"{head} ↓" if head else "", f"{top_head} →" if top_head else ""]
    left = max(units(line.name) for line in rows) + 8
    beside = max(left, units(heads[0]) + 16) if heads[0] else left  # where the columns' head begins
    side = side_of(left, len(columns), LEAST if colours else LEAST_DOT)
    longest = max(units(line.name) for line in columns)
    numbered = all(NUMBER.fullmatch(line.name) for line in columns)
    upright = longest + 4 <= side or numbered
    top = (LINE + 3 if any(heads) else 0) + (LINE if upright else 0.71 * longest + LINE)
    right = left + side * len(columns)
    bottom = top + side * len(rows)
    texts = [f'<text x="{x:.0f}" y="{LINE - 3}">{html.escape(text)}</text>' for x, text in
             ((0, heads[0]), (beside, heads[1])) if text]  # fmt: skip
    for i, line in every(rows, side, LINE):
        y = top + side * (i + 0.5) + 4
        texts.append(f'<text x="{left - 6:.0f}" y="{y:.1f}" text-anchor="end">{html.escape(line.name)}</text>')
    for i, line in every(columns, side, longest + 6 if upright else LINE):
        x = left + side * (i + 0.5)
        place = (
            f'x="{x:.1f}" y="{top - 5:.1f}" text-anchor="middle"'
            if upright
            else f'transform="translate({x + 3:.1f} {top - 5:.1f}) rotate(-45)"'
        )
        texts.append(f"<text {place}>{html.escape(line.name)}</text>")
    if colours is None:
        drawn = f'<path class="wb-bits" transform="translate({left:.0f} {top:.1f}) scale({side:g})" ' \
                f'd="{strokes(found, rows, columns)}"/>'  # fmt: skip
    else:
        if len(rows) * len(columns) > MOST_TITLES:
            each = (in_steps(found, row, columns, colours, left, top + side * i, side) for i, row in enumerate(rows))
            drawn = "".join(each)
        else:
            drawn = grid(found, rows, columns, colours, left, top, side)
    frame = f'<rect class="wb-heat__frame" x="{left:.0f}" y="{top:.1f}" width="{right - left:g}" ' \
            f'height="{bottom - top:g}"/>'  # fmt: skip
    across = right + (4 if upright else max(4, 0.71 * units(columns[-1].name) - side / 2 + 8))
    return f"{drawn}{frame}{''.join(texts)}", left, max(across, beside + units(heads[1])), bottom


def side_of(left: float, columns: int, least: float) -> float:
    """Of a cell: so that all of it fits a telephone, if cells are not too small then, or else a desk."""
    phone = (PHONE - left) // columns
    return min(MOST, phone) if phone >= LEGIBLE else max(least, min(MOST_MANY, (WIDE - left) // columns))


def every(lines: list[Line], side: float, needed: float) -> list[tuple[int, Line]]:
    """As many of them as there is room for names, with the same step."""
    step = next(2**k for k in range(10) if 2**k * side >= needed or 2**k >= len(lines))
    return list(enumerate(lines))[::step]


def grid(
    found: Matrix, rows: list[Line], columns: list[Line], colours: Colours, left: float, top: float, side: float
) -> str:
    """All cells of one colour are one path. A cell's tooltip is what the table says (theme/assets/site.js)."""
    paths: dict[tuple[str, int], str] = {}
    for y, row in enumerate(rows):
        of_row = [colours.step(found.cells[row.index][column.index]) for column in columns]
        starts = [x for x in range(len(of_row)) if not x or of_row[x] != of_row[x - 1]]
        for x, end in zip(starts, [*starts[1:], len(of_row)], strict=True):
            paths[of_row[x]] = paths.get(of_row[x], "") + f"M{x} {y}h{end - x}v1H{x}z"
    drawn = "".join(f'<path{colours.mark(key)} d="{d}"/>' for key, d in sorted(paths.items()))
    return f'<g class="wb-cells" transform="translate({left:g} {top:.1f}) scale({side:g})">{drawn}</g>'


def in_steps(
    found: Matrix, row: Line, columns: list[Line], colours: Colours, left: float, y: float, side: float
) -> str:
    """A row of many: what is of one colour is one path, and the row has the tooltip."""
    paths: dict[tuple[str, int], str] = {}
    for i, column in enumerate(columns):
        key = colours.step(found.cells[row.index][column.index])
        paths[key] = paths.get(key, "") + f"M{left + side * i:g} {y:.1f}h{side:g}v{side:g}h-{side:g}z"
    drawn = "".join(f'<path{colours.mark(key)} d="{d}"/>' for key, d in paths.items())
    most = max(columns, key=lambda column: found.cells[row.index][column.index])
    title = f"{row.name}: {shown(found.cells[row.index][most.index], found.unit)} ({most.name})"
    return f"<g><title>{html.escape(title)}</title>{drawn}</g>"


def legend(colours: Colours, unit: str, name: str, left: float, y: float) -> str:
    each = LEGEND / STEPS
    made = []
    for i in range(STEPS):
        kind, share = colours.at(colours.number((i + 0.5) / STEPS))
        made.append(
            f'<rect class="{kind}" x="{left + each * i:.1f}" y="{y:.1f}" width="{each:g}" height="10" '
            f'fill-opacity="{share:.3g}"/>'
        )
    made.append(f'<rect class="wb-heat__frame" x="{left:.0f}" y="{y:.1f}" width="{LEGEND}" height="10"/>')
    scale = Scale(colours.low, colours.high, 10 if colours.kind == "log" else 0)
    ticks = scale.ticks(4) if colours.low < colours.high else [colours.high]
    for tick in ticks:
        x, text = left + LEGEND * scale.at(tick), on_signed_axis(tick, unit)
        made.append(f'<text x="{x:.1f}" y="{y + 9 + LINE:.1f}" text-anchor="middle">{text}</text>')
    if name:
        made.append(f'<text x="{left + LEGEND + 12:.0f}" y="{y + 9:.1f}">{html.escape(name)}</text>')
    return "".join(made)


def on_signed_axis(number: float, unit: str) -> str:
    return f"−{on_axis(-number, unit)}" if number < 0 else on_axis(number, unit)


def shown(number: float, unit: str) -> str:
    return f"−{in_table(-number, unit)}" if number < 0 else in_table(number, unit)


# -- for those who do not see it ---------------------------------------------------------------------------------


def said(found: Matrix, rows: list[Line], columns: list[Line], words: dict[str, str]) -> list[str]:
    places = [(found.cells[row.index][column.index], row, column) for row in rows for column in columns]
    ends: dict[str, str] = {}
    for key, pick in (("least", min), ("most", max)):
        number, row, column = pick(places, key=lambda place: place[0])
        ends |= {key: shown(number, found.unit), f"{key}_at": f"{row.name}, {column.name}"}
    out = [words["size"].format(rows=len(rows), columns=len(columns)), words["range"].format(**ends)]
    if len(rows) <= 12 and found.rows:
        for row in rows:
            most = max(columns, key=lambda column: found.cells[row.index][column.index])
            value = shown(found.cells[row.index][most.index], found.unit)
            out.append(words["largest"].format(row=row.name, column=most.name, value=value))
    return out


def numbers(source: Source, found: Matrix, rows: list[Line], columns: list[Line], words: dict[str, str]) -> str:
    """Every number, or of many a line a row."""
    first = source.options.get("rowlabel") or words["row"]
    at: Callable[[Line, Line], str] = lambda row, column: shown(found.cells[row.index][column.index], found.unit)  # noqa: E731
    if len(rows) * len(columns) <= MOST_TITLES:
        return table(
            [first, *(column.name for column in columns)],
            [[row.name, *(at(row, column) for column in columns)] for row in rows],
        )
    listed = []
    for row in rows:
        line = sorted(columns, key=lambda column: found.cells[row.index][column.index])
        mean = math.fsum(found.cells[row.index][column.index] for column in columns) / len(columns)
        listed.append(
            [row.name, at(row, line[0]), line[0].name, at(row, line[-1]), line[-1].name, shown(mean, found.unit)]
        )
    return table([first, words["least"], words["at"], words["most"], words["at"], words["mean"]], listed)


# -- zeros and ones ----------------------------------------------------------------------------------------------


def bits(source: Source, found: Matrix, rows: list[Line], columns: list[Line], title: str) -> str:
    words = WORDS[source.language]
    names = {"0": "0", "1": "1"}
    for part in filter(None, source.options.get("labels", "").split("|")):
        key, _, text = part.strip().partition("=")
        if key not in names:
            raise BookError(f'no label "{key}"; there are: 0, 1')
        names[key] = text or key
    ones = sum(found.cells[row.index][column.index] for row in rows for column in columns)
    every_one = len(rows) * len(columns)
    share = quantity(100 * ones / every_one, "%")
    size = words["size"].format(rows=len(rows), columns=len(columns))
    counted = words["ones"].format(ones=int(ones), all=every_one, one=names["1"], share=share)
    spoken = words["stop"].join([title, size, counted])
    if found.rows or found.columns:
        plane, _, across, bottom = cells(source, found, rows, columns, None)
        drawing = sheet(across, bottom + 2, plane, spoken)
    else:
        drawing = picture(source, found, rows, columns, spoken)
    key = ""
    if names != {"0": "0", "1": "1"}:
        key = "".join(
            f'<li><svg width="12" height="12" aria-hidden="true"><rect class="wb-dot wb-dot--{bit}" x="1" y="1" '
            f'width="10" height="10"/></svg>{html.escape(text)}</li>'
            for bit, text in sorted(names.items(), reverse=True)
        )
        key = f'<ul class="wb-legend">{key}</ul>'
    listed = [[row.name, *describe_runs(found.cells[row.index], columns, words)] for row in rows]
    heads = [source.options.get("rowlabel") or words["row"], words["count"].format(one=names["1"]),
             source.options.get("columnlabel") or words["where"]]  # fmt: skip
    return figure(key + drawing, title, table(heads, listed), source.language)


def picture(source: Source, found: Matrix, rows: list[Line], columns: list[Line], spoken: str) -> str:
    """One path, without any text in it, so that it can be as small as the page asks."""
    side = min(MOST_DOT, WIDE / len(columns))
    heads = [f"{text} {arrow}" for option, arrow in (("columnlabel", "→"), ("rowlabel", "↓"))
             if (text := source.options.get(option, ""))]  # fmt: skip
    around = f'<p class="wb-plot__y">{html.escape(", ".join(heads))}</p>' if heads else ""
    w, h = len(columns), len(rows)
    return (
        f'{around}<svg class="wb-picture" role="img" aria-label="{html.escape(spoken, quote=True)}" '
        f'viewBox="0 0 {w} {h}" width="{w * side / 20:.2f}rem">'
        f'<path class="wb-bits" d="{strokes(found, rows, columns)}"/></svg>'
    )


def strokes(found: Matrix, rows: Sequence[Line], columns: Sequence[Line]) -> str:
    """A stroke through each run of ones."""
    made = []
    for y, row in enumerate(rows):
        end = None
        for start, stop in runs([found.cells[row.index][column.index] for column in columns]):
            made.append(f"M{start} {y}.5h{stop - start}" if end is None else f"m{start - end} 0h{stop - start}")
            end = stop
    return "".join(made)


def runs(line: Sequence[float]) -> list[tuple[int, int]]:
    """Where ones begin and end."""
    edges = [i for i, (a, b) in enumerate(zip([0.0, *line], [*line, 0.0], strict=True)) if a != b]
    return list(zip(edges[::2], edges[1::2], strict=True))


def describe_runs(line: Sequence[float], columns: list[Line], words: dict[str, str]) -> list[str]:
    """How many ones, and where."""
    found = runs([line[column.index] for column in columns])
    names = [columns[a].name if b == a + 1 else f"{columns[a].name}–{columns[b - 1].name}" for a, b in found]
    where = words["and"].join(names[:MOST_RUNS])
    if len(names) > MOST_RUNS:
        where += words["and"] + words["more"].format(len(names))
    return [str(sum(b - a for a, b in found)), where or "–"]
