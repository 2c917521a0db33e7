"""A recorded graph, drawn at build: an automaton's states and transitions, or who is joined to whom.

An accepting state has two rings, an arrow from nowhere says where it starts, and edges with the same ends are one, with
all their labels. What has weights, or neither labels nor kinds, is a network: nodes as large as they weigh, their names
beside them, and a ring around those marked "accept".
"""

from __future__ import annotations

import html
import math
from dataclasses import replace
from functools import lru_cache

from warpbook.blocks.charts import layout
from warpbook.blocks.charts.layout import Layout, Pair, Point, Route, Shape
from warpbook.blocks.charts.source import Graph, Source
from warpbook.blocks.charts.svg import figure, in_table, sheet, table, units
from warpbook.book import BookError

WORDS = {
    "en": {
        "title": "{name}, {origin}",
        "given": "{title}; {origin}",
        "states": "{0} states",
        "nodes": "{nodes} nodes, {edges} edges",
        "starts": "start: {0}",
        "accepts": "accepting: {0}",
        "heaviest": "heaviest: {0}",
        "start": "start",
        "accept": "accepting",
        "state": "State",
        "from": "From",
        "to": "To",
        "label": "Label",
        "weight": "Weight",
        "stop": ". ",
        "and": ", ",
        "aside": "{0} ({1})",
    },
    "zh": {
        "title": "{name}，{origin}",
        "given": "{title}；{origin}",
        "states": "{0} 个状态",
        "nodes": "{nodes} 个节点，{edges} 条边",
        "starts": "起始状态：{0}",
        "accepts": "接受状态：{0}",
        "heaviest": "权重最大：{0}",
        "start": "起始",
        "accept": "接受",
        "state": "状态",
        "from": "起点",
        "to": "终点",
        "label": "标记",
        "weight": "权重",
        "stop": "。",
        "and": "，",
        "aside": "{0}（{1}）",
    },
}
LAYOUTS = ("layered", "circle", "force")
SMALLEST, ROUND = 17.0, 24.0  # units: of a state's radius; its name is wider than that, it is drawn out to the sides
LEAST_DOT, MOST_DOT, DOTS = 4.0, 16.0, 52.0  # of a network's node: at least, at most, and of many together
APART = 96.0  # of a network's nodes that are joined
RING = 3.5  # units around a node of a network that is marked
MOST_LETTERS = 26  # of a name beside a node
MOST_COLUMNS = 16  # of a transition table
MARGIN = 4
EMPTY = "ε"  # the label of an automaton's move that reads nothing


def graph(source: Source) -> str:
    if len(source.names) > 1:
        raise BookError("a graph chart shows one name")
    found, origin = source.graph(source.names[0])
    if is_automaton(found) and any(edge.label for edge in found.edges):
        found = replace(found, edges=tuple(replace(edge, label=edge.label or EMPTY) for edge in found.edges))
    words = WORDS[source.language]
    title = words["given" if "title" in source.options else "title"].format(
        title=source.options.get("title", ""), name=found.name, origin=origin
    )
    names = names_of(source, found)
    kind = source.options.get("layout") or default_layout(found)
    if kind not in LAYOUTS:
        raise BookError(f"layout={kind} is none of {', '.join(LAYOUTS)}")
    placed = place(found, tuple(names.items()), kind)
    left, top, right, bottom = placed.bounds()
    shift = f'transform="translate({MARGIN - left:.1f} {MARGIN - top:.1f})"'
    spoken = words["stop"].join([title, *said(found, names, words)])
    drawn = f"<g {shift}>{picture(found, names, placed, words)}</g>"
    drawing = sheet(right - left + 2 * MARGIN, bottom - top + 2 * MARGIN, drawn, spoken)
    return figure(drawing, title, numbers(found, names, words), source.language)


# -- what is shown -----------------------------------------------------------------------------------------------


def names_of(source: Source, found: Graph) -> dict[str, str]:
    """What each node is called on this page."""
    names = {node.id: node.label for node in found.nodes}
    for part in filter(None, source.options.get("labels", "").split("|")):
        key, _, text = part.strip().partition("=")
        if key not in names:
            raise BookError(f'no node "{key}"; there are: {", ".join(names)}')
        names[key] = text or names[key]
    return names


def is_automaton(found: Graph) -> bool:
    if found.nodes[0].weight is not None:
        return False
    return any(node.kinds for node in found.nodes) or any(edge.label for edge in found.edges)


