"""Where the nodes of a graph are, how its edges run, and where their labels stand: Graphviz places them all.

Places are in units of a sheet (1/20 rem), y downwards. Graphviz is the one that npm's @viz-js/viz carries, run by Node
at build; what it finds is kept in .cache/graphs.json, by what it was asked.
"""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from warpbook import tools
from warpbook.book import BookError, here, write_json

Point = tuple[float, float]
Pair = tuple[str, str]
Curve = list[Point]  # cubic Béziers one after another: a start, and three points for each

HEAD = 9.0  # of an arrow
ARRIVAL = 26.0  # of the arrow that says where it starts
LABEL = 14.0  # a label's height
INCH = 72.0  # units, to Graphviz
ENGINES = {"layered": "dot", "circle": "circo", "force": "neato"}
SCRIPT = """
const {instance} = require('@viz-js/viz');
const job = JSON.parse(require('fs').readFileSync(0, 'utf8'));
instance().then((viz) => {
  const made = viz.render(job.dot, {engine: job.engine, format: 'json'});
  process.stdout.write(JSON.stringify(made.status === 'success' ? JSON.parse(made.output) : {errors: made.errors}));
});
"""


@dataclass
class Shape:
    """A node: a circle, or one drawn out to both sides by `half`."""

    radius: float
    half: float = 0.0
    x: float = 0.0
    y: float = 0.0

    def distance(self, point: Point) -> float:
        """From its outline; negative inside."""
        beside = max(0.0, abs(point[0] - self.x) - self.half)
        return math.hypot(beside, point[1] - self.y) - self.radius

    @property
    def wide(self) -> float:
        return self.radius + self.half


@dataclass
class Box:
    """A label, by its middle."""

    x: float
    y: float
    width: float
    height: float = LABEL


@dataclass
class Route:
    """An edge: its curve, and the tip of its arrow's head, which goes on from the curve's end."""

    curve: Curve
    tip: Point


@dataclass
class Layout:
    """A graph in the plane."""

    shapes: dict[str, Shape]
    routes: dict[Pair, Route] = field(default_factory=dict)
    arrivals: dict[str, Route] = field(default_factory=dict)
    labels: dict[Pair, Box] = field(default_factory=dict)  # of edges
    names: dict[str, Box] = field(default_factory=dict)  # of nodes, beside them

    def bounds(self) -> tuple[float, float, float, float]:
        boxes = [(box.x, box.y, box.width / 2, box.height / 2) for box in (*self.labels.values(), *self.names.values())]
        boxes += [(shape.x, shape.y, shape.wide, shape.radius) for shape in self.shapes.values()]
        routes = (*self.routes.values(), *self.arrivals.values())
        boxes += [(x, y, 1, 1) for route in routes for x, y in (*sampled(route.curve), route.tip)]
        return (
            min(x - w for x, _, w, _ in boxes),
            min(y - h for _, y, _, h in boxes),
            max(x + w for x, _, w, _ in boxes),
            max(y + h for _, y, _, h in boxes),
        )


def sampled(curve: Curve, each: int = 12) -> list[Point]:
    """Points along a curve, `each` of every Bézier."""
    out = [curve[0]]
    for i in range(0, len(curve) - 3, 3):
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = curve[i : i + 4]
        for k in range(1, each + 1):
            t = k / each
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
            out.append((a * x0 + b * x1 + c * x2 + d * x3, a * y0 + b * y1 + c * y2 + d * y3))
    return out


