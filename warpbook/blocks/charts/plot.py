"""A plane with two axes, for curves and rooflines.

Three drawings side by side: the numbers of the y axis, the plane, and what is named at the lines' ends. The plane is
as wide as the page leaves it. Lines are stretched to that width; their strokes, the markers and the text are not.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field

from warpbook.blocks.charts.svg import Scale, on_axis, percent, spaced, width

HEIGHT, TOP, BOTTOM = 264, 14, 24  # px: of the drawing, and within it above and below the plane
NAME = 16  # px more below, for the name of the x axis
MARGIN = 0.015  # of the plane's width, left and right of its first and its last point
LINE = 15  # px between two labels
WIDEST = 4.5  # rem of a label beside the plane; longer ones stand above it
MARKERS = (
    '<circle r="3.6"/>',
    '<path d="M-3.4-3.4h6.8v6.8h-6.8z"/>',
    '<path d="M0-4.6 4.3 3.2h-8.6z"/>',
    '<path d="M0-4.9 4.6 0 0 4.9-4.6 0z"/>',
    '<path d="M0 4.6 4.3-3.2h-8.6z"/>',
    '<path d="M-1.3-4.2h2.6v2.9h2.9v2.6h-2.9v2.9h-2.6v-2.9h-2.9v-2.6h2.9z"/>',
)


@dataclass
class Plot:
    x: Scale
    y: Scale
    x_unit: str
    y_unit: str
    x_label: str = ""
    y_label: str = ""
    lines: list[str] = field(default_factory=list)  # stretched
    shapes: list[str] = field(default_factory=list)  # not stretched
    ends: list[tuple[int, str, float]] = field(default_factory=list)  # kind, label, y of the line's end

    def across(self, x: float) -> float:
        return MARGIN + (1 - 2 * MARGIN) * self.x.at(x)

    def down(self, y: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * self.y.at(y), 1)

    # -- what is drawn ---------------------------------------------------------------------------------------

    def line(self, points: Sequence[tuple[float, float]], style: str, closed: bool = False) -> None:
        path = "L".join(f"{1000 * self.across(x):.1f} {self.down(y)}" for x, y in points)
        self.lines.append(f'<path class="{style}" d="M{path}{"z" if closed else ""}"/>')

    def marker(self, kind: int, x: float, y: float, title: str, odd: bool = False) -> None:
        """A marker; odd ones make room on a telephone."""
        style = "wb-marker wb-marker--odd" if odd else "wb-marker"
        self.shapes.append(
            f'<svg class="{style} wb-s{kind}" x="{percent(self.across(x))}" y="{self.down(y)}">'
            f"{MARKERS[kind]}<title>{html.escape(title)}</title></svg>"
        )

    def text(self, x: str, y: float, text: str, anchor: str, style: str, dx: float = 0) -> None:
        shift = f' dx="{dx:g}"' if dx else ""
        self.shapes.append(
            f'<text class="wb-halo {style}" x="{x}" y="{y:g}"{shift} text-anchor="{anchor}">{html.escape(text)}</text>'
        )

    def level(self, y: float, text: str, left: bool) -> None:
        """A dashed line across the plane, named at one of its ends."""
        at = self.down(y)
        self.shapes.append(f'<line class="wb-reference" x1="0" x2="100%" y1="{at}" y2="{at}"/>')
        self.text("0" if left else "100%", at - 7, text, "start" if left else "end", "wb-reference__label")

    def upright(self, x: float, text: str) -> None:
        """A dashed line down the plane, named at its head."""
        at, left = percent(self.across(x)), self.across(x) < 0.5
        self.shapes.append(f'<line class="wb-reference" x1="{at}" x2="{at}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        self.text(at, TOP - 4, text, "start" if left else "end", "wb-reference__label")

    # -- the drawing -----------------------------------------------------------------------------------------

    def axes(self) -> tuple[str, list[str], float]:
        """The numbers of the y axis, the grid with the numbers of the x axis, and the former's width."""
        numbers, grid = [], []
        ticks = [(tick, on_axis(tick, self.y_unit, self.y.base)) for tick in self.y.ticks(6, self.y_unit)]
        for tick, label in ticks:
            y = self.down(tick)
            numbers.append(f'<text x="100%" y="{y + 4:g}" text-anchor="end">{html.escape(label)}</text>')
            grid.append(f'<line class="wb-grid" x1="0" x2="100%" y1="{y}" y2="{y}"/>')
        for i, tick in enumerate(self.x.ticks(unit=self.x_unit)):
            share = self.across(tick)
            label = html.escape(on_axis(tick, self.x_unit, self.x.base))
            anchor = "start" if share < 0.06 else "end" if share > 0.94 else "middle"
            at, style = percent(share), "wb-tick wb-tick--odd" if i % 2 else "wb-tick"
            grid.append(
                f'<line class="wb-grid" x1="{at}" x2="{at}" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM + 4}"/>'
                f'<text class="{style}" x="{at}" y="{HEIGHT - 6}" text-anchor="{anchor}">{label}</text>'
            )
        grid.append(f'<text x="100%" y="{HEIGHT + NAME - 6}" text-anchor="end">{html.escape(self.x_label)}</text>')
        grid.append(f'<line class="wb-axis" x1="0" x2="100%" y1="{HEIGHT - BOTTOM}" y2="{HEIGHT - BOTTOM}"/>')
        return "".join(numbers), grid, max((width(label) for _, label in ticks), default=1.0)

    def html(self, said: str) -> str:
        """The whole plot; `said` is its text for screen readers."""
        numbers, grid, left = self.axes()
        beside = bool(self.ends) and max(width(label) for _, label, _ in self.ends) <= WIDEST
        right = f" {max(width(label) for _, label, _ in self.ends) + 1.3:.2f}rem" if beside else ""
        columns = f"{left:.2f}rem minmax(0,1fr){right}"
        stretched = (
            f'<svg class="wb-lines" width="100%" height="{HEIGHT}" viewBox="0 0 1000 {HEIGHT}" '
            f'preserveAspectRatio="none">{"".join(self.lines)}</svg>'
        )
        plane = "".join([*grid, stretched, *self.shapes])
        drawings = [
            f'<svg width="100%" height="{HEIGHT}">{numbers}</svg>',
            f'<svg width="100%" height="{HEIGHT + NAME * bool(self.x_label)}">{plane}</svg>',
        ]
        if beside:
            drawings.append(f'<svg width="100%" height="{HEIGHT}">{self.named_ends()}</svg>')
        above = "" if beside or not self.ends else self.legend()
        return (
            f'{above}<div role="img" aria-label="{html.escape(said, quote=True)}">'
            f'<p class="wb-plot__y">{html.escape(self.y_label)}</p>'
            f'<div class="wb-plot" style="grid-template-columns:{columns}">{"".join(drawings)}</div></div>'
        )

    def named_ends(self) -> str:
        places = spaced([end for _, _, end in self.ends], LINE, TOP, HEIGHT - BOTTOM)
        return "".join(
            f'<path class="wb-leader" d="M1 {end:g} 9 {at:g}"/><svg class="wb-marker wb-s{kind}" x="14" y="{at:g}">'
            f'{MARKERS[kind]}</svg><text x="22" y="{at + 4:g}">{html.escape(label)}</text>'
            for (kind, label, end), at in zip(self.ends, places, strict=True)
        )

    def legend(self) -> str:
        items = "".join(
            f'<li><svg width="34" height="12" aria-hidden="true"><path class="wb-line wb-s{kind}" d="M0 6H34"/>'
            f'<svg class="wb-marker wb-s{kind}" x="17" y="6">{MARKERS[kind]}</svg></svg>{html.escape(label)}</li>'
            for kind, label, _ in sorted(self.ends, key=lambda end: end[2])
        )
        return f'<ul class="wb-legend">{items}</ul>'
