"""Heat maps and graphs: what a program computed, drawn from any device's record."""

from __future__ import annotations

import itertools
import math
import re
from xml.etree import ElementTree

import pytest
import recorded

from warpbook.blocks.charts import draw, layout
from warpbook.blocks.charts.graph import place, shortened
from warpbook.blocks.charts.layout import Box, Shape
from warpbook.blocks.charts.source import Edge, Graph, Node
from warpbook.book import BookError
from warpbook.records.values import Values

WORDS = ["the", "cat", "sat"]
MATRICES = {
    "weights": {"numbers": ["0.5 0.25 0.25", "0.1 0.8 0.1", "0 0.4 0.6"], "unit": "1", "rows": WORDS, "columns": WORDS},
    "signed": {"numbers": ["-2 1", "0 4"], "unit": "1"},
    "wide": {"numbers": [" ".join(str(i * k + 1) for k in range(64)) for i in range(64)], "unit": "s"},
    "rule110": {"bits": ["0001", "0011", "0111", "1101"], "unit": "1"},
    "mask": {"bits": ["100", "110", "111"], "unit": "1", "rows": WORDS, "columns": WORDS},
}
GRAPHS = {
    "has01": {
        "nodes": [["A", "A", "start"], ["B", "B"], ["C", "C", "accept"]],
        "edges": [["A", "A", "1"], ["A", "B", "0"], ["B", "B", "0"], ["B", "C", "1"], ["C", "C", "0"], ["C", "C", "1"]],
    },
    "parity": {
        "nodes": [["0", "even", "start", "accept"], ["1", "odd"]],
        "edges": [["0", "1", "1"], ["1", "0", "1"], ["0", "0", "0"], ["1", "1", "0"]],
    },
    "cites": {
        "nodes": [["a", "Vaswani 2017", "accept"], ["b", "Hu 2018"], ["c", "Yang 2021"]],
        "edges": [["b", "a", ""], ["c", "a", ""], ["c", "b", ""]],
        "weights": [0.6, 0.3, 0.1],
    },
}


def keep(book, device: str, name: str, matrices=None, graphs=None) -> None:
    part = {"matrices": matrices or {}, "graphs": graphs or {}}
    recorded.keep(book, device, "x", {"x/dfa.py": part}, machine={"name": name})


@pytest.fixture
def values(small):
    keep(small, "nvidia-h200", "NVIDIA H200", MATRICES, GRAPHS)
    keep(small, "softcuda", "softcuda", MATRICES, GRAPHS)
    return Values(small)


def texts(made: str) -> list[str]:
    return [re.sub(r"<[^>]+>", "", text).replace("\u00a0", " ") for text in re.findall(r"<text.*?</text>", made)]


