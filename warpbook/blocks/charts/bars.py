"""Horizontal bars, one for each value: the ladder of an article's versions, or values by name."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from warpbook.blocks.charts.source import Source, apart
from warpbook.blocks.charts.svg import figure, percent, table
from warpbook.book import BookError
from warpbook.numbers import quantity, significant
from warpbook.records import records
from warpbook.records.values import Value

WORDS = {
    "en": {
        "ladder": "Effective bandwidth of each version on {device}; the dashed line is the copy of the same run",
        "bars": "Measured on {device}",
        "line": "; the dashed line is {name}",
        "rung": "Version",
        "name": "Name",
        "share": "Of {name}",
        "copy": "the copy",
        "label": "copy",
        "step": "The ladder up to {rung}",
        "spread": "Spread",
        "cut": "; the bars begin at {start} and not at 0, so they exaggerate the difference: lie factor {factor}",
        "B/s": "Bandwidth",
        "s": "Time",
        "flop/s": "Rate",
        "other": "Measured",
    },
    "zh": {
        "ladder": "各版本在 {device} 上的有效带宽；虚线为同一次运行中拷贝的带宽",
        "bars": "测自 {device}",
        "line": "；虚线为 {name}",
        "rung": "版本",
        "name": "名称",
        "share": "与{name}之比",
        "copy": "拷贝",
        "label": "拷贝",
        "step": "到 {rung} 为止的各版本",
        "spread": "波动范围",
        "cut": "；横条从 {start} 而不是从 0 开始，因此夸大了差别：谎言系数 {factor}",
        "B/s": "带宽",
        "s": "时间",
        "flop/s": "速率",
        "other": "实测",
    },
}
ROW, BAR = 38, 10  # px: height of a row, and of the bar in it
STEP_ROW = 28  # of a ladder up to one of its rungs, which stands beside that rung's section


@dataclass(frozen=True)
class Bar:
    label: str
    value: Value
    kind: str = "rung"


def ladder(source: Source) -> str:
    """One bar for each rate named, or for each of the program that also measures the reference, as measured.

    The reference is `copy.rate` unless the page names another, such as `cublas.flops`: the rates are then `*.flops`.
    """
    words = WORDS[source.language]
    names, yardstick = list(source.names), source.options.get("reference", "copy.rate")
    of, _, kind = yardstick.rpartition(".")
    if not names:
        record = source.record()
        _, part = source.values.holder(record, source.article, "values", yardstick, "value")
        names = [name for name in part["values"] if name.endswith(f".{kind}") and name != yardstick]
    rungs = [name.removesuffix(f".{kind}") for name in names]
    labels = source.labels(tuple(rungs)) if "labels" in source.options else rungs
    found = [
        Bar(label, source.value(name), "rung" if source.names else kind_of(label))
        for label, name in zip(labels, names, strict=True)
    ]
    is_copy = yardstick == "copy.rate"
    reference = Bar(words["label"] if is_copy else of, source.value(yardstick))
    if "upto" in source.options:
        if source.options["upto"] not in rungs:
            raise BookError(f'no rung "{source.options["upto"]}"; there are: {", ".join(rungs)}')
        return step(source, found, reference, rungs.index(source.options["upto"]))
    device, name = records.device_name(source.record()), words["copy"] if is_copy else of
    title = words["ladder"].format(device=device)
    if not is_copy:
        title = words["bars"].format(device=device) + words["line"].format(name=name)
    return drawn(source, found, reference, source.options.get("title", title), words["rung"], name)


def step(source: Source, found: list[Bar], reference: Bar | None, last: int) -> str:
    """The ladder as far as the bar `last`, which is marked, on the scale of the whole; <desc> has its numbers."""
    climbed = found[: last + 1]
    title = source.options.get("title", WORDS[source.language]["step"].format(rung=climbed[-1].label))
    full = full_scale([*found, *([reference] if reference else [])])
    shapes = []
    for i, bar in enumerate(climbed):
        kind = "rung" if bar is climbed[-1] else "other"
        shapes.append(shape(Bar(bar.label, bar.value, kind), i * STEP_ROW, 13, 17, full, reference))
    height = STEP_ROW * len(climbed) + 2
    if reference:
        at = percent(reference.value.number / full)
        shapes += [
            f'<line class="wb-reference" x1="{at}" x2="{at}" y1="{i * STEP_ROW + 15}" y2="{i * STEP_ROW + 29}"/>'
            for i in range(len(climbed))
        ]
    said = "; ".join(
        ", ".join(filter(None, (f"{bar.label} {quantity(bar.value.number, bar.value.unit)}", share_of(bar, reference))))
        for bar in climbed
    )
    svg = (
        f'<svg role="img" aria-label="{html.escape(title)}" width="100%" height="{height}"><desc>{html.escape(said)}'
        f"</desc>{''.join(shapes)}</svg>"
    )
    return figure(svg, title, "", source.language)


def full_scale(bars: list[Bar]) -> float:
    """What the whole width of a chart stands for."""
    return (max(max(bar.value.number, bar.value.high or 0.0) for bar in bars) or 1.0) * 1.005


def kind_of(label: str) -> str:
    return "rung" if re.fullmatch(r"v\d+", label) else "other"


def bars(source: Source) -> str:
    """One bar for each named value, and a dashed line at the one called `reference`."""
    words = WORDS[source.language]
    found = [Bar(label, source.value(name)) for label, name in zip(source.labels(), source.names, strict=True)]
    name = source.options.get("reference")
    reference = None
    if name:
        label = words["label"] if name.split(":")[-1].startswith("copy.") else apart((name, source.names[0]))[0]
        reference = Bar(label, source.value(name))
    for bar in [*found, *([reference] if reference else [])]:
        if bar.value.unit != found[0].value.unit:
            raise BookError(
                f'"{bar.value.name}" is in {bar.value.unit} and "{found[0].value.name}" in {found[0].value.unit}'
            )
        if bar.value.number < 0:
            raise BookError(f'"{bar.value.name}" is negative, which a bar cannot show')
    start = cut(source, found)
    if "upto" in source.options:
        if source.options["upto"] not in source.names:
            raise BookError(f'no bar "{source.options["upto"]}"; there are: {", ".join(source.names)}')
        return step(source, found, reference, source.names.index(source.options["upto"]))
    title = source.options.get("title", "")
    if not title:
        title = words["bars"].format(device=f"{found[0].value.device} · {found[0].value.date}")
        if reference:
            title += words["line"].format(name=words["copy"] if reference.label == words["label"] else reference.label)
    if start:
        said = {"start": quantity(start, found[0].value.unit), "factor": significant(lie_factor(found, start))}
        title += words["cut"].format(**said)
    return drawn(source, found, reference, title, words["name"], reference.label if reference else "", start)


def cut(source: Source, found: list[Bar]) -> float:
    """Where the bars begin if the page wants to show a misleading chart: at this share of the smallest value."""
    if "cut" not in source.options:
        return 0.0
    if {"reference", "upto"} & source.options.keys():
        raise BookError("cut= is for bars without reference= and upto=")
    try:
        share = float(source.options["cut"])
    except ValueError:
        share = 0.0
    if not 0 < share < 1:
        raise BookError(f"cut={source.options['cut']} is no number between 0 and 1, a share of the smallest value")
    return share * min(bar.value.number for bar in found)


def lie_factor(found: list[Bar], start: float) -> float:
    """Tufte's: the change from the smallest value to the largest in the lengths of the bars, over that in the data."""
    low, high = (pick(bar.value.number for bar in found) for pick in (min, max))
    if low == high or not low:
        raise BookError("cut= needs two different values, and none of them 0")
    return ((high - low) / (low - start)) / ((high - low) / low)


