"""Drawings made by hand, and a view of a block for each device."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from warpbook import reads
from warpbook.book import SOFTCUDA, BookError
from warpbook.records.values import Values
from warpbook.source.pages import Page

LEGIBLE = 10  # CSS pixels: the smallest letters of a drawing, on the smallest screen


def of_each(values: Values, draw: Callable[[Values], str]) -> str:
    """What the reader sees of the device chosen: a view for each device that has one, the primary one's first."""
    views = {values.device: draw(values)}
    for other in values.others:
        if other.device != SOFTCUDA:  # no clock
            try:
                views[other.device] = draw(other)
            except BookError:
                continue
    if len(set(views.values())) == 1:
        return views[values.device]
    first = next(iter(views))
    panes = "".join(
        f'<div data-device="{device}"{"" if device == first else " hidden"}>{view}</div>'
        for device, view in views.items()
    )
    return f'<div class="wb-views">{panes}</div>'


def figure(page: Page, name: str) -> str:
    """An SVG drawn by hand, inline, so that it takes the page's colours and font."""
    path: Path = page.path.parent / "figures" / f"{name}.svg"
    if not reads.exists(path):
        raise BookError(f"there is no {page.book.relative(path)}")
    text = reads.text(path)
    try:
        ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise BookError(f"{page.book.relative(path)}:{error.position[0]}: not well-formed SVG") from None
    drawing = re.sub(r"^.*?(?=<svg)", "", text, count=1, flags=re.DOTALL).strip()
    # On a phone it keeps a legible size and, if need be, scrolls by itself, by keyboard too.
    view = f'<div class="wb-figure__view" tabindex="0"{least_width(drawing)}>{drawing}</div>'
    return f'<figure class="wb-figure">{view}</figure>'


def least_width(drawing: str) -> str:
    """The width at which a drawing's smallest letters are LEGIBLE, as a style."""
    wide = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+)', drawing)
    sizes = [float(size) for size in re.findall(r'font-size="([\d.]+)"', drawing)]
    return f' style="--wb-least: {math.ceil(LEGIBLE * float(wide[1]) / min(sizes))}px"' if wide and sizes else ""