def rows(made: str) -> list[list[str]]:
    return [
        [re.sub(r"<[^>]+>", "", cell).replace("\u00a0", " ") for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall(r"<tr>.*?</tr>", made)
    ]


# -- heat maps ---------------------------------------------------------------------------------------------------


def cells(made: str) -> dict[tuple[int, int], tuple[str, float]]:
    """{(row, column): (class, opacity)} of the paths of a heat map's grid."""
    found = {}
    grid = re.search(r'<g class="wb-cells"[^>]*>(.*?)</g>', made)[1]
    for kind, share, path in re.findall(r'<path class="([^"]+)" fill-opacity="([^"]+)" d="([^"]+)"', grid):
        for x, y, run in re.findall(r"M(\d+) (\d+)h(\d+)", path):
            found |= {(int(y), int(x) + i): (kind, float(share)) for i in range(int(run))}
    return found


def test_a_heat_map_is_a_cell_a_number(values):
    made = draw("heatmap weights rowlabel=query columnlabel=key labels=weight", "x", "en", values)
    shares = [share for _, (_, share) in sorted(cells(made).items())]
    assert shares == pytest.approx([n / 0.8 for n in (0.5, 0.25, 0.25, 0.1, 0.8, 0.1, 0, 0.4, 0.6)], abs=1 / 48)
    assert {"the", "cat", "sat", "query ↓", "key →", "weight", "0", "0.4"} <= set(texts(made))
    assert rows(made)[:2] == [["query", "the", "cat", "sat"], ["the", "0.500", "0.250", "0.250"]]
    assert "3 rows, 3 columns. from 0 (sat, the) to 0.800 (cat, cat). the: largest at the, 0.500" in made


def test_cells_of_one_colour_are_one_path(values):
    made = draw("heatmap weights", "x", "en", values)
    assert len(set(cells(made).values())) == len(re.findall("<path", made)) == 7  # of nine cells


def test_signs_have_a_colour_each(values):
    made = draw("heatmap signed", "x", "en", values)
    assert cells(made) == {(0, 0): ("wb-heat--minus", 0.5), (0, 1): ("wb-heat--plus", 0.25),
                           (1, 0): ("wb-heat--plus", 0.0), (1, 1): ("wb-heat--plus", 1.0)}  # fmt: skip
    assert {"−4", "0", "4"} <= set(texts(made))


def test_rows_and_columns_speak_the_page_s_language_and_are_chosen(values):
    made = draw('heatmap weights title=权重 rows="cat=猫|sat=坐" columns="cat=猫"', "x", "zh", values)
    assert rows(made) == [["行", "猫"], ["猫", "0.800"], ["坐", "0.400"]]
    assert "权重；由 x/dfa.py 算出。2 行，1 列" in made
    assert [row[0] for row in rows(draw("heatmap wide rows=2-3", "x", "en", values))] == ["Row", "2", "3"]


def test_of_many_numbers_each_row_is_told(values):
    made = draw("heatmap wide scale=log", "x", "en", values)
    assert len(re.findall("<title>", made)) == 64
    assert len(made) < 200_000
    assert rows(made)[2] == ["1", "1.00 s", "0", "64.0 s", "63", "32.5 s"]


def test_zeros_and_ones_are_one_path_that_fits_any_page(values):
    made = draw('heatmap rule110 rowlabel=step columnlabel=cell labels="1=alive|0=dead"', "x", "en", values)
    assert re.findall(r'viewBox="0 0 4 4".*?d="([^"]+)"', made) == ["M3 0.5h1M2 1.5h2M1 2.5h3M0 3.5h2m1 0h1"]
    assert not texts(made)
    assert "9 of 16 cells are alive (56.2\u00a0%)" in made
    assert rows(made)[-1] == ["3", "3", "0–1, 3"]  # runs of ones
    named = draw("heatmap mask", "x", "en", values)
    assert texts(named) == [*WORDS, *WORDS]
    assert named.count("<path") == 1


# -- where they come from ----------------------------------------------------------------------------------------


def test_what_every_device_computes_alike_names_none(small, values):
    assert "weights, computed by x/dfa.py</figcaption>" in draw("heatmap weights", "x", "en", values)
    keep(small, "softcuda", "softcuda", {"weights": MATRICES["weights"] | {"numbers": ["1 0 0"] * 3}})
    made = draw("heatmap weights", "x", "en", Values(small))
    assert "weights, computed by x/dfa.py on NVIDIA H200 · <time>2026-01-02</time></figcaption>" in made
    near = MATRICES["weights"] | {"numbers": ["0.5001 0.25 0.25", "0.1 0.8 0.1", "0 0.4 0.6"]}
    keep(small, "softcuda", "softcuda", {"weights": near})
    assert "computed by x/dfa.py</figcaption>" in draw("heatmap weights", "x", "en", Values(small))


def test_no_gpu_is_needed(small):
    keep(small, "softcuda", "softcuda", MATRICES, GRAPHS)
    assert "has01, computed by x/dfa.py</figcaption>" in draw("graph has01", "x", "en", Values(small))


# -- graphs ------------------------------------------------------------------------------------------------------


def test_an_automaton_has_rings_an_arrow_in_and_merged_labels(values):
    made = draw('graph has01 title="Contains 01" labels="A=none yet"', "x", "en", values)
    assert {"none yet", "B", "C", "0", "1", "0,1"} == set(texts(made))
    assert made.count("<circle") + made.count("<rect") == 4  # three states, and the ring of the accepting one
    assert made.count("wb-edge__head") == 5 + 1  # the edges with different ends, and the start
    assert rows(made) == [
        ["State", "1", "0"], ["none yet (start)", "none yet", "B"], ["B", "C", "B"], ["C (accepting)", "C", "C"]
    ]  # fmt: skip
    assert "Contains 01; computed by x/dfa.py. 3 states. start: none yet. accepting: C" in made


def test_a_network_s_nodes_are_as_large_as_they_weigh(values):
    made = draw("graph cites", "x", "zh", values)
    radii = [float(r) for r in re.findall(r'<circle [^>]*r="([^"]+)"', made)]
    assert radii == sorted(radii, reverse=True) and len(set(radii)) == 4  # of them one is a ring around a node
    assert set(texts(made)) == {"Vaswani 2017", "Hu 2018", "Yang 2021"}
    assert rows(made) == [
        ["起点", "权重", "终点"], ["Vaswani 2017", "0.600", "–"], ["Hu 2018", "0.300", "Vaswani 2017"],
        ["Yang 2021", "0.100", "Vaswani 2017，Hu 2018"],
    ]  # fmt: skip


def machine(n: int, step, accepts) -> Graph:
    """A DFA over {0, 1} from state 0 on."""
    kinds = [{"start"} if i == 0 else set() for i in range(n)]
    nodes = [Node(str(i), str(i), frozenset(kinds[i] | ({"accept"} if accepts(i) else set())), None) for i in range(n)]
    edges = [Edge(str(i), str(step(i, bit)), str(bit)) for i in range(n) for bit in (0, 1)]
    return Graph("dfa", tuple(nodes), tuple(edges))


THOMPSON = Graph(  # (a|b)*abb
    "nfa",
    tuple(Node(str(i), str(i), frozenset({0: {"start"}, 10: {"accept"}}.get(i, ())), None) for i in range(11)),
    tuple(
        Edge(*edge.split())
        for edge in ("0 1 ε", "0 7 ε", "1 2 ε", "1 4 ε", "2 3 a", "4 5 b", "3 6 ε", "5 6 ε", "6 1 ε", "6 7 ε", "7 8 a",
                     "8 9 b", "9 10 b")
    ),
)  # fmt: skip


def over(box: Box, shape: Shape) -> bool:
    """Whether a label lies on a node."""
    x = min(max(shape.x, box.x - box.width / 2), box.x + box.width / 2)
    y = min(max(shape.y, box.y - box.height / 2), box.y + box.height / 2)
    return shape.distance((x, y)) < 0


def meet(a: Box, b: Box) -> bool:
    return abs(a.x - b.x) < (a.width + b.width) / 2 and abs(a.y - b.y) < (a.height + b.height) / 2 - 1


@pytest.mark.parametrize("kind", ["layered", "circle"])
@pytest.mark.parametrize(
    "found",
    [
        pytest.param(machine(2, lambda i, bit: i ^ bit, lambda i: not i), id="parity"),
        pytest.param(machine(7, lambda i, bit: (2 * i + bit) % 7, lambda i: not i), id="multiples of 7"),
        pytest.param(machine(8, lambda i, bit: (2 * i + bit) % 8, lambda i: i >= 4), id="third from last"),
        pytest.param(THOMPSON, id="(a|b)*abb"),
    ],
)
def test_nothing_covers_anything(found, kind):
    names = tuple((node.id, node.label) for node in found.nodes)
    made = place(found, names, kind)
    shapes = list(made.shapes.values())
    for a, b in itertools.combinations(shapes, 2):
        assert math.hypot(a.x - b.x, a.y - b.y) > a.radius + b.radius + 10
    for (start, end), route in made.routes.items():
        for point in layout.sampled(route.curve):
            for key, shape in made.shapes.items():
                assert key in (start, end) or shape.distance(point) > 1, (start, end, key)
    boxes = list(made.labels.values())
    assert len(boxes) == len(made.routes)
    assert not any(meet(a, b) for a, b in itertools.combinations(boxes, 2))
    assert not any(over(box, shape) for box in boxes for shape in shapes)


def test_names_of_a_network_stand_beside_its_nodes():
    nodes = tuple(Node(str(i), f"Author {2000 + i}", frozenset(), 1.0 + i % 3) for i in range(16))
    edges = tuple(Edge(str(i), str(i // 3), "") for i in range(1, 16))
    made = place(Graph("cites", nodes, edges), tuple((node.id, node.label) for node in nodes), "force")
    for a, b in itertools.combinations(made.shapes.values(), 2):
        assert math.hypot(a.x - b.x, a.y - b.y) > a.radius + b.radius
    boxes = list(made.names.values())
    assert len(boxes) == len(nodes)
    assert not any(meet(a, b) for a, b in itertools.combinations(boxes, 2))
    assert not any(over(box, shape) for box in boxes for shape in made.shapes.values())


def test_edges_there_and_back_are_apart():
    shapes = {"a": Shape(17), "b": Shape(17)}
    made = layout.place("layered", shapes, [("a", "b"), ("b", "a")], [], {}, {}, {"rankdir": "LR"})
    there, back = (layout.sampled(made.routes[edge].curve) for edge in (("a", "b"), ("b", "a")))
    middles = [points[len(points) // 2][1] for points in (there, back)]
    assert abs(middles[0] - middles[1]) > 10


def test_a_graph_is_laid_out_once(monkeypatch):
    shapes = {"a": Shape(17), "b": Shape(17, 5)}
    first = layout.place("layered", shapes, [("a", "b")], ["a"], {("a", "b"): 20.0}, {}, {})
    monkeypatch.setattr(layout.subprocess, "run", lambda *_, **__: pytest.fail("asked again"))
    again = layout.place("layered", shapes, [("a", "b")], ["a"], {("a", "b"): 20.0}, {}, {})
    assert again.labels == first.labels and set(again.arrivals) == {"a"}


def test_many_labels_are_told_as_a_range():
    assert shortened(list("abcdef_019")) == "a–f,_,0,1,9"


@pytest.mark.parametrize("chart", ["heatmap weights", "heatmap wide", "heatmap mask", "graph has01", "graph cites"])
def test_a_sheet_is_as_large_as_its_text_asks(values, chart):
    root = ElementTree.fromstring(draw(chart, "x", "zh", values).replace("&nbsp;", " "))
    svg = root.find(".//*[@role='img']/svg")
    _, _, wide, high = map(float, svg.get("viewBox").split())
    assert float(svg.get("width").removesuffix("rem")) == pytest.approx(wide / 20, abs=0.03)
    assert float(svg.get("height").removesuffix("rem")) == pytest.approx(high / 20, abs=0.03)
    assert root.find(".//*[@role='img']").get("aria-label") and root.find("details/table") is not None
    assert not [element for element in root.iter() if element.get("style")]


@pytest.mark.parametrize(
    ("chart", "said"),
    [
        ("heatmap a", 'no matrix "a" in records/nvidia-h200/x.json; there are: mask, rule110, signed, weights, wide'),
        ("heatmap weights mask", "a heat map shows one name"),
        ("heatmap weights scale=log", '"weights" has 0, which a logarithmic scale cannot show; write scale=lin'),
        ("heatmap weights scale=big", "scale=big is none of lin, log, diverging"),
        ("heatmap weights rows=dog", 'rows: no "dog"; there are: the, cat, sat'),
        ("heatmap signed columns=1-2", 'columns: no "1-2"; there are: 0-1'),
        ("heatmap mask labels=2=two", 'no label "2"; there are: 0, 1'),
        ("graph a", 'no graph "a" in records/nvidia-h200/x.json; there are: cites, has01, parity'),
        ("graph has01 parity", "a graph chart shows one name"),
        ("graph has01 layout=tree", "layout=tree is none of layered, circle, force"),
        ("graph has01 labels=D=四", 'no node "D"; there are: A, B, C'),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_line(values, chart, said):
    with pytest.raises(BookError) as raised:
        draw(chart, "x", "en", values)
    assert str(raised.value) == f"chart:{chart}: {said}"
