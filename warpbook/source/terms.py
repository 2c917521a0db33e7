"""Spelling: the book's terms as docs/glossary.toml has them, and English words as the British write them.

Prose alone is read: no code, formulas, addresses, titles of sources or words in quotation marks.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from warpbook.book import LANGUAGES, Book, BookError
from warpbook.source import glossary
from warpbook.source.pages import FRONT_MATTER

FENCE = re.compile(r"^\s*(?:> ?)*(`{3,}|~{3,})")
LEFT_OUT = re.compile(
    r"`[^`]*`|\$[^$]*\$|\\\(.*?\\\)|\]\([^)]*\)|\{[^}]*\}|<[^>]*>|https?://\S+"
    r"|“[^”]*(?:”|$)|\"[^\"]*(?:\"|$)|(?<!\*)\*[^*]+\*(?!\*)"
)
SOURCE = re.compile(r"^\[\^[^\]]+\]:")  # a footnote: titles are spelt as their authors spell them


def rules(book: Book) -> list[tuple[re.Pattern[str], str]]:
    """(what is not written, what is) of the glossary's `avoid` and its `[[spelling]]`."""
    out = []
    for group in glossary.read(book):
        for term in group.terms:
            for pattern in term.avoid:
                right = term.names["en"] if pattern.isascii() else term.names["zh"]
                out.append((re.compile(rf"\b(?:{pattern})" if pattern.isascii() else pattern, re.IGNORECASE), right))
    path = book.docs / glossary.FILE
    data = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    for rule in data.get("spelling", []):
        if rule.keys() != {"avoid", "write"}:
            raise BookError(f"docs/{glossary.FILE}: a [[spelling]] has avoid and write, not {', '.join(sorted(rule))}")
        out.append((re.compile(rf"\b(?:{rule['avoid']})", re.IGNORECASE), rule["write"]))
    return out


def prose(text: str) -> Iterator[tuple[int, str]]:
    """(line from 1, text) of what is prose in a page's Markdown."""
    matter = FRONT_MATTER.match(text)
    skipped = text[: matter.end()].count("\n") if matter else 0
    fence = ""
    for number, line in enumerate(text.split("\n"), 1):
        match = FENCE.match(line)
        if fence:
            fence = "" if match and match[1].startswith(fence) else fence
        elif match:
            fence = match[1]
        elif number > skipped and not SOURCE.match(line) and not line.strip().startswith(("--8<--", "{{")):
            yield number, LEFT_OUT.sub(" ", line)


def problems(book: Book) -> list[str]:
    """One line for each word that the book writes otherwise: where, what, and what to write."""
    found = rules(book)
    out = []
    pages: list[Path] = [page for language in LANGUAGES for page in book.pages(language)]
    for page in pages:
        for number, line in prose(page.read_text("utf-8")):
            for pattern, right in found:
                for match in pattern.finditer(line):
                    out.append(f"{book.relative(page)}:{number}: {match[0]}: write {right}")
    return out