def drawn(
    source: Source, found: list[Bar], reference: Bar | None, title: str, head: str, of: str, start: float = 0.0
) -> str:
    """The bars begin at `start`."""
    words = WORDS[source.language]
    unit = found[0].value.unit
    full = full_scale([*found, *([reference] if reference else [])])
    shapes, rows = [], []
    for i, bar in enumerate(found):
        shown, share = quantity(bar.value.number, unit), share_of(bar, reference)
        shapes.append(shape(bar, i * ROW, 17, 24, full, reference, start))
        rows.append([bar.label, shown, *([share] if reference else []), between(bar.value)])
    height = ROW * len(found)
    if reference:
        at, side = percent(reference.value.number / full), reference.value.number / full > 0.5
        shapes += [
            f'<line class="wb-reference" x1="{at}" x2="{at}" y1="{i * ROW + 22}" y2="{i * ROW + 36}"/>'
            for i in range(len(found))
        ]
        said = f"{reference.label} {quantity(reference.value.number, unit)}"
        shapes.append(
            f'<text class="wb-reference__label" x="{at}" y="{height + 16}" text-anchor="{"end" if side else "start"}">'
            f"{html.escape(said)}</text>"
        )
        rows.append(
            [reference.label, quantity(reference.value.number, unit), quantity(100, "%"), between(reference.value)]
        )
        height += 22
    heads = [
        head,
        words.get(unit, words["other"]),
        *([words["share"].format(name=of)] if reference else []),
        words["spread"],
    ]
    svg = f'<svg role="img" aria-label="{html.escape(title)}" width="100%" height="{height}">{"".join(shapes)}</svg>'
    return figure(svg, title, table(heads, rows), source.language)


def share_of(bar: Bar, reference: Bar | None) -> str:
    """A bar's value as a percentage of the reference; empty without one."""
    if not reference or not reference.value.number:
        return ""
    return quantity(100 * bar.value.number / reference.value.number, "%")


def shape(
    bar: Bar, y: float, baseline: float, top: float, full: float, reference: Bar | None, start: float = 0.0
) -> str:
    """A row that begins at `y`: name and value on `baseline`, the bar at `top`, both counted from y.

    The width of the row stands for the numbers from `start` to `full`.
    """
    number, share = bar.value.number, share_of(bar, reference)
    width = percent((number - start) / (full - start))
    at = f'y="{y + top:g}"'
    return (
        f'<g class="wb-bar wb-bar--{bar.kind}"><text x="0" y="{y + baseline:g}">{html.escape(bar.label)}</text>'
        f'<text class="wb-bar__value" x="100%" y="{y + baseline:g}" text-anchor="end">'
        f"{quantity(number, bar.value.unit)}{' · ' if share else ''}{share}</text>"
        f'<rect class="wb-bar__track" x="0" {at} width="100%" height="{BAR}" rx="2"/>'
        f'<rect class="wb-bar__fill" x="0" {at} width="{width}" height="{BAR}" rx="2"/>'
        f"{spread(bar.value, full, y + top, start)}</g>"
    )


def spread(value: Value, full: float, top: float, start: float = 0.0) -> str:
    """A thin line from the low end of the spread to the high one, where it is wide enough to be seen."""
    if value.low is None or value.high is None or (value.high - value.low) / full < 0.006:
        return ""
    middle = top + BAR / 2
    x1, x2 = (percent(max(0.0, end - start) / (full - start)) for end in (value.low, value.high))
    return f'<line class="wb-spread" x1="{x1}" x2="{x2}" y1="{middle}" y2="{middle}"/>'


def between(value: Value) -> str:
    if value.low is None or value.high is None:
        return "–"
    return f"{quantity(value.low, value.unit)} – {quantity(value.high, value.unit)}"
