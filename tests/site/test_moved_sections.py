"""What moved to another page is still found at its old address: every anchor of pages that were published whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from test_builds import make

from warpbook.blocks import moved as block
from warpbook.book import Book, write_text
from warpbook.check import links
from warpbook.source import moved

PUBLISHED = Path(__file__).with_name("published.json")  # the anchors of pages as they were before they were split


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("page", json.loads(PUBLISHED.read_text("utf-8")))
def test_every_published_anchor_leads_somewhere(book: Book, site: Path, language: str, page: str) -> None:
    def anchors(name: str) -> set[str]:
        found = links.Found()
        found.feed(block.without((site / place / name / "index.html").read_text("utf-8")))
        return found.anchors

    place = {"en": "", "zh": "zh"}[language]
    lost = set(json.loads(PUBLISHED.read_text("utf-8"))[page].split()) - anchors(page)
    shown = links.Found()
    shown.feed((site / place / page / "index.html").read_text("utf-8"))
    for move in moved.of(book, page):
        there = anchors(move.to)
        for old, new in move.anchors.items():
            assert old in shown.anchors and new in there, f"{page}#{old} should lead to {move.to}#{new}"
        lost -= move.anchors.keys()
    assert not lost, f"docs/moved.toml does not say where these of {page} are: {sorted(lost)}"


PAGE = "# {title} {{ #{name} }}\n\nText.\n\n{more}"
KERNEL = '```cuda title="snippets/copying/copy.cu"\n--8<-- "snippets/copying/copy.cu:copy"\n```\n'


def test_old_addresses_are_followed(
    small_site: Book, tmp_path: Path, serve: Callable[[Path], str], look: Callable[..., None]
) -> None:
    write_text(
        small_site.snippets / "copying" / "copy.cu",
        "// --8<-- [start:copy]\n__global__ void copy() {}\n// --8<-- [end:copy]\n",
    )
    for language in ("en", "zh"):
        new = KERNEL + "\n## Tiles { #tiles }\n\nText.\n"
        write_text(small_site.docs / language / "copying.md", PAGE.format(title="Copying", name="copying", more=new))
        old = "\n\n".join(f"Paragraph {i}." for i in range(80))
        write_text(small_site.docs / language / "index.md", PAGE.format(title="Home", name="home", more=old))
    write_text(small_site.docs / moved.FILE, '[index]\ncopying = ["parts=tiles", "copy.cu:copy"]\n')
    done = make(small_site, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    cases = [
        (f"{place}{old}", f"{place}copying/{new}")
        for place in ("", "zh/")
        for old, new in (("#parts", "#tiles"), ("#copy.cu:copy", "#copy.cu:copy"), ("#copy.cu-L2", "#copy.cu-L2"))
    ]
    look("moved.mjs", serve(tmp_path / "site"), cases)
