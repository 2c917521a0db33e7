"""Where the nodes of a graph are, how its edges run, and where their labels stand; the same every time.

Places are in units of a sheet (1/20 rem), y downwards. Nodes are placed first: in ranks from the start, on a circle, or
by forces. Then every edge takes, of a few curves, the one that touches the least of what is there, and every label the
place beside its edge with the most room.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from warpbook.blocks.charts.svg import spaced

Point = tuple[float, float]
Pair = tuple[str, str]
Curve = tuple[Point, Point, Point, Point]  # a cubic Bézier

GAP, BETWEEN = 46, 34  # between ranks, if there is room; between nodes of one rank
EDGE, BEYOND = 50, 12  # that a network's nodes leave to both sides; that its names may go beyond
ALONE = 5  # nodes in a row that are joined to nothing
ARRIVAL = 26  # of the arrow that says where it starts
SAMPLES = 25  # of a curve; odd, so that the top of a loop is not a corner that lies on another edge
HEAD = 9.0  # of an arrow
ROOM = 9.0  # that a curve should leave to other nodes
MOST_ROUTED = 80  # edges that are looked at one against the other
AROUND = ((1, 0), (-1, 0), (0, -1), (0, 1), (0.7, -0.7), (0.7, 0.7), (-0.7, -0.7), (-0.7, 0.7))
BOWS = (0, 16, -16, 30, -30, 48, -48, 72, -72, 100, -100)
BOWS_APART = (13, 20, 30, 44, 66)  # of an edge with another one back
LOOPS = (-90, 90, -45, -135, 45, 135, 0, 180)  # degrees, y downwards
ARRIVALS = (180, -135, 135, -90, 90, 0)  # of the arrow that says where it starts
ALONG = (0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73, 0.2, 0.8)


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
    height: float = 14.0

    def meets(self, other: Box) -> bool:
        return (
            abs(self.x - other.x) < (self.width + other.width) / 2 + 3
            and abs(self.y - other.y) < (self.height + other.height) / 2
        )

    def covers(self, shape: Shape, room: float = 2.0) -> bool:
        x = min(max(shape.x, self.x - self.width / 2), self.x + self.width / 2)
        y = min(max(shape.y, self.y - self.height / 2), self.y + self.height / 2)
        return shape.distance((x, y)) < room


@dataclass
class Layout:
    """A graph in the plane."""

    shapes: dict[str, Shape]
    routes: dict[Pair, Curve] = field(default_factory=dict)
    arrivals: dict[str, Curve] = field(default_factory=dict)
    labels: dict[Pair, Box] = field(default_factory=dict)  # of edges
    names: dict[str, Box] = field(default_factory=dict)  # of nodes, beside them

    def bounds(self) -> tuple[float, float, float, float]:
        boxes = [(box.x, box.y, box.width / 2, box.height / 2) for box in (*self.labels.values(), *self.names.values())]
        boxes += [(shape.x, shape.y, shape.wide, shape.radius) for shape in self.shapes.values()]
        boxes += [(x, y, 1, 1) for curve in (*self.routes.values(), *self.arrivals.values()) for x, y in sampled(curve)]
        return (
            min(x - w for x, _, w, _ in boxes),
            min(y - h for _, y, _, h in boxes),
            max(x + w for x, _, w, _ in boxes),
            max(y + h for _, y, _, h in boxes),
        )


# -- places of nodes ---------------------------------------------------------------------------------------------


def layered(
    shapes: dict[str, Shape], edges: Sequence[Pair], starts: Sequence[str], deep: bool, least: float, wide: float
) -> None:
    """Ranks from left to right: how few steps it takes from the start, or with `deep` how many without a way back.

    Between two ranks there is `least` at the least, and more if all of it is not wider than `wide` then.
    """
    starts = starts or [next(iter(shapes))]
    rank = longest(shapes, edges, starts) if deep else shortest(shapes, edges, starts)
    ranks: list[list[str]] = [[] for _ in range(max(rank.values()) + 1)]
    for key in sorted(shapes, key=lambda key: rank[key]):
        ranks[rank[key]].append(key)
    ranks = [keys for keys in ranks if keys]
    near: dict[str, list[str]] = {key: [] for key in shapes}
    for a, b in edges:
        if a != b:
            near[a].append(b)
            near[b].append(a)
    ordered(ranks, near, edges)
    halves = [max(shapes[key].wide for key in keys) for keys in ranks]
    fitting = (wide - ARRIVAL - 2 * sum(halves)) / max(1, len(ranks) - 1)
    gap = max(least, min(GAP, fitting))
    x = 0.0
    for i, keys in enumerate(ranks):
        x += halves[i] + (gap + halves[i - 1] if i else 0)
        for k, key in enumerate(keys):
            shapes[key].x = x
            shapes[key].y = (k - (len(keys) - 1) / 2) * (2 * shapes[key].radius + BETWEEN)
    for _ in range(30):
        for keys in ranks:
            settle(shapes, keys, near)


def shortest(shapes: dict[str, Shape], edges: Sequence[Pair], starts: Sequence[str]) -> dict[str, int]:
    rank = dict.fromkeys(starts, 0)
    queue = list(starts)
    for first in (None, *shapes):  # then what cannot be reached
        if first is not None and first not in rank:
            rank[first] = 0
            queue.append(first)
        while queue:
            key = queue.pop(0)
            for a, b in edges:
                if a == key and b not in rank:
                    rank[b] = rank[key] + 1
                    queue.append(b)
    return rank


def longest(shapes: dict[str, Shape], edges: Sequence[Pair], starts: Sequence[str]) -> dict[str, int]:
    """Ranks so that every edge goes forward but those that close a cycle."""
    done: list[str] = []
    state: dict[str, int] = {}
    back: set[Pair] = set()

    def visit(key: str) -> None:
        state[key] = 1
        for edge in edges:
            if edge[0] == key:
                if state.get(edge[1]) == 1:
                    back.add(edge)
                elif edge[1] not in state:
                    visit(edge[1])
        state[key] = 2
        done.append(key)

    for key in (*starts, *shapes):
        if key not in state:
            visit(key)
    rank = dict.fromkeys(shapes, 0)
    for key in reversed(done):
        for a, b in edges:
            if a == key and (a, b) not in back:
                rank[b] = max(rank[b], rank[a] + 1)
    return rank


def ordered(ranks: list[list[str]], near: dict[str, list[str]], edges: Sequence[Pair]) -> None:
    """Each rank in the order of the middles of what its nodes are joined to, as long as fewer edges cross."""
    best, fewest = [list(keys) for keys in ranks], crossings(ranks, edges)
    for sweep in range(12):
        steps = range(1, len(ranks)) if sweep % 2 == 0 else range(len(ranks) - 2, -1, -1)
        for i in steps:
            beside = {key: k for j in (i - 1, i + 1) if 0 <= j < len(ranks) for k, key in enumerate(ranks[j])}
            middle = {}
            for k, key in enumerate(ranks[i]):
                places = [beside[other] for other in near[key] if other in beside]
                middle[key] = sum(places) / len(places) if places else float(k)
            ranks[i].sort(key=lambda key: middle[key])
        found = crossings(ranks, edges)
        if found < fewest:
            best, fewest = [list(keys) for keys in ranks], found
    ranks[:] = best


def crossings(ranks: list[list[str]], edges: Sequence[Pair]) -> int:
    place = {key: (i, k - (len(keys) - 1) / 2) for i, keys in enumerate(ranks) for k, key in enumerate(keys)}
    lines = [sorted((place[a], place[b])) for a, b in edges if a != b]
    return sum(
        a[0][0] == b[0][0] and a[1][0] == b[1][0] and (a[0][1] - b[0][1]) * (a[1][1] - b[1][1]) < 0
        for i, a in enumerate(lines)
        for b in lines[:i]
    )


def settle(shapes: dict[str, Shape], keys: list[str], near: dict[str, list[str]]) -> None:
    """Move the nodes of a rank towards the middle of what they are joined to, in their order and apart."""
    least = max(2 * shapes[key].radius for key in keys) + BETWEEN
    wanted: list[float] = []
    for key in keys:
        others = [shapes[other].y for other in near[key] if other not in keys]
        to = sum(others) / len(others) if others else shapes[key].y
        wanted.append(max([0.5 * (to + shapes[key].y), *wanted[-1:]]))
    middle = sum(wanted) / len(wanted)
    placed = spaced(wanted, least, -math.inf, math.inf)
    shift = middle - sum(placed) / len(placed)
    for key, y in zip(keys, placed, strict=True):
        shapes[key].y = y + shift


def circle(shapes: dict[str, Shape]) -> None:
    """In the order recorded, clockwise from the left."""
    n = len(shapes)
    apart = 2 * max(shape.wide for shape in shapes.values()) + GAP
    radius = apart / (2 * math.sin(math.pi / n)) if n > 1 else 0.0
    for i, shape in enumerate(shapes.values()):
        angle = math.pi + 2 * math.pi * i / n
        shape.x, shape.y = radius * math.cos(angle), radius * math.sin(angle)


def force(shapes: dict[str, Shape], edges: Sequence[Pair], wide: float, high: float) -> None:
    """Joined nodes attract and all repel one another (Fruchterman and Reingold), from a spiral on.

    What is joined to many is attracted less by each, so that the much cited do not all lie on one heap. Nodes that
    are joined to nothing stand below, in a row.
    """
    ends = {end for edge in edges if edge[0] != edge[1] for end in edge}
    keys, alone = ([key for key in shapes if (key in ends) is known] for known in (True, False))
    if not keys:
        circle(shapes)
        return
    n = len(keys)
    places = [[math.sqrt((i + 0.5) / n) * turn(2.39996 * i) for turn in (math.cos, math.sin)] for i in range(n)]
    index = {key: i for i, key in enumerate(keys)}
    joined = sorted({(min(index[a], index[b]), max(index[a], index[b])) for a, b in edges if a != b})
    degree = [sum(i in pair for pair in joined) for i in range(n)]
    ideal, steps = 1.3 / math.sqrt(n), 200
    for step in range(steps):
        moves = [[-0.5 * ideal * x, -0.5 * ideal * y] for x, y in places]  # parts do not drift away
        for i, (x, y) in enumerate(places):
            move = moves[i]
            for j in range(i):
                dx, dy = x - places[j][0], y - places[j][1]
                push = ideal * ideal / (dx * dx + dy * dy + 1e-9)
                move[0] += dx * push
                move[1] += dy * push
                moves[j][0] -= dx * push
                moves[j][1] -= dy * push
        for i, j in joined:
            dx, dy = places[i][0] - places[j][0], places[i][1] - places[j][1]
            pull = 2 * math.hypot(dx, dy) / ideal / math.sqrt(max(degree[i], degree[j]))
            for k, sign in ((i, -1), (j, 1)):
                moves[k][0] += sign * dx * pull
                moves[k][1] += sign * dy * pull
        heat = 0.12 * (1 - step / steps)
        for place, (dx, dy) in zip(places, moves, strict=True):
            length = math.hypot(dx, dy) or 1.0
            place[0] += dx / length * min(length, heat)
            place[1] += dy / length * min(length, heat)
    low = [min(place[axis] for place in places) for axis in (0, 1)]
    span = [max(place[axis] for place in places) - low[axis] or 1.0 for axis in (0, 1)]
    for key, (x, y) in zip(keys, places, strict=True):
        shapes[key].x = EDGE + (x - low[0]) / span[0] * (wide - 2 * EDGE)
        shapes[key].y = (y - low[1]) / span[1] * high
    for _ in range(40):
        part_ways([shapes[key] for key in keys])
    for key in keys:
        shapes[key].x = min(max(shapes[key].x, EDGE / 2), wide - EDGE / 2)
    below = max(shapes[key].y for key in keys)
    for i, key in enumerate(alone):
        row, column = divmod(i, ALONE)
        shapes[key].x, shapes[key].y = (column + 0.5) / ALONE * wide, below + (row + 1) * 2 * BETWEEN


def part_ways(shapes: list[Shape]) -> None:
    """Push nodes that touch a little apart."""
    for i, a in enumerate(shapes):
        for b in shapes[:i]:
            dx, dy = a.x - b.x, a.y - b.y
            distance = math.hypot(dx, dy) or 1.0
            if (missing := a.radius + b.radius + 8 - distance) > 0:
                for shape, sign in ((a, 0.5), (b, -0.5)):
                    shape.x += sign * missing * dx / distance
                    shape.y += sign * missing * dy / distance


# -- ways of edges -----------------------------------------------------------------------------------------------


def at(curve: Curve, t: float) -> Point:
    s = 1 - t
    a, b, c, d = s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t
    p, q, r, e = curve
    return a * p[0] + b * q[0] + c * r[0] + d * e[0], a * p[1] + b * q[1] + c * r[1] + d * e[1]


def sampled(curve: Curve, n: int = SAMPLES) -> list[Point]:
    return [at(curve, i / n) for i in range(n + 1)]


def part(curve: Curve, start: float, stop: float) -> Curve:
    """The curve between two of its parameters, as a curve."""

    def first(curve: Curve, t: float) -> Curve:
        mix: Callable[[Point, Point], Point] = lambda a, b: (a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t)  # noqa: E731
        p, q, r, e = curve
        pq, qr, re = mix(p, q), mix(q, r), mix(r, e)
        pqr, qre = mix(pq, qr), mix(qr, re)
        return p, pq, pqr, mix(pqr, qre)

    made = first(curve, stop)
    return first(made[::-1], 1 - start / stop)[::-1]  # type: ignore[return-value]


def trimmed(curve: Curve, start: Shape, end: Shape) -> tuple[Curve, Point]:
    """What of a curve from middle to middle is drawn, up to its arrow's head; and the head's tip."""
    n = 400
    outside = [i / n for i in range(n + 1) if start.distance(at(curve, i / n)) >= 0]
    first = outside[0] if outside else 0.3
    tip = next((i / n for i in range(n, 0, -1) if end.distance(at(curve, i / n)) >= 1), 0.7)
    base = next((i / n for i in range(round(tip * n), 0, -1) if end.distance(at(curve, i / n)) >= HEAD), tip)
    return part(curve, min(first, base - 0.01), base), at(curve, tip)


def bowed(a: Shape, b: Shape, bow: float) -> Curve:
    """From middle to middle; it leaves the straight line by `bow`, to its left."""
    dx, dy = b.x - a.x, b.y - a.y
    length = math.hypot(dx, dy) or 1.0
    nx, ny = dy / length * bow / 0.75, -dx / length * bow / 0.75
    return (
        (a.x, a.y),
        (a.x + 0.25 * dx + nx, a.y + 0.25 * dy + ny),
        (a.x + 0.75 * dx + nx, a.y + 0.75 * dy + ny),
        (b.x, b.y),
    )


def loop(shape: Shape, degrees: float) -> Curve:
    made = [(shape.x, shape.y)]
    reach = 2.2 * shape.radius + 26
    for turn in (-27, 27):
        angle = math.radians(degrees + turn)
        made.append((shape.x + reach * math.cos(angle), shape.y + reach * math.sin(angle)))
    return made[0], made[1], made[2], made[0]


def arrival(shape: Shape, degrees: float) -> Curve:
    angle = math.radians(degrees)
    reach = shape.wide + ARRIVAL if abs(math.cos(angle)) > 0.5 else shape.radius + ARRIVAL
    start = (shape.x + reach * math.cos(angle), shape.y + reach * math.sin(angle))
    middle = (shape.x, shape.y)
    return start, mixed(start, middle, 1 / 3), mixed(start, middle, 2 / 3), middle


def mixed(a: Point, b: Point, t: float) -> Point:
    return a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t


def route(layout: Layout, edges: Sequence[Pair], starts: Iterable[str], most: float = math.inf) -> None:
    """Every edge takes the curve that touches least, short ones first; then each once more, knowing all others.

    `most`: how far it may leave the straight line.
    """
    shapes = layout.shapes
    back = set(edges)
    drawn: dict[object, list[Point]] = {}

    def length(edge: Pair) -> float:
        a, b = shapes[edge[0]], shapes[edge[1]]
        return math.hypot(a.x - b.x, a.y - b.y)

    wanted: list[tuple[object, tuple[str, ...], list[tuple[Curve, float]]]] = []
    order = sorted((edge for edge in edges if edge[0] != edge[1]), key=lambda edge: (length(edge), edge))
    for edge in order:
        bows = BOWS_APART if edge[::-1] in back else BOWS
        ways = [(bowed(shapes[edge[0]], shapes[edge[1]], bow), 0.6 * abs(bow)) for bow in bows if abs(bow) <= most]
        wanted.append((edge, edge, ways))
    for key in starts:
        wanted.append((key, (key,), [(arrival(shapes[key], angle), 8.0 * i) for i, angle in enumerate(ARRIVALS)]))
    for edge in edges:
        if edge[0] == edge[1]:
            ways = [(loop(shapes[edge[0]], angle), 4.0 * i) for i, angle in enumerate(LOOPS)]
            wanted.append((edge, (edge[0],), ways))
    chosen: dict[object, Curve] = {}
    many = len(wanted) > MOST_ROUTED
    for _ in range(1 if many else 3):
        for what, ends, ways in wanted:
            others = [] if many else [points for other, points in drawn.items() if other != what]
            best = math.inf
            for curve, least in ways:
                if least < best and (cost := least + trouble(curve, ends, shapes, others, best - least)) < best:
                    best, chosen[what] = cost, curve
            drawn[what] = outside(chosen[what], [shapes[end] for end in ends])
    layout.routes = {edge: chosen[edge] for edge in edges}
    layout.arrivals = {key: chosen[key] for key in starts}


def outside(curve: Curve, ends: list[Shape]) -> list[Point]:
    return [point for point in sampled(curve) if all(end.distance(point) > -1 for end in ends)]


def trouble(
    curve: Curve, ends: tuple[str, ...], shapes: dict[str, Shape], others: list[list[Point]], most: float
) -> float:
    """How much a curve touches: other nodes, and other edges; from `most` on it does not matter how much."""
    points = outside(curve, [shapes[end] for end in ends])
    if not points:
        return 0.0
    (left, right), (top, bottom) = ((min(p[axis] for p in points), max(p[axis] for p in points)) for axis in (0, 1))
    cost = 0.0
    for key, shape in shapes.items():
        wide, high = shape.wide + ROOM, shape.radius + ROOM
        if left - wide < shape.x < right + wide and top - high < shape.y < bottom + high and key not in ends:
            near = min(shape.distance(point) for point in points)
            cost += 6 * max(0.0, ROOM - near) ** 2 + (200 if near < 2 else 0)
    for other in others:
        if cost >= most:
            break
        cost += 45 * meetings(points, other)
    return cost


def meetings(one: list[Point], two: list[Point]) -> int:
    """How often two polylines cross."""
    if not one or not two:
        return 0
    for axis in (0, 1):
        low, high = (([p[axis] for p in points]) for points in (one, two))
        if max(low) < min(high) or max(high) < min(low):
            return 0
    return sum(cross(a, b, c, d) for a, b in pairwise(one) for c, d in pairwise(two))


def cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    def side(p: Point, q: Point, r: Point) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0


# -- places of labels --------------------------------------------------------------------------------------------


class Ink:
    """The points of all edges, by the square that they are in."""

    SIDE = 16

    def __init__(self, curves: Iterable[Curve]) -> None:
        self.squares: dict[tuple[int, int], list[Point]] = {}
        for curve in curves:
            for x, y in sampled(curve, 40):
                self.squares.setdefault((int(x // self.SIDE), int(y // self.SIDE)), []).append((x, y))

    def under(self, box: Box, room: float = 1.0) -> int:
        wide, high = box.width / 2 + room, box.height / 2 + room
        columns = range(int((box.x - wide) // self.SIDE), int((box.x + wide) // self.SIDE) + 1)
        rows = range(int((box.y - high) // self.SIDE), int((box.y + high) // self.SIDE) + 1)
        near = (point for column in columns for row in rows for point in self.squares.get((column, row), ()))
        return sum(abs(x - box.x) <= wide and abs(y - box.y) <= high for x, y in near)


def label(layout: Layout, widths: dict[Pair, float]) -> None:
    """Labels of edges, the widest first, beside their edge where there is room."""
    ink = Ink((*layout.routes.values(), *layout.arrivals.values()))
    for edge in sorted(widths, key=lambda edge: (-widths[edge], edge)):
        curve = layout.routes[edge]
        ways: list[tuple[float, int, Box]] = []
        for t in ALONG:
            x, y = at(curve, t)
            (x0, y0), (x1, y1) = at(curve, t - 0.02), at(curve, t + 0.02)
            length = math.hypot(x1 - x0, y1 - y0) or 1.0
            for sign in (1, -1):  # to its left, where one with another back is bowed to, and to its right
                nx, ny = sign * (y1 - y0) / length, -sign * (x1 - x0) / length
                for far in (3, 8):
                    reach = widths[edge] / 2 * abs(nx) + 7 * abs(ny) + far
                    box = Box(x + nx * reach, y + ny * reach, widths[edge])
                    cost = crowded(layout, box, ink) + 30 * abs(t - 0.5) + far + (2 if ny > 0 else 0)
                    cost += 9 if sign < 0 and edge[::-1] in layout.routes else 0
                    ways.append((cost, len(ways), box))
        layout.labels[edge] = min(ways, key=lambda way: way[:2])[2]


def crowded(layout: Layout, box: Box, ink: Ink) -> float:
    cost = 300.0 * sum(box.meets(other) for other in (*layout.labels.values(), *layout.names.values()))
    cost += 200.0 * sum(box.covers(shape) for shape in layout.shapes.values())
    return cost + 12.0 * ink.under(box)


def name(layout: Layout, widths: dict[str, float], wide: float) -> None:
    """Names beside nodes, in the order given; one that has no room is left out."""
    ink = Ink(layout.routes.values())
    for key, long in widths.items():
        shape = layout.shapes[key]
        ways: list[tuple[float, int, Box]] = []
        for i, (x, y) in enumerate(AROUND):
            box = Box(
                shape.x + x * (shape.radius + 3) + (long / 2 if x > 0 else -long / 2 if x < 0 else 0),
                shape.y + y * (shape.radius + 9),
                long,
            )
            beyond = max(0.0, long / 2 - box.x, box.x + long / 2 - wide)
            hidden = any(box.covers(other, 0) for other in layout.shapes.values())
            if beyond <= BEYOND and not hidden and not any(map(box.meets, layout.names.values())):
                ways.append((crowded(layout, box, ink) + beyond + i, i, box))
        if ways:
            layout.names[key] = min(ways, key=lambda way: way[:2])[2]
