"""Recorded series as curves: bandwidth over size, time over threads."""

from __future__ import annotations

from dataclasses import replace

from warpbook.blocks.charts.plot import MARKERS, Plot
from warpbook.blocks.charts.source import Series, Source
from warpbook.blocks.charts.svg import Scale, figure, in_table, logarithmic, table, with_spread
from warpbook.book import BookError
from warpbook.numbers import quantity
from warpbook.records.values import Value

WORDS = {
    "en": {
        "title": "{names}, measured on {device} · {date}",
        "band": "the band is the spread",
        "line": "dashed: {names}",
        "said": "{name}: {y0} at {x0}, {y1} at {x1}, between {low} and {high}",
        "stop": ". ",
        "comma": ", ",
        "semicolon": "; ",
        "within": "only {shown} of {all} recorded points are shown",
        "near": "the vertical axis does not begin at 0",
        "copy": "copy",
        "l2": "L2",
    },
    "zh": {
        "title": "{names}，测自 {device} · {date}",
        "band": "色带为波动范围",
        "line": "虚线：{names}",
        "said": "{name}：{x0} 处 {y0}，{x1} 处 {y1}，介于 {low} 与 {high} 之间",
        "stop": "。",
        "comma": "、",
        "semicolon": "；",
        "within": "只画出了 {all} 个记录点中的 {shown} 个",
        "near": "纵轴不从 0 开始",
        "copy": "拷贝",
        "l2": "L2",
    },
}
AXES = {
    "en": {
        "flop/B": "Arithmetic intensity (FLOP/B)",
        "B": "Size",
        "s": "Time",
        "B/s": "Bandwidth",
        "flop/s": "Rate",
        "Hz": "Clock",
        "W": "Power",
    },
    "zh": {
        "flop/B": "算术强度（FLOP/B）",
        "B": "数据量",
        "s": "时间",
        "B/s": "带宽",
        "flop/s": "速率",
        "Hz": "频率",
        "W": "功率",
    },
}
WIDE = 30  # times: from there on a linear y axis would hide the small numbers
MOST_MARKERS = 24


def curve(source: Source) -> str:
    whole = [source.series(name) for name in source.names]
    found = within(source, whole)
    labels = source.labels()
    if len(found) > len(MARKERS):
        raise BookError(f"{len(found)} series cannot be distinguished; draw at most {len(MARKERS)}")
    for series in found[1:]:
        for mine, first in ((series.x_unit, found[0].x_unit), (series.unit, found[0].unit)):
            if mine != first:
                raise BookError(f'"{series.name}" is in {mine} where "{found[0].name}" is in {first}')
    levels = [line(source, name, found[0].unit) for name in listed(source, "reference")]
    uprights = [line(source, name, found[0].x_unit) for name in listed(source, "at")]
    words, axes = WORDS[source.language], AXES[source.language]
    plot = Plot(
        x_scale(source, found, [value.number for _, value in uprights]),
        y_scale(source, found, [value.number for _, value in levels]),
        found[0].x_unit,
        found[0].unit,
        source.options.get("xlabel", axes.get(found[0].x_unit, "")),
        source.options.get("ylabel", axes.get(found[0].unit, "")),
    )
    for kind, (label, series) in enumerate(zip(labels, found, strict=True)):
        trace(plot, kind, label, series)
        if len(found) > 1:
            plot.ends.append((kind, label, plot.down(series.points[-1].y)))
    for label, value in levels:
        plot.level(
            value.number, f"{label} {quantity(value.number, value.unit)}", left_is_free(plot, found, value.number)
        )
    for label, value in uprights:
        plot.upright(value.number, f"{label} {in_table(value.number, value.unit)}")
    title = source.options.get("title") or words["title"].format(
        names=words["comma"].join(labels), device=found[0].device, date=found[0].date
    )
    shown, recorded = (sum(len(one.points) for one in some) for some in (found, whole))
    if shown < recorded:
        title += words["semicolon"] + words["within"].format(shown=shown, all=recorded)
    if plot.y.low > 0 and not plot.y.base:
        title += words["semicolon"] + words["near"]
    if any(series.has_spread for series in found):
        title += words["semicolon"] + words["band"]
    if levels or uprights:
        named = words["comma"].join(label for label, _ in [*levels, *uprights])
        title += words["semicolon"] + words["line"].format(names=named)
    spoken = words["stop"].join(
        [title, *(said(label, series, words["said"]) for label, series in zip(labels, found, strict=True))]
    )
    return figure(plot.html(spoken), title, numbers(plot, labels, found), source.language)


