"""Where the book's pages are on its site."""

from __future__ import annotations

from pathlib import Path

from warpbook.book import Book
from warpbook.source import tracks


def url(path: Path, docs: Path) -> str:
    """The address of a page, from the root of its language."""
    name = path.relative_to(docs).with_suffix("").as_posix()
    return "" if name == "index" else f"{name.removesuffix('/index')}/"


def articles(book: Book) -> list[str]:
    docs = book.docs / "en"
    return [url(path, docs) for name in tracks.articles(book, "en") if (path := book.page_of(name, "en"))]


def others(book: Book) -> list[str]:
    """Every other page in two languages, and of each article the lab page of one program."""
    labs = [f"snippets/{p.parent.name}/{p.stem}/" for article in book.articles() for p in book.programs(article)[:1]]
    return [page for path in book.pages("en") if (page := url(path, book.docs / "en")) not in articles(book)] + labs
