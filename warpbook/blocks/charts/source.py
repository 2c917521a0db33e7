"""What a chart is asked to show, looked up in the records."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from warpbook.book import PRIMARY, BookError
from warpbook.records.values import NAME, Value, Values

WORDS = {
    "en": {"computed": "computed by {program}", "computed on": "computed by {program} on {device} · {date}"},
    "zh": {"computed": "由 {program} 算出", "computed on": "由 {program} 在 {device} 上算出 · {date}"},
}
ROUNDING = 2e-3  # of the largest: what two devices may differ by and still say the same


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
class Matrix:
    """A recorded table of numbers; `rows` and `columns` are the names of its lines, if they have any."""

    name: str
    cells: tuple[tuple[float, ...], ...]
    rows: tuple[str, ...] | None
    columns: tuple[str, ...] | None
    unit: str
    is_bits: bool


@dataclass(frozen=True)
class Node:
    id: str
    label: str
    kinds: frozenset[str]
    weight: float | None


@dataclass(frozen=True)
class Edge:
    start: str
    end: str
    label: str


@dataclass(frozen=True)
class Graph:
    """Recorded nodes and edges, in the order recorded."""

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


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
        """What the names are called in the chart: as the page says, or what distinguishes them."""
        names = self.names if names is None else names
        given = self.options.get("labels")
        if given is None:
            return apart(names)
        out = [label.strip() for label in given.split("|")]
        if len(out) != len(names):
            raise BookError(f"{len(out)} labels, {len(names)} names; divide them with |")
        return out

    def series(self, name: str) -> Series:
        kept, where = self.kept(name, "series", "series")
        columns = [kept["x"], kept["y"], kept.get("low") or kept["y"], kept.get("high") or kept["y"]]
        points = sorted((Point(*map(float, row)) for row in zip(*columns, strict=True)), key=lambda point: point.x)
        has_spread = bool(kept.get("low") and kept.get("high"))
        return Series(name, kept["x_unit"], kept["unit"], tuple(points), has_spread, where["device"], where["date"])

    def timeline(self, name: str) -> Timeline:
        kept, where = self.kept(name, "spans", "timeline")
        columns = (kept[column] for column in ("row", "start", "stop", "label"))
        spans = tuple(Span(*span) for span in zip(*columns, strict=True))
        return Timeline(name, kept["unit"], spans, where["device"], where["date"])

    def matrix(self, name: str) -> tuple[Matrix, str]:
        """The table, and where it comes from."""
        kept, origin = self.computed(name, "matrices", "matrix")
        return matrix_of(name, kept), origin

    def graph(self, name: str) -> tuple[Graph, str]:
        """The graph, and where it comes from."""
        kept, origin = self.computed(name, "graphs", "graph")
        weights = kept.get("weights") or [None] * len(kept["nodes"])
        nodes = [
            Node(key, label, frozenset(kinds), weight)
            for (key, label, *kinds), weight in zip(kept["nodes"], weights, strict=True)
        ]
        return Graph(name, tuple(nodes), tuple(Edge(*edge) for edge in kept["edges"])), origin

    def computed(self, name: str, kind: str, called: str) -> tuple[dict[str, Any], str]:
        """What a program recorded that needs no GPU, on this device or else on any, and where it comes from: the
        program alone if every device has the same, else the device too."""
        found: dict[Values, tuple[dict[str, Any], dict[str, str]]] = {}
        for values in self.values.all:
            try:
                found[values] = replace(self, values=values).kept(name, kind, called)
            except BookError:
                continue
        if self.values not in found and (self.values.device != PRIMARY or not found):
            self.kept(name, kind, called)  # says what is missing; of another device's view, that it is left out
        words, first = WORDS[self.language], next(iter(found.values()))
        if all(same(first[0], other) for other, _ in found.values()):
            return first[0], words["computed"].format(**first[1])
        kept, where = found.get(self.values, first)
        return kept, words["computed on"].format(**where)

    def kept(self, name: str, kind: str, called: str) -> tuple[dict[str, Any], dict[str, str]]:
        """What a program recorded under `kind` as `name`; which program it was, on which device and when."""
        match = NAME.match(name)
        if not match or "#" in match["name"]:
            raise BookError(f'"{name}" is not a name of a {called}')
        article, short = match["article"] or self.article, match["name"]
        record = self.values.record(article)
        program, entry = self.values.holder(record, article, kind, short, called)
        machine = record["machines"].get(entry.get("machine"), {})
        device = str(machine.get("name", self.values.device))
        return entry[kind][short], {"program": program, "device": device, "date": str(entry.get("date", ""))[:10]}


def matrix_of(name: str, kept: dict[str, Any]) -> Matrix:
    bits = kept.get("bits")
    cells = tuple(tuple(map(float, line if bits else line.split())) for line in bits or kept["numbers"])
    rows, columns = (tuple(kept[key]) if kept.get(key) else None for key in ("rows", "columns"))
    return Matrix(name, cells, rows, columns, kept["unit"], bool(bits))


def same(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether two devices recorded the same, but for what rounding makes of numbers."""
    if one == two:
        return True
    if "numbers" not in one or "numbers" not in two or {**one, "numbers": 0} != {**two, "numbers": 0}:
        return False
    a, b = (matrix_of("", kept).cells for kept in (one, two))
    if [len(line) for line in a] != [len(line) for line in b]:
        return False
    pairs = [pair for lines in zip(a, b, strict=True) for pair in zip(*lines, strict=True)]
    return max(abs(x - y) for x, y in pairs) <= ROUNDING * max(abs(x) for x, _ in pairs)


def apart(names: tuple[str, ...]) -> list[str]:
    """Names without the parts that all of them share at the end or at the start: a.time, b.time → a, b."""
    parts = [name.split(".") for name in names]
    for end in (-1, 0):
        while all(len(part) > 1 for part in parts) and len({part[end] for part in parts}) == 1:
            for part in parts:
                del part[end]
    return [".".join(part) for part in parts]