def default_layout(found: Graph) -> str:
    if any("start" in node.kinds for node in found.nodes):
        return "layered"
    return "circle" if is_automaton(found) else "force"


def merged(found: Graph) -> dict[Pair, list[str]]:
    """The labels of all edges with the same ends."""
    out: dict[Pair, list[str]] = {}
    for edge in found.edges:
        labels = out.setdefault((edge.start, edge.end), [])
        if edge.label and edge.label not in labels:
            labels.append(edge.label)
    return out


def shortened(labels: list[str]) -> str:
    """0,1 and a–z: of three or more characters in a row, the first and the last."""
    out: list[str] = []
    i = 0
    while i < len(labels):
        k = i
        while (
            k + 1 < len(labels)
            and len(labels[k]) == len(labels[k + 1]) == 1
            and ord(labels[k + 1]) == ord(labels[k]) + 1
        ):
            k += 1
        out += [f"{labels[i]}–{labels[k]}"] if k - i >= 2 else labels[i : k + 1]
        i = k + 1
    return ",".join(out)


@lru_cache(maxsize=256)
def place(found: Graph, names: tuple[tuple[str, str], ...], kind: str) -> Layout:
    """Nodes, edges and labels in the plane."""
    if is_automaton(found):
        return automaton(found, dict(names), kind)
    return network(found, dict(names), kind)


def automaton(found: Graph, names: dict[str, str], kind: str) -> Layout:
    """States with their names within, and edges with theirs beside them."""
    shapes = {}
    for node in found.nodes:
        needed = 0.58 * units(names[node.id]) + (9 if "accept" in node.kinds else 5)  # bold
        shapes[node.id] = Shape(max(SMALLEST, min(ROUND, needed)), max(0.0, needed - ROUND))
    radius = max(shape.radius for shape in shapes.values())
    for shape in shapes.values():  # of one size, as far as that goes
        shape.radius = radius
    edges = merged(found)
    widths = {edge: units(shortened(labels)) + 2 for edge, labels in edges.items() if labels}
    options = {"rankdir": "LR", "nodesep": "0.35", "ranksep": "0.45", "mindist": "1.1"}
    return layout.place(kind, shapes, list(edges), starts_of(found), widths, {}, options)


def network(found: Graph, names: dict[str, str], kind: str) -> Layout:
    """Nodes as large as they weigh, with their names beside them; the heaviest have their names first."""
    heaviest = max((node.weight or 0.0 for node in found.nodes), default=0.0)
    most = max(LEAST_DOT, min(MOST_DOT, DOTS / math.sqrt(len(found.nodes))))
    shapes = {}
    for node in found.nodes:
        share = (node.weight or 0.0) / heaviest if heaviest else 0.2
        ring = RING if "accept" in node.kinds else 0.0
        shapes[node.id] = Shape(max(LEAST_DOT, most * math.sqrt(share)) + ring)
    beside = {node.id: units(cut(names[node.id])) for node in found.nodes}
    options = {"overlap": "prism", "splines": "true", "sep": "+8"}
    return layout.place(kind, shapes, list(merged(found)), starts_of(found), {}, beside, options, APART)


def starts_of(found: Graph) -> list[str]:
    return [node.id for node in found.nodes if "start" in node.kinds]


