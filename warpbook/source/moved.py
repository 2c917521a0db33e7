"""Sections that went to another page: docs/moved.toml says which, so that old addresses still lead to them.

    ["models/attention"]
    "models/softmax" = ["softmax", "online", "softmax.cu:online", "passes=online"]

The page that lost them keeps their anchors, on a list of links at its end (warpbook.blocks.moved); `passes=online` is
an anchor that has another name where it is now.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpbook import reads, toml
from warpbook.book import LANGUAGES, Book, BookError

FILE = "moved.toml"
FORM = toml.table_of(toml.table_of(toml.TEXTS))


@dataclass(frozen=True)
class Move:
    """What went from one page to the page `to`: the anchors' old names, and their new ones."""

    to: str
    anchors: dict[str, str]


def read(book: Book) -> dict[str, list[Move]]:
    """By the page that lost them (`models/attention`); none where there is no such file."""
    path = book.docs / FILE
    if not reads.exists(path):
        return {}
    name = book.relative(path)
    found: dict[str, list[Move]] = {}
    for page, targets in toml.parse(toml.read_text(path, name), name, FORM).items():
        taken: set[str] = set()
        for one in (page, *targets):
            if not all(reads.exists(book.docs / language / f"{one}.md") for language in LANGUAGES):
                raise BookError(f'{name}: there is no page "{one}" in both languages')
        for to, listed in targets.items():
            anchors: dict[str, str] = {}
            for old, _, new in (item.partition("=") for item in listed):
                if old in taken:
                    raise BookError(f'{name}: "{page}" names the anchor "{old}" twice')
                taken.add(old)
                anchors[old] = new or old
            found.setdefault(page, []).append(Move(to, anchors))
    return found


def of(book: Book, page: str) -> list[Move]:
    return read(book).get(page, [])
