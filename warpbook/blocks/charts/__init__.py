"""Charts drawn at build from records, as inline SVG that follows the page: its language, its colours, its width.

    {{ chart:ladder }}                                    every *.rate of the program that also measures copy.rate
    {{ chart:ladder upto=v3 }}                            its first rungs, with the last one marked
    {{ chart:ladder a.rate b.rate upto=a }}               the same of the rates named
    {{ chart:ladder reference=cublas.flops upto=v3 }}     every *.flops beside cuBLAS's
    {{ chart:bars a.time b.time reference=copy.time }}    named values; with upto=a.time the first ones, as above
    {{ chart:bars a.time b.time cut=0.95 }}               misleading: bars begin at 95 % of the least; says so
    {{ chart:curve read.sweep write.sweep }}              recorded series
    {{ chart:curve read.sweep within=1024,4096 }}         some of its points; the caption says how many
    {{ chart:roofline v3 v8 }}                            v3.intensity and v3.flops, below the device's ceilings
    {{ chart:timeline overlap.gantt rowlabel="SM" }}      recorded spans
    {{ chart:heatmap weights rowlabel="query" }}          a recorded table of numbers, or of zeros and ones
    {{ chart:graph dfa }}                                 recorded nodes and edges
    {{ chart:trials warmup clipping }}                    effects with their intervals, and whether they are real
    {{ chart:traffic reduce_v0 reduce_v3 }}               what kernels moved between SM, L1, L2 and DRAM, as counted

Options follow the names as `key=value`; a value with blanks stands in double quotes: `title="Reading, by size"`.
Every chart takes `title` (its caption) and `labels="one|two"`, in the page's language; a
timeline's, a heat map's and a graph's are `labels="h2d=copy in|k=kernel"`.

An SVG here has no viewBox: lengths along x are percentages and text keeps the page's size, so that a chart
on a telephone is narrower, not smaller. What has a shape of its own (a heat map, a graph) is a sheet, as large as its
text asks; where the page is narrower, it is moved within its box. Each comes with its numbers as a table.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from warpbook.blocks.charts.bars import bars, ladder
from warpbook.blocks.charts.curve import curve
from warpbook.blocks.charts.graph import graph
from warpbook.blocks.charts.heatmap import heatmap
from warpbook.blocks.charts.roofline import roofline
from warpbook.blocks.charts.source import Source
from warpbook.blocks.charts.timeline import timeline
from warpbook.blocks.charts.traffic import traffic
from warpbook.blocks.charts.trials import trials
from warpbook.book import BookError
from warpbook.records.values import Values

CHARTS: dict[str, tuple[Callable[[Source], str], tuple[str, ...]]] = {
    "ladder": (ladder, ("title", "labels", "upto", "reference")),
    "bars": (bars, ("title", "labels", "reference", "upto", "cut")),
    "curve": (curve, ("title", "labels", "reference", "at", "x", "y", "xlabel", "ylabel", "within")),
    "roofline": (roofline, ("title", "labels", "ceilings")),
    "timeline": (timeline, ("title", "labels", "rows", "rowlabel", "xlabel", "scale")),
    "heatmap": (heatmap, ("title", "labels", "rows", "columns", "rowlabel", "columnlabel", "scale")),
    "graph": (graph, ("title", "labels", "layout")),
    "traffic": (traffic, ("title", "labels")),
    "trials": (trials, ("title", "labels")),
}


def draw(text: str, article: str, language: str, values: Values) -> str:
    """HTML of `curve NAME … key=value`. Raises BookError (without a place) for what cannot be drawn."""
    try:
        kind, *words = shlex.split(text)
    except ValueError:
        raise BookError(f"chart:{text}: a quotation mark is not closed") from None
    if kind not in CHARTS:
        raise BookError(f'no chart "{kind}"; there are: {", ".join(CHARTS)}')
    chart, known = CHARTS[kind]
    names = [word for word in words if "=" not in word]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    try:
        for key in options:
            if key not in known:
                raise BookError(f'no option "{key}"; there are: {", ".join(known)}')
        if kind != "ladder" and not names:
            raise BookError("names nothing to draw")
        return chart(Source(values, article, language, tuple(names), options))
    except BookError as error:
        raise type(error)(f"chart:{text}: {error}") from None
