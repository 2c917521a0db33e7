"""Spelling: the book's terms as docs/glossary.toml has them, and English words as the British write them.

Prose alone is read: no code, formulas, addresses, titles of sources or words in quotation marks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from warpbook import reads, toml
from warpbook.book import LANGUAGES, Book, BookError
from warpbook.source import allowed_html, comments, glossary
from warpbook.source.pages import Page

LEFT_OUT = re.compile(
    r"`[^`]*`|\$[^$]*\$|\\\(.*?\\\)|\]\([^)]*\)|\{[^}]*\}|<[^>]*>|https?://\S+"
    r"|“[^”]*(?:”|$)|\"[^\"]*(?:\"|$)|(?<!\*)\*[^*]+\*(?!\*)"
)
FORM = toml.table(spelling=toml.tables(avoid=toml.TEXT, write=toml.TEXT))
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
    name = book.relative(path)
    data = toml.parse(toml.read_text(path, name), name, FORM) if reads.exists(path) else {}
    for rule in data.get("spelling", []):
        if rule.keys() != {"avoid", "write"}:
            raise BookError(f"{name}: a [[spelling]] has avoid and write, not {', '.join(sorted(rule))}")
        try:
            out.append((re.compile(rf"\b(?:{rule['avoid']})", re.IGNORECASE), rule["write"]))
        except re.error as error:
            raise BookError(f"{name}: [[spelling]]: avoid = {json.dumps(rule['avoid'])}: {error}") from None
    return out


def prose(page: Page) -> Iterator[tuple[int, str]]:
    """(line from 1, text) of what is prose in a page's Markdown."""
    for line in page.prose:
        if line.file == page.name and not SOURCE.match(line.text) and not line.text.strip().startswith("{{"):
            yield line.number, LEFT_OUT.sub(" ", line.text)


def problems(book: Book) -> list[str]:
    """One line for each word that the book writes otherwise: where, what, and what to write."""
    found = rules(book)
    out = []
    for path in (path for language in LANGUAGES for path in book.pages(language)):
        page = Page(book, path)
        for number, line in prose(page):
            for pattern, right in found:
                for match in pattern.finditer(line):
                    out.append(f"{page.name}:{number}: {match[0]}: write {right}")
    for path in reads.listed(book.docs, "selftests/*.toml"):
        name = book.relative(path)
        for said in allowed_html.strings(toml.parse(toml.read_text(path, name), name, {})):
            for pattern, right in found:
                out += [f"{name}: {match[0]}: write {right}" for match in pattern.finditer(LEFT_OUT.sub(" ", said))]
    tables = [path for top in ("exercises", "snippets") for path in reads.listed(book.root, f"{top}/*/{comments.FILE}")]
    for path in tables:
        for said in comments.table(book, path.parent).values():
            for pattern, right in found:
                shown = pattern.finditer(LEFT_OUT.sub(" ", said))
                out += [f"{book.relative(path)}: {match[0]}: write {right}" for match in shown]
    return out