def place(
    kind: str,
    shapes: dict[str, Shape],
    edges: Sequence[Pair],
    starts: Sequence[str],
    labels: dict[Pair, float],
    names: dict[str, float],
    options: dict[str, str],
    apart: float = INCH,
    spans: dict[Pair, int] | None = None,
) -> Layout:
    """Lay out a graph. `labels` are the widths of edges' labels, `names` of what stands beside nodes.

    By forces, joined nodes come to be about `apart`; in layers, as many ranks as `spans` says, at least, or one.
    `options` are Graphviz's, of the graph.
    """
    keys = {key: f"n{i}" for i, key in enumerate(shapes)}
    lines = [f"graph [{attributes(forcelabels='false', **options)}]", f"edge [len={apart / INCH:.3f}]"]
    for key, shape in shapes.items():
        size = {"width": f"{2 * shape.wide / INCH:.4f}", "height": f"{2 * shape.radius / INCH:.4f}"}
        form = "box" if shape.half else "circle"
        beside = f", xlabel={blank(names[key])}" if key in names else ""
        lines.append(f'{keys[key]} [shape={form}, fixedsize=true, label="", {attributes(**size)}{beside}]')
    for i, start in enumerate(starts):
        lines.append(f'start{i} [shape=point, width=0.01, label=""]')
        lines.append(f"start{i} -> {keys[start]} [{attributes(arrowsize=f'{HEAD / 10}', len=f'{ARRIVAL / INCH:.3f}')}]")
    for a, b in edges:
        label = f", label={blank(labels[a, b])}" if (a, b) in labels else ""
        up = (
            ", headport=n, tailport=n" if kind == "circle" and a == b and a in starts else ""
        )  # beside the arrow that says where it starts
        span = f", minlen={spans[a, b]}" if spans and (a, b) in spans else ""
        lines.append(f"{keys[a]} -> {keys[b]} [arrowsize={HEAD / 10}{label}{up}{span}]")
    found = ask(ENGINES[kind], "digraph {\n" + ";\n".join(lines) + "\n}")
    return read(found, shapes, {name: key for key, name in keys.items()}, starts, labels, names)


def attributes(**given: str) -> str:
    return ", ".join(f'{name}="{value}"' for name, value in given.items())


def blank(width: float) -> str:
    """A label that takes so much room."""
    size = f'FIXEDSIZE="TRUE" WIDTH="{math.ceil(width)}" HEIGHT="{LABEL:.0f}"'
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0" {size}><TR><TD></TD></TR></TABLE>>'


def ask(engine: str, dot: str) -> dict[str, Any]:
    """What Graphviz finds, or found before."""
    root = here().root
    package = tools.modules(here()) / "@viz-js" / "viz" / "package.json"
    if not package.exists():
        raise BookError("node_modules/@viz-js/viz is missing; run `make setup`")
    version = json.loads(package.read_text("utf-8"))["version"]
    key = hashlib.sha256(f"{version}\0{engine}\0{dot}".encode()).hexdigest()
    cache_file = root / ".cache" / "graphs.json"
    try:
        cache: dict[str, Any] = json.loads(cache_file.read_text("utf-8"))
    except (OSError, json.JSONDecodeError):
        cache = {}
    if key not in cache:
        done = subprocess.run(
            [tools.node(), "-e", SCRIPT],
            input=json.dumps({"engine": engine, "dot": dot}),
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=root,
        )
        if done.returncode:
            raise BookError(f"Graphviz does not run: {done.stderr.strip().splitlines()[-1:]}")
        found = json.loads(done.stdout)
        if "errors" in found:
            raise BookError(f"Graphviz: {found['errors'][0]['message']}")
        kept = ("pos", "lp", "xlp", "name", "tail", "head", "_gvid", "bb")
        cache[key] = {
            part: [{name: one[name] for name in kept if name in one} for one in found.get(part, [])]
            for part in ("objects", "edges")
        }
        write_json(cache_file, cache)
    return dict(cache[key])


def read(
    found: dict[str, Any],
    shapes: dict[str, Shape],
    keys: dict[str, str],
    starts: Sequence[str],
    labels: dict[Pair, float],
    names: dict[str, float],
) -> Layout:
    """Graphviz's answer, with y downwards."""
    made = Layout(shapes)
    by_number = {one["_gvid"]: one["name"] for one in found["objects"]}
    for one in found["objects"]:
        if key := keys.get(one["name"]):
            shapes[key].x, shapes[key].y = point(one["pos"])
            if "xlp" in one:
                made.names[key] = Box(*point(one["xlp"]), names[key])
    for one in found["edges"]:
        tail, head = by_number[one["tail"]], keys[by_number[one["head"]]]
        if tail not in keys:
            made.arrivals[starts[int(tail.removeprefix("start"))]] = route(one["pos"])
            continue
        pair = keys[tail], head
        made.routes[pair] = route(one["pos"])
        if pair in labels:
            made.labels[pair] = Box(*point(one["lp"]), labels[pair])
    return made


def point(text: str) -> Point:
    x, y = text.split(",")
    return float(x), -float(y)


def route(text: str) -> Route:
    """`e,x,y x,y x,y …`: the arrow's tip, then the curve."""
    first, *rest = text.split()
    return Route([point(one) for one in rest], point(first.removeprefix("e,")))
