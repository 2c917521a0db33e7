"""What a chart is asked to show, looked up in the records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from warpbook import records
from warpbook.book import BookError
from warpbook.values import NAME, Value, Values


@dataclass(frozen=True)
class Point:
    """One point of a series; `low` and `high` are its spread, or y itself."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """A recorded curve, its points in the order of x."""

    name: str
    x_unit: str
    unit: str
    points: tuple[Point, ...]
    has_spread: bool
    device: str
    date: str


@dataclass(frozen=True)
class Span:
    """One stretch of work in a timeline."""

    row: str | int
    start: float
    stop: float
    label: str


@dataclass(frozen=True)
class Timeline:
    """Recorded spans, in the order recorded."""

    name: str
    unit: str
    spans: tuple[Span, ...]
    device: str
    date: str


@dataclass(frozen=True)
class Source:
    """The names and options of one chart, and where their numbers are."""

    values: Values
    article: str
    language: str
    names: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        return self.values.record(self.article)

    def value(self, name: str) -> Value:
        return self.values.get(name, self.article)

    def labels(self, names: tuple[str, ...] | None = None) -> list[str]:
        """What the names are called in the chart: as the page says, or what tells them apart."""
        names = self.names if names is None else names
        given = self.options.get("labels")
        if given is None:
            return apart(names)
        out = [label.strip() for label in given.split("|")]
        if len(out) != len(names):
            raise BookError(f"{len(out)} labels, {len(names)} names; divide them with |")
        return out

    def series(self, name: str) -> Series:
        kept, device, date = self.kept(name, "series", "series")
        columns = [kept["x"], kept["y"], kept.get("low") or kept["y"], kept.get("high") or kept["y"]]
        points = sorted((Point(*map(float, row)) for row in zip(*columns, strict=True)), key=lambda point: point.x)
        has_spread = bool(kept.get("low") and kept.get("high"))
        return Series(name, kept["x_unit"], kept["unit"], tuple(points), has_spread, device, date)

    def timeline(self, name: str) -> Timeline:
        kept, device, date = self.kept(name, "spans", "timeline")
        columns = (kept[column] for column in ("row", "start", "stop", "label"))
        return Timeline(name, kept["unit"], tuple(Span(*span) for span in zip(*columns, strict=True)), device, date)

    def kept(self, name: str, kind: str, called: str) -> tuple[dict[str, Any], str, str]:
        """What a program recorded under `kind` as `name`, by which device and when."""
        match = NAME.match(name)
        if not match or match["name"].startswith("#"):
            raise BookError(f'"{name}" is not a name of a {called}')
        article, short = match["article"] or self.article, match["name"]
        record = self.values.record(article)
        found = [entry for entry in record["programs"].values() if short in entry.get(kind, {})]
        where = records.path_of(self.values.book, self.values.device, article)
        if not found:
            known = sorted({n for entry in record["programs"].values() for n in entry.get(kind, {})})
            raise BookError(
                f'no {called} "{short}" in {self.values.book.relative(where)}; there are: {", ".join(known) or "none"}'
            )
        if len(found) > 1:
            raise BookError(f'"{short}" is recorded by several programs; give one of them another name')
        machine = record["machines"].get(found[0].get("machine"), {})
        return (
            found[0][kind][short],
            str(machine.get("name", self.values.device)),
            str(found[0].get("date", ""))[:10],
        )


def apart(names: tuple[str, ...]) -> list[str]:
    """Names without the parts that all of them share at the end or at the start: a.time, b.time → a, b."""
    parts = [name.split(".") for name in names]
    for end in (-1, 0):
        while all(len(part) > 1 for part in parts) and len({part[end] for part in parts}) == 1:
            for part in parts:
                del part[end]
    return [".".join(part) for part in parts]
