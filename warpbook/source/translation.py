"""Whether a Chinese page follows its English twin, section by section and by content.

A Chinese page carries, in its front matter, the hash of each English section that it follows:
`follows: ["top=3fa21b09", "stride=91ab77c2", …]`. A section is what stands under a heading, known by the heading's
anchor, which is the same in both languages. Line breaks do not count, and neither do code blocks: `checks.parted`
holds those.
"""

from __future__ import annotations

import hashlib
import html
import re
from dataclasses import dataclass
from pathlib import Path

from warpbook import reads
from warpbook.book import Book, BookError, write_text
from warpbook.source.pages import FRONT_MATTER, Page

TOP = "top"  # what stands before the first heading of level 2
NOTES = "footnotes"  # footnotes, wherever they stand
HEADING = re.compile(r"^##+ +(?P<title>.*?)(?: *\{[^}]*?#(?P<anchor>[\w-]+)[^}]*\})? *$")
NOTE = re.compile(r"^\[\^[^]]+\]:")
LAGS = {  # a reader's banner; English pages lag behind nobody
    "zh": "英文版的以下各节在本页写成之后有改动，本页尚未跟上：",
}


@dataclass(frozen=True)
class Section:
    """What stands under one heading. `number` is the heading's line in the page, from 1."""

    anchor: str
    title: str
    number: int
    hash: str


def sections(page: Page) -> dict[str, Section]:
    """The page's sections by anchor, in their order. Raises BookError for a heading without an anchor of its own."""
    found: dict[str, tuple[str, int, list[str]]] = {TOP: (page.title, 1, []), NOTES: ("footnotes", 1, [])}
    here, in_note = TOP, False
    code = {page.lines[i].page_number for i in page.fenced}
    for number, line in list(enumerate(page.source.splitlines(), 1))[page.first :]:
        if number in code:
            continue
        heading = HEADING.match(line)
        if heading:
            if not heading["anchor"]:
                raise BookError(f'{page.name}:{number}: give this heading an anchor: "{line.strip()} {{ #name }}"')
            here, in_note = heading["anchor"], False
            if here in found:
                raise BookError(f'{page.name}:{number}: the anchor "{here}" is taken on this page; choose another')
            found[here] = (heading["title"], number, [line])
            continue
        in_note = bool(NOTE.match(line)) or (in_note and (not line.strip() or line.startswith("    ")))
        found[NOTES if in_note else here][2].append(line)
    return {anchor: Section(anchor, title, number, hash_of(lines)) for anchor, (title, number, lines) in found.items()}


def hash_of(lines: list[str]) -> str:
    return hashlib.sha256(" ".join(" ".join(lines).split()).encode()).hexdigest()[:8]


def followed(page: Page) -> dict[str, str]:
    """The hash of each English section that a page says it follows, by anchor."""
    pairs = [item.partition("=") for item in page.texts("follows")]
    return {anchor: value for anchor, _, value in pairs}


def lagging(english: Page, other: Page) -> list[Section]:
    """The English sections that changed after the other page followed them, or that it never had."""
    known = followed(other)
    return [section for anchor, section in sections(english).items() if known.get(anchor) != section.hash]


def problems(book: Book, path: Path) -> list[str]:
    """One line for each section of a Chinese page that does not follow, by heading."""
    other = Page(book, path)
    twin = book.docs / "en" / path.relative_to(book.docs / "zh")
    if not reads.exists(twin):
        return []  # `checks.parted` reports it
    english = Page(book, twin)
    try:
        mine, theirs = sections(other), sections(english)
    except BookError as error:
        return [str(error)]
    if list(mine) != list(theirs):
        wrong = next(a for a in [*mine, *theirs] if a not in mine or a not in theirs or order(mine, theirs, a))
        section, page = (mine[wrong], other) if wrong in mine else (theirs[wrong], english)
        return [
            f'{page.name}:{section.number}: "{section.title}" ({wrong}) is not at the same place in the other language'
        ]
    if not followed(other):
        return [f"{other.name}: new page, follows nothing yet: .venv/bin/warpbook followed {other.name}"]
    return [
        f'{other.name}:{mine[s.anchor].number}: "{s.title}" of {english.name}:{s.number} has changed since it was '
        f"followed here; follow it, or mark it as meant: .venv/bin/warpbook followed {other.name}#{s.anchor}"
        for s in lagging(english, other)
    ]


def order(mine: dict[str, Section], theirs: dict[str, Section], anchor: str) -> bool:
    """Whether a section that both pages have stands at different places."""
    return list(mine).index(anchor) != list(theirs).index(anchor)


def mark(book: Book, target: str) -> list[Section]:
    """Note in the front matter of docs/zh/….md that it follows its English twin: whole, or `#anchor` alone."""
    name, _, anchor = target.partition("#")
    path = Path(name) if Path(name).is_absolute() else book.root / name
    if not reads.is_file(path) or not book.relative(path).startswith("docs/zh/"):
        raise BookError(f"{target}: no page in Chinese; name one, such as docs/zh/ledger.md or docs/zh/ledger.md#top")
    other = Page(book, path)
    english = Page(book, book.docs / "en" / path.resolve().relative_to((book.docs / "zh").resolve()))
    theirs = sections(english)
    if anchor and anchor not in theirs:
        raise BookError(f'{target}: {english.name} has no section "{anchor}"; it has {", ".join(theirs)}')
    known = followed(other)
    now = {a: s.hash if not anchor or a == anchor else known.get(a, "") for a, s in theirs.items()}
    listed = ", ".join(f'"{a}={value}"' for a, value in now.items() if value)
    matter = FRONT_MATTER.match(other.source)
    kept = re.sub(r"^follows:.*\n", "", matter[1], flags=re.MULTILINE) if matter else ""
    body = other.source[matter.end() :] if matter else "\n" + other.source
    write_text(path, f"---\n{kept}follows: [{listed}]\n---\n{body}")
    return [section for a, section in theirs.items() if known.get(a) != now[a]]


def banner(english: Page, other: Page, language: str) -> str:
    """A quiet line for readers of a page that lags, with links to the sections meant; empty if none is."""
    mine = sections(other)
    late = [mine[s.anchor] for s in lagging(english, other) if s.anchor in mine and s.anchor != NOTES]
    if not late:
        return ""
    links = "、".join(f'<a href="#{"" if s.anchor == TOP else s.anchor}">{html.escape(s.title)}</a>' for s in late)
    return f'<aside class="wb-lag" role="note"><p>{LAGS[language]}{links}。</p></aside>'