def cut(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


# -- the drawing -------------------------------------------------------------------------------------------------


def picture(found: Graph, names: dict[str, str], placed: Layout, words: dict[str, str]) -> str:
    is_machine = is_automaton(found)
    out = []
    for (a, b), labels in merged(found).items():
        title = f"{names[a]} → {names[b]}" + (f": {', '.join(labels)}" if labels else "")
        style = "wb-edge" if is_machine else "wb-edge wb-edge--thin"
        out.append(
            f'<g class="{style}"><title>{html.escape(title)}</title>{arrow(placed.routes[a, b], is_machine)}</g>'
        )
    out += [f'<g class="wb-edge">{arrow(route)}</g>' for route in placed.arrivals.values()]
    for node in found.nodes:
        shape = placed.shapes[node.id]
        kinds = [words[kind] for kind in ("start", "accept") if kind in node.kinds and is_machine]
        about = [*kinds, *([in_table(node.weight, "1")] if node.weight is not None else [])]
        title = names[node.id] + (f": {', '.join(about)}" if about else "")
        drawn = outline(shape, 0.0)
        if "accept" in node.kinds:
            drawn += outline(shape, 4.0 if is_machine else RING)
        if is_machine:
            drawn += text(shape.x, shape.y, names[node.id], "wb-node__name")
        style = "wb-node" if is_machine else "wb-node wb-node--dot"
        out.append(f'<g class="{style}"><title>{html.escape(title)}</title>{drawn}</g>')
    for edge, box in placed.labels.items():
        out.append(text(box.x, box.y, shortened(merged(found)[edge]), "wb-edge__label"))
    for key, box in placed.names.items():
        out.append(text(box.x, box.y, cut(names[key]), "wb-edge__label"))
    return "".join(out)


def arrow(route: Route, large: bool = True) -> str:
    (x0, y0), *rest = route.curve
    path = " ".join(f"{x:.1f} {y:.1f}" for x, y in rest)
    half = 3.6 if large else 2.6
    return (
        f'<path d="M{x0:.1f} {y0:.1f}C{path}"/>'
        f'<path class="wb-edge__head" d="{head(route.curve[-1], route.tip, half)}"/>'
    )


def head(base: Point, tip: Point, half: float) -> str:
    dx, dy = tip[0] - base[0], tip[1] - base[1]
    length = math.hypot(dx, dy) or 1.0
    nx, ny = -dy / length * half, dx / length * half
    return f"M{tip[0]:.1f} {tip[1]:.1f}L{base[0] + nx:.1f} {base[1] + ny:.1f}L{base[0] - nx:.1f} {base[1] - ny:.1f}z"


def outline(shape: Shape, inside: float) -> str:
    r = shape.radius - inside
    if not shape.half:
        return f'<circle cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{r:.1f}"/>'
    return (
        f'<rect x="{shape.x - shape.half - r:.1f}" y="{shape.y - r:.1f}" width="{2 * (shape.half + r):.1f}" '
        f'height="{2 * r:.1f}" rx="{r:.1f}"/>'
    )


def text(x: float, y: float, said: str, style: str) -> str:
    return f'<text class="{style}" x="{x:.1f}" y="{y + 4.4:.1f}" text-anchor="middle">{html.escape(said)}</text>'


# -- for those who do not see it ---------------------------------------------------------------------------------


def said(found: Graph, names: dict[str, str], words: dict[str, str]) -> list[str]:
    join = words["and"].join
    if not is_automaton(found):
        out = [words["nodes"].format(nodes=len(found.nodes), edges=len(found.edges))]
        heavy = sorted((node for node in found.nodes if node.weight), key=lambda node: -(node.weight or 0.0))[:5]
        return out + ([words["heaviest"].format(join(names[node.id] for node in heavy))] if heavy else [])
    out = [words["states"].format(len(found.nodes))]
    for kind in ("start", "accept"):
        some = [names[node.id] for node in found.nodes if kind in node.kinds]
        out += [words[f"{kind}s"].format(join(some))] if some else []
    return out


def numbers(found: Graph, names: dict[str, str], words: dict[str, str]) -> str:
    """A transition table: a row a state, a column a label; of a network, a row a node and what it leads to."""
    alphabet = list(dict.fromkeys(edge.label for edge in found.edges))
    join = words["and"].join
    if is_automaton(found) and len(alphabet) <= MOST_COLUMNS:
        rows = []
        for node in found.nodes:
            kinds = join(words[kind] for kind in ("start", "accept") if kind in node.kinds)
            to = [join(names[e.end] for e in found.edges if (e.start, e.label) == (node.id, x)) for x in alphabet]
            name = words["aside"].format(names[node.id], kinds) if kinds else names[node.id]
            rows.append([name, *(cell or "–" for cell in to)])
        return table([words["state"], *alphabet], rows)
    if is_automaton(found):
        listed = [[names[a], names[b], ", ".join(labels)] for (a, b), labels in merged(found).items()]
        return table([words["from"], words["to"], words["label"]], listed)
    weighed = found.nodes[0].weight is not None
    rows = [
        [
            names[node.id],
            *([in_table(node.weight or 0.0, "1")] if weighed else []),
            join(names[b] for a, b in merged(found) if a == node.id) or "–",
        ]
        for node in found.nodes
    ]
    return table([words["from"], *([words["weight"]] if weighed else []), words["to"]], rows)
