"""Programs that are broken in one place, in a copy, and must notice it."""

from __future__ import annotations

import shutil
from pathlib import Path

from warpbook.book import Book, here

HELPERS = ("tensormaps.py", "warpbench.py", "warppairs.py")


def copy_programs(folder: Path, *articles: str) -> Book:
    """A book in `folder` with the programs of these articles, and the modules that all articles share."""
    book = Book(folder)
    for article in articles:
        shutil.copytree(here().snippets / article, book.snippets / article)
    for name in HELPERS:
        shutil.copy(here().snippets / name, book.snippets)
    return book


def break_in_one_place(path: Path, right: str, wrong: str, what: str) -> None:
    """Write `wrong` for `right`, which the file must have exactly once."""
    text = path.read_text("utf-8")
    assert text.count(right) == 1, f"{path.name} has {right!r} {text.count(right)} times; {what} wants another place"
    path.write_text(text.replace(right, wrong), "utf-8")
