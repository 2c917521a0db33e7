"""Charts in a real browser: on a wide screen and on a telephone their text has one size and stays within the page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import recorded

from warpbook.blocks.charts import draw
from warpbook.book import Book
from warpbook.records.values import Values
from warpbook.site import style

CHARTS = {
    "en": [
        "ladder",
        "bars copy.rate v0.rate v1.rate reference=copy.rate",
        "curve read.sweep write.sweep copy.sweep reference=copy.rate at=l2.size",
        'curve read.sweep write.sweep y=linear labels="reading by sixteen bytes|writing through the cache"',
        "roofline v1 v2 gemm ceilings=copy.rate,l2.rate,fma32.flops,mma16.flops",
        "timeline streams",
        'timeline streams rows="h2d=a copy from the host in a stream of its own|kernel"',
        "timeline blocks rowlabel=SM",
        "timeline blocks rowlabel=SM rows=0-3",
        'heatmap weights rowlabel="the word that looks" columnlabel="the word looked at" labels=weight',
        "heatmap numbers",
        "graph thompson",
        "graph multiples layout=circle",
    ],
    "zh": [
        'curve read.sweep write.sweep labels="读|写" xlabel="数组大小"',
        "roofline v1 v2 gemm",
        'timeline streams rows="h2d=拷入|kernel=核函数"',
        "heatmap weights rowlabel=查询 columnlabel=键 scale=diverging",
        'graph multiples labels="0=能整除|1=余一"',
    ],
}
MIB = 2.0**20


def values_of(book: Book) -> Values:
    """A book's records with a value of each kind that charts draw."""
    sizes = [2.0**k for k in range(12, 32)]
    rates = {"copy": 4.2e12, "v0": 0.7e12, "v1": 4.5e12}
    values = {f"{name}.rate": (rate, "B/s") for name, rate in rates.items()}
    values["l2.size"] = (60 * MIB, "B")
    for name, intensity, flops in (("v1", 0.25, 0.9e12), ("v2", 0.25, 1e12), ("gemm", 60.0, 40e12)):
        values |= {f"{name}.intensity": (intensity, "flop/B"), f"{name}.flops": (flops, "flop/s")}
    series = {}
    for name, peak, half in (("read", 4.5e12, 3e6), ("write", 3.4e12, 2e6), ("copy", 4.2e12, 8e6)):
        ys = [peak * x / (x + half) for x in sizes]
        spread = {"low": [y * 0.95 for y in ys], "high": [y * 1.05 for y in ys]}
        series[f"{name}.sweep"] = {"x": sizes, "y": ys, **spread, "x_unit": "B", "unit": "B/s"}
    timelines = {
        "streams": spans(
            [(("h2d", "kernel")[i % 2], i * 1e-3, i * 1e-3 + 1.2e-3, f"chunk {i // 2}") for i in range(8)]
        ),
        "blocks": spans([(i % 132, 500.0 * (i // 132), 500.0 * (i // 132) + 480, f"block {i}") for i in range(528)]),
    }
    words = ["the", "warp", "reads", "each", "row", "because", "it", "is", "aligned"]
    numbers = [" ".join(str((i * k) % 9 + 0.5) for k in range(9)) for i in range(9)]
    matrices = {
        "weights": {"numbers": numbers, "rows": words, "columns": words, "unit": "1"},
        "numbers": {"numbers": [" ".join(map(str, range(1, 61)))] * 40, "unit": "s"},
    }
    graphs = {
        "thompson": automaton(11, "0ε1 0ε7 1ε2 1ε4 2a3 4b5 3ε6 5ε6 6ε1 6ε7 7a8 8b9 9bA"),
        "multiples": automaton(7, " ".join(f"{i:X}{bit}{(2 * i + bit) % 7:X}" for i in range(7) for bit in (0, 1))),
    }
    ceilings = {"copy.rate": (4.2e12, "B/s"), "l2.rate": (7e12, "B/s"), "fma32.flops": (60e12, "flop/s"),
                "mma16.flops": (800e12, "flop/s")}  # fmt: skip
    for article, numbers, curves in (("x", values, series), ("devices", ceilings, {})):
        part = {
            "values": {name: {"value": number, "unit": unit} for name, (number, unit) in numbers.items()},
            "series": curves,
            "spans": timelines,
            "matrices": matrices,
            "graphs": graphs,
        }
        recorded.keep(book, "nvidia-h200", article, {f"{article}/a.py": part})
    return Values(book)


def spans(rows: list[tuple]) -> dict:
    row, start, stop, label = (list(column) for column in zip(*rows, strict=True))
    return {"row": row, "start": start, "stop": stop, "label": label, "unit": "s" if "h2d" in row else "cycle"}


def automaton(n: int, edges: str) -> dict:
    """States 0 to n - 1, from the first to the last; an edge is written 0a1."""
    kinds = {0: ["start"], n - 1: ["accept"]}
    nodes = [[f"{i:X}", str(i), *kinds.get(i, [])] for i in range(n)]
    return {"nodes": nodes, "edges": [[edge[0], edge[2], edge[1]] for edge in edges.split()]}


@pytest.mark.parametrize("language", CHARTS)
def test_a_chart_s_text_can_be_read(
    small: Book, book: Book, look: Callable[..., None], tmp_path: Path, language: str
) -> None:
    values = values_of(small)
    styles = ":root { --md-text-font-family: sans-serif }" + style.sheet(book)
    drawn = "".join(draw(chart, "x", language, values) for chart in CHARTS[language])
    page = tmp_path / "charts.html"
    page.write_text(
        f'<!doctype html><html lang="{language}" style="font-size:125%"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><style>{styles}</style>'
        '<body data-md-color-scheme="default"><article class="md-content__inner md-typeset">'
        f"{drawn}</article></body></html>",
        "utf-8",
    )
    look("charts.mjs", page.as_uri())
