"""Charts drawn at build from a record, as inline SVG that follows the page: its language, its colours, its width.

An SVG here has no viewBox: lengths along x are percentages and text keeps the page's size, so that a chart
on a telephone is narrower, not smaller. Each comes with its numbers as a table.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import Any

from warpbook import records
from warpbook.book import BookError
from warpbook.values import quantity

WORDS = {
    "en": {
        "ladder": "Effective bandwidth of each version on {device}; the dashed line is the copy of the same run",
        "rung": "Version",
        "rate": "Bandwidth",
        "share": "Of the copy",
        "copy": "copy",
        "data": "The numbers",
    },
    "zh": {
        "ladder": "各版本在 {device} 上的有效带宽；虚线为同一次运行中拷贝的带宽",
        "rung": "版本",
        "rate": "带宽",
        "share": "占拷贝带宽",
        "copy": "拷贝",
        "data": "数据",
    },
}
ROW, BAR = 38, 10  # px: height of a row, and of the bar in it


def draw(name: str, record: dict[str, Any], language: str) -> str:
    """HTML of the chart called `name`. Raises BookError if there is none, or nothing to draw."""
    chart = CHARTS.get(name)
    if chart is None:
        raise BookError(f'no chart "{name}"; there are: {", ".join(CHARTS)}')
    return chart(record, language)


def ladder(record: dict[str, Any], language: str) -> str:
    """One bar for each `*.rate` of the program that also measures `copy.rate`, in the order measured."""
    words = WORDS[language]
    for entry in record["programs"].values():
        rates = {name[: -len(".rate")]: value for name, value in entry["values"].items() if name.endswith(".rate")}
        if "copy" in rates:
            break
    else:
        raise BookError("the chart ladder needs a program that records copy.rate")
    copy = float(rates["copy"]["value"])
    bars = [(name, float(value["value"])) for name, value in rates.items() if name != "copy"]
    full = max([copy, *(number for _, number in bars)]) * 1.005
    title = words["ladder"].format(device=records.device_name(record))
    height = ROW * len(bars) + 22
    shapes, rows = [], []
    for i, (name, number) in enumerate(bars):
        y, kind = i * ROW, "rung" if re.fullmatch(r"v\d+", name) else "other"
        shown, share = quantity(number, "B/s"), quantity(100 * number / copy, "%")
        shapes.append(
            f'<g class="wb-bar wb-bar--{kind}"><text x="0" y="{y + 17}">{html.escape(name)}</text>'
            f'<text class="wb-bar__value" x="100%" y="{y + 17}" text-anchor="end">{shown} · {share}</text>'
            f'<rect class="wb-bar__track" x="0" y="{y + 24}" width="100%" height="{BAR}" rx="2"/>'
            f'<rect class="wb-bar__fill" x="0" y="{y + 24}" width="{100 * number / full:.2f}%" height="{BAR}" rx="2"/>'
            "</g>"
        )
        rows.append((name, shown, share))
    at = f"{100 * copy / full:.2f}%"
    bottom = ROW * len(bars)
    shapes += [
        f'<line class="wb-reference" x1="{at}" x2="{at}" y1="{i * ROW + 22}" y2="{i * ROW + 36}"/>'
        for i in range(len(bars))
    ]
    shapes.append(
        f'<text class="wb-reference__label" x="{at}" y="{bottom + 16}" text-anchor="end">'
        f"{words['copy']} {quantity(copy, 'B/s')}</text>"
    )
    rows.append((words["copy"], quantity(copy, "B/s"), quantity(100, "%")))
    svg = f'<svg role="img" aria-label="{html.escape(title)}" width="100%" height="{height}">{"".join(shapes)}</svg>'
    return figure(svg, title, table([words["rung"], words["rate"], words["share"]], rows), words["data"])


def figure(svg: str, caption: str, data: str, summary: str) -> str:
    return (
        f'<figure class="wb-chart">{svg}<figcaption>{html.escape(caption)}</figcaption>'
        f'<details class="wb-data"><summary>{summary}</summary>{data}</details></figure>'
    )


def table(head: list[str], rows: Sequence[tuple[str, ...]]) -> str:
    heads = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


CHARTS: dict[str, Callable[[dict[str, Any], str], str]] = {"ladder": ladder}