def trace(plot: Plot, kind: int, label: str, series: Series) -> None:
    """The band of the spread, the line, and a marker at each point, or at some where there are many."""
    points = series.points
    if series.has_spread and len(points) > 1:
        floor = plot.y.low
        ring = [(p.x, p.high) for p in points] + [(p.x, max(p.low, floor)) for p in reversed(points)]
        plot.line(ring, f"wb-band wb-s{kind}", closed=True)
    plot.line([(p.x, p.y) for p in points], f"wb-line wb-s{kind}")
    step = -(-len(points) // MOST_MARKERS)
    for i, point in enumerate([*points[:-1:step], points[-1]]):
        at = with_spread(point.y, point.low, point.high, series.unit)
        odd = bool(i % 2) and point is not points[-1] and len(points) > MOST_MARKERS / 2
        plot.marker(kind, point.x, point.y, f"{label}, {in_table(point.x, series.x_unit)}: {at}", odd)


def within(source: Source, whole: list[Series]) -> list[Series]:
    """The points from one x to another, to show what a chosen range hides; the caption says that some are left out."""
    if "within" not in source.options:
        return whole
    try:
        low, high = (float(end) for end in source.options["within"].split(","))
    except ValueError:
        raise BookError(f"within={source.options['within']} is not two numbers with a comma between them") from None
    found = [replace(one, points=tuple(p for p in one.points if low <= p.x <= high)) for one in whole]
    if not all(one.points for one in found):
        raise BookError(f"within={source.options['within']} leaves no point of a series")
    return found


# -- axes --------------------------------------------------------------------------------------------------------


def x_scale(source: Source, found: list[Series], more: list[float]) -> Scale:
    numbers = [point.x for series in found for point in series.points]
    whole = all(float(x).is_integer() and x > 0 and int(x) & (int(x) - 1) == 0 for x in numbers)
    if choice(source, "x") == "linear":
        return Scale(min(numbers + more), max(numbers + more), 0)
    return logarithmic("x", numbers + more, 2 if found[0].x_unit == "B" or whole else 10)


def y_scale(source: Source, found: list[Series], more: list[float]) -> Scale:
    numbers = more + [n for series in found for point in series.points for n in (point.y, point.high)]
    lows = more + [n for series in found for point in series.points for n in (point.y, point.low)]
    low, high = min(lows), max(numbers)
    wanted = choice(source, "y", "near") or ("log" if low > 0 and high / low >= WIDE else "linear")
    if wanted == "log":
        positive = logarithmic("y", [min(point.y for series in found for point in series.points), high], 10)
        return Scale(max(low, positive.low / 3) / 1.15, high * 1.15, 10)
    if wanted == "near":  # for differences of a few per cent; the caption says that 0 is not shown
        room = (high - low) / 8 or abs(high) / 8
        return Scale(low - room, high + room, 0)
    return Scale(min(0.0, low), high * 1.05 or 1.0, 0)


def choice(source: Source, key: str, *more: str) -> str:
    found, ways = source.options.get(key, ""), ("log", "linear", *more)
    if found not in ("", *ways):
        raise BookError(f"{key}={found} is none of " + ", ".join(f"{key}={way}" for way in ways))
    return found


# -- lines for comparison ----------------------------------------------------------------------------------------


def listed(source: Source, key: str) -> list[str]:
    return [name for name in source.options.get(key, "").split(",") if name]


def line(source: Source, name: str, unit: str) -> tuple[str, Value]:
    value = source.value(name)
    if value.unit != unit:
        raise BookError(f'"{name}" is in {value.unit}, the axis in {unit}')
    first = name.split(":")[-1].split(".")[0]
    return WORDS[source.language].get(first, first), value


def left_is_free(plot: Plot, found: list[Series], level: float) -> bool:
    """Whether the curves stay farther away from the level at their left end than at their right one."""
    left = min(abs(plot.down(series.points[0].y) - plot.down(level)) for series in found)
    right = min(abs(plot.down(series.points[-1].y) - plot.down(level)) for series in found)
    return left >= right


# -- for those who do not see it ---------------------------------------------------------------------------------


def said(label: str, series: Series, words: str) -> str:
    first, last = series.points[0], series.points[-1]
    ys = [point.y for point in series.points]
    return words.format(
        name=label,
        x0=in_table(first.x, series.x_unit),
        y0=in_table(first.y, series.unit),
        x1=in_table(last.x, series.x_unit),
        y1=in_table(last.y, series.unit),
        low=in_table(min(ys), series.unit),
        high=in_table(max(ys), series.unit),
    )


def numbers(plot: Plot, labels: list[str], found: list[Series]) -> str:
    columns = [{p.x: with_spread(p.y, p.low, p.high, series.unit) for p in series.points} for series in found]
    xs = sorted({x for column in columns for x in column})
    rows = [[in_table(x, plot.x_unit), *(column.get(x, "–") for column in columns)] for x in xs]
    return table([plot.x_label or "x", *labels], rows)
