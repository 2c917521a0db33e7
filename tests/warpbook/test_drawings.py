"""Drawings by hand: letters of ten pixels on a phone, which is 358 px wide between its margins."""

from __future__ import annotations

import re

from warpbook.blocks.figures import least_width

PHONE = 358  # CSS pixels
SCROLL = {  # by themselves; what is drawn from now on fits
    "addressing", "automata-packed", "automata-thompson", "automata-tree", "finishes", "memory-banks", "memory-order",
    "memory-sectors", "programming-hierarchy", "reading-flow", "thread-matrix",
    "thread-occupancy",
}  # fmt: skip


def test_drawings_fit_a_phone(book):
    drawn = {file: least_width(file.read_text("utf-8")) for file in book.docs.rglob("figures/*.svg")}
    wide = {file.stem for file, style in drawn.items() if int(re.findall(r"\d+", style)[0]) > PHONE}
    assert wide == SCROLL
