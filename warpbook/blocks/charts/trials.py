"""Tricks with and without, on several seeds: each effect with its interval about zero, and the verdict."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

from warpbook.blocks.charts.source import Source
from warpbook.blocks.charts.svg import figure, percent, table
from warpbook.book import BookError
from warpbook.numbers import grouped

WORDS = {
    "en": {
        "title": "Effect of each trick, with its interval",
        "axis": "the axis is compressed away from zero",
        "between": "{low} to {high}",
    },
    "zh": {
        "title": "各个技巧的效果与区间",
        "axis": "离零越远，坐标轴压缩得越厉害",
        "between": "{low} 至 {high}",
    },
}
HEADS = {
    "en": ("Trick", "Effect", "Interval", "Seeds", "Predicted", "Verdict"),
    "zh": ("技巧", "效果", "区间", "种子数", "预测", "结论"),
}
VERDICTS = {
    "en": {1: "helped here", 0: "no difference we could see", -1: "hurt"},
    "zh": {1: "在这里有用", 0: "看不出差别", -1: "有害"},
}
SHORT = {
    "en": {1: "helped", 0: "no difference", -1: "hurt"},
    "zh": {1: "有用", 0: "看不出差别", -1: "有害"},
}
ROW, BAR = 32, 8  # px: height of a row, and of the interval in it
TICKS = (-100, -10, -1, 0, 1, 10, 100)


@dataclass(frozen=True)
class Trial:
    label: str
    effect: float
    low: float
    high: float
    seeds: int
    predicted: int

    @property
    def verdict(self) -> int:
        """1 or -1 if the interval leaves out zero, on its side; 0 otherwise."""
        return 1 if self.low > 0 else -1 if self.high < 0 else 0


def trials(source: Source) -> str:
    """One row for each named trick, recorded as `.effect` (with its interval), `.seeds` and `.predicted`."""
    words, verdicts = WORDS[source.language], VERDICTS[source.language]
    found = [trial(source, label, name) for label, name in zip(source.labels(), source.names, strict=True)]
    least, most = min(-1.0, *(one.low for one in found)), max(1.0, *(one.high for one in found))

    def at(number: float) -> str:
        low, high = math.asinh(least), math.asinh(most)
        return percent(0.01 + 0.98 * (math.asinh(number) - low) / (high - low))

    height = ROW * len(found)
    shapes = []
    for i, one in enumerate(found):
        y, kind = i * ROW, "rung" if one.verdict else "other"
        wide = f"{float(at(one.high)[:-1]) - float(at(one.low)[:-1]) + 0.2:.2f}%"
        shown = f"{signed(one.effect)} · {SHORT[source.language][one.verdict]}"
        shapes.append(
            f'<g class="wb-bar wb-bar--{kind}"><text x="0" y="{y + 13}">{html.escape(one.label)}</text>'
            f'<text class="wb-bar__value" x="100%" y="{y + 13}" text-anchor="end">{html.escape(shown)}</text>'
            f'<rect class="wb-bar__fill" x="{at(one.low)}" y="{y + 18}" width="{wide}" height="{BAR}" rx="2"/>'
            f'<line class="wb-spread" x1="{at(one.effect)}" x2="{at(one.effect)}" y1="{y + 16}" y2="{y + 28}"/>'
            f'<line class="wb-reference" x1="{at(0)}" x2="{at(0)}" y1="{y + 16}" y2="{y + 30}"/></g>'
        )
    for tick in TICKS:
        if least <= tick <= most:
            shapes.append(
                f'<text class="wb-reference__label" x="{at(tick)}" y="{height + 14}" text-anchor="middle">'
                f"{signed(tick, 0)}</text>"
            )
    rows = [
        [one.label, signed(one.effect), words["between"].format(low=signed(one.low), high=signed(one.high)),
         grouped(one.seeds), verdicts[one.predicted], verdicts[one.verdict]]
        for one in found
    ]  # fmt: skip
    title = source.options.get("title", words["title"])
    svg = (
        f'<svg role="img" aria-label="{html.escape(title)}" width="100%" height="{height + 20}">{"".join(shapes)}</svg>'
    )
    caption = f"{title}{'; ' if source.language == 'en' else '；'}{words['axis']}"
    return figure(svg, caption, table(HEADS[source.language], rows), source.language)


def trial(source: Source, label: str, name: str) -> Trial:
    effect = source.value(f"{name}.effect")
    if effect.low is None or effect.high is None:
        raise BookError(f'"{name}.effect" has no interval')
    predicted = round(source.value(f"{name}.predicted").number)
    if predicted not in (-1, 0, 1):
        raise BookError(f'"{name}.predicted" is {predicted}, not -1, 0 or 1')
    return Trial(label, effect.number, effect.low, effect.high, round(source.value(f"{name}.seeds").number), predicted)


def signed(number: float, digits: int = 1) -> str:
    """+3.6, −0.9, 0.0: with a sign, and a minus that is as wide as the plus."""
    text = f"{number:+.{digits}f}".replace("-", "−")
    return text[1:] if float(f"{number:.{digits}f}") == 0 else text
