"""Links as pages write them: each leads to a page, a file and an anchor that exist, or its line says so.

`links.py` looks at a built site; this needs none, and names the language's own file and line.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from warpbook import reads
from warpbook.blocks import moved
from warpbook.book import Book
from warpbook.records.schema import nearest
from warpbook.site import feed

CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|<!--.*?-->")
LINK = re.compile(r"\]\(\s*<?(?P<inline>[^)\s>]+)|^[ ]{0,3}\[[^\]^]+\]:\s+<?(?P<defined>[^\s>]+)")
ANCHOR = re.compile(r'\s(?:id|name)="([^"]+)"')
MADE = {feed.NAME}  # files of a site that no source has


@dataclass(frozen=True)
class Rendered:
    """A page: its file, its name among the site's sources (`models/attention.md`), its links, its own anchors."""

    path: Path
    source: str
    links: tuple[tuple[int, str], ...]  # each with its line
    anchors: frozenset[str]


def broken(book: Book, language: str, pages: list[Rendered]) -> list[str]:
    """One line for each link of these pages, all of one language, that leads nowhere."""
    anchors = {page.source: page.anchors for page in pages}
    own = {source.removesuffix(".md"): found for source, found in anchors.items()}
    return moved.problems(book, own) + [
        f"{book.relative(page.path)}:{number}: {link}: {said}"
        for page in pages
        for number, link in page.links
        if (said := fault(book, language, page, link, anchors))
    ]


def anchors_of(html: str) -> list[str]:
    """The anchors of a page's HTML, but those that it keeps of sections that went elsewhere."""
    return sorted(set(ANCHOR.findall(moved.without(html))))


def links_of(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The links of a page's lines of prose, each with its line."""
    for number, line in lines:
        for match in LINK.finditer(CODE.sub(lambda hidden: " " * len(hidden[0]), line)):
            yield number, match["inline"] or match["defined"]


def fault(book: Book, language: str, page: Rendered, link: str, anchors: Mapping[str, Collection[str]]) -> str:
    """What is wrong with a link; empty: nothing."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return ""
    if link.startswith("/"):
        return "write the address relative to this page"
    name, anchor = unquote(parts.path), unquote(parts.fragment)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), name)) if name else page.source
    if target not in anchors:
        folder = page.path.parents[page.source.count("/")]
        if target in MADE or any(reads.is_file(root / target) for root in (folder, book.root)):
            return ""
        return f"there is no {book.relative(folder)}/{target}{elsewhere(target, page.source, anchors)}"
    if anchor and anchors[target] and anchor not in anchors[target]:
        return f"{'this page' if target == page.source else target} has no #{anchor}{nearest(anchor, anchors[target])}"
    return ""


def elsewhere(target: str, source: str, known: Iterable[str]) -> str:
    """For the end of a message: a page of that name, or of one like it, as `source` would link to it."""
    same = [page for page in known if posixpath.basename(page) == posixpath.basename(target)]
    near = same[:1] or difflib.get_close_matches(target, known, 1, cutoff=0.8)
    return f"; did you mean {posixpath.relpath(near[0], posixpath.dirname(source) or '.')}?" if near else ""
