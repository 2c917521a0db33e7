"""`warpbook check --style`: words and turns of phrase that stumble, as warpbook/check/style.toml lists them.

A help for writers and no gate: no test fails because of a flag. Prose alone is read, as spelling is
(warpbook/source/terms.py): no code, formulas, addresses, footnotes or words in quotation marks.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warpbook.book import LANGUAGES, Book, BookError
from warpbook.source import terms
from warpbook.source.pages import Page

RULES = Path(__file__).with_name("style.toml")
KEYS = {"avoid", "write"}
LATIN = 0x2E7F  # Han characters and their punctuation come after it


@dataclass(frozen=True)
class Rule:
    pattern: re.Pattern[str]
    write: str


@dataclass(frozen=True)
class Flag:
    """One place of a page: what stands there, and what to write instead."""

    page: str
    number: int  # the page's line
    found: str
    write: str

    def __str__(self) -> str:
        return f"{self.page}:{self.number}: {self.found} → {self.write}"


def rules(path: Path = RULES) -> dict[str, list[Rule]]:
    """The rules of each language. Raises BookError for a file that is not as its head says."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise BookError(f"{path.name}: {error}") from None
    if unknown := data.keys() - set(LANGUAGES):
        raise BookError(f"{path.name}: [[{min(unknown)}]] is no language; there are: {', '.join(LANGUAGES)}")
    return {language: [rule(path, language, one) for one in data.get(language, [])] for language in LANGUAGES}


def rule(path: Path, language: str, one: dict[str, str]) -> Rule:
    if one.keys() != KEYS:
        raise BookError(f"{path.name}: a [[{language}]] has avoid and write, not {', '.join(sorted(one)) or 'nothing'}")
    pattern = rf"\b(?:{one['avoid']})\b" if language == "en" else one["avoid"]
    try:
        return Rule(re.compile(pattern, re.IGNORECASE), one["write"])
    except re.error as error:
        raise BookError(f'{path.name}: avoid = "{one["avoid"]}": {error}') from None


def pages(book: Book) -> Iterator[tuple[Path, str]]:
    """Every page with its language: the articles, the contributors' pages, and what lies beside them."""
    for language in LANGUAGES:
        yield from ((path, language) for path in book.pages(language))
    yield from ((path, "en") for path in book.developers())
    for name, language in (("README.md", "en"), ("README.zh.md", "zh"), ("CONTRIBUTING.md", "en")):
        if (book.root / name).exists():
            yield book.root / name, language


def flags(page: Page, known: list[Rule]) -> list[Flag]:
    """The page's flags in the order of its lines; a phrase that runs over a line's end counts."""
    starts, text = [], ""
    for number, line in terms.prose(page):
        words = " ".join(line.split())
        if text and words:
            text += "" if ord(text[-1]) > LATIN < ord(words[0]) else " "  # no blank within Han text
        elif text:
            text += "\n"
        starts.append((len(text), number))
        text += words
    out = []
    for one in known:
        for match in one.pattern.finditer(text):
            number = next(number for start, number in reversed(starts) if start <= match.start())
            out.append(Flag(page.name, number, " ".join(match[0].split()), one.write))
    return sorted(out, key=lambda flag: flag.number)


def report(book: Book) -> list[str]:
    """One line for each flag, and how many each page has."""
    known, out, counts = rules(), list[str](), Counter[str]()
    for path, language in pages(book):
        page = Page(book, path)
        found = flags(page, known[language])
        out += map(str, found)
        counts[page.name] = len(found)
    table = [f"{number:6} {name}" for name, number in counts.most_common() if number]
    return [
        *out,
        f"{counts.total()} style flags in {len(counts)} pages; they are advice, and change no exit status",
        *table,
    ]
