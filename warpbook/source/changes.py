"""What changed in the book, and when: docs/changes.toml, kept by hand, newest first; `{{ changes }}` lists it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from warpbook import reads, toml
from warpbook.book import LANGUAGES, Book, BookError
from warpbook.source.pages import Page

FILE = "changes.toml"
FORM = toml.table(change=toml.tables(pages={"items": toml.TEXT}))
KEYS = {"date", "pages", *LANGUAGES}


@dataclass(frozen=True)
class Change:
    """One entry. `pages` are named as `models/attention`, home as `index`; `says` is by language."""

    date: date
    number: int  # among those of its day, the day's first being 1
    pages: tuple[str, ...]
    says: dict[str, str]

    @property
    def key(self) -> str:
        """Its name for ever, in either language: `2026-11-22-3`."""
        return f"{self.date}-{self.number}"


def read(book: Book) -> list[Change]:
    """All changes, newest first; none where there is no such file. Raises BookError for what is not in order."""
    path = book.docs / FILE
    known = frozenset(p.relative_to(book.docs / x).with_suffix("").as_posix() for x in LANGUAGES for p in book.pages(x))
    if not reads.exists(path):
        return []
    return list(_read(book.relative(path), toml.read_text(path, book.relative(path)), known))


def today() -> date:
    return datetime.now(UTC).date()


def of(book: Book, page: str) -> list[Change]:
    """The changes of one page, newest first."""
    return [change for change in read(book) if page in change.pages]


def title(book: Book, page: str, language: str) -> str:
    return Page(book, book.docs / language / f"{page}.md").title


def address(root: str, page: str) -> str:
    """Where a page is, `root` being its language's home."""
    return root + f"{page}/".removesuffix("index/")


def markdown(book: Book, language: str) -> list[str]:
    """All changes as Markdown, day by day, for a page beside the home page."""
    colon, comma = {"en": (": ", ", "), "zh": ("：", "、")}[language]
    lines: list[str] = []
    last = None
    for change in read(book):
        if change.date != last:
            lines += ["", f"## {change.date} {{ #day-{change.date} }}", ""]
        last = change.date
        pages = comma.join(f"[{title(book, page, language)}]({page}.md)" for page in change.pages)
        lines.append(f"- {pages}{colon}{change.says[language]}")
    return [*lines, ""]


@lru_cache(maxsize=4)
def _read(name: str, text: str, known: frozenset[str]) -> tuple[Change, ...]:
    entries = toml.parse(text, name, FORM).get("change", [])
    checked = [check(f"{name}: change {i}", entry, known) for i, entry in enumerate(entries, 1)]
    days = [day for day, *_ in checked]
    for i in range(1, len(days)):
        if days[i] > days[i - 1]:
            raise BookError(f"{name}: change {i + 1} is of {days[i]}, below one of {days[i - 1]}; put the newest first")
    return tuple(Change(day, days[i:].count(day), pages, says) for i, (day, pages, says) in enumerate(checked))


def check(where: str, entry: dict[str, Any], known: frozenset[str]) -> tuple[date, tuple[str, ...], dict[str, str]]:
    """The entry's day, pages and texts. `where` begins the message of what is wrong."""
    if unknown := sorted(entry.keys() - KEYS):
        raise BookError(f"{where} has {unknown[0]}; known are {', '.join(sorted(KEYS))}")
    day, pages = entry.get("date"), entry.get("pages")
    if type(day) is not date:
        raise BookError(f"{where}: give its day as date = 2026-11-22")
    if day > today():
        raise BookError(f"{where}: {day} is yet to come")
    if not isinstance(pages, list) or not pages:
        raise BookError(f'{where}: name its pages, as pages = ["models/attention"]')
    for page in pages:
        if page not in known:
            raise BookError(f'{where}: there is no page "{" ".join(page.split())}"')
    for language in LANGUAGES:
        said = entry.get(language)
        if not isinstance(said, str) or not said.strip() or "\n" in said:
            raise BookError(f"{where}: say in one line of {language} what changed")
    return day, tuple(pages), {language: entry[language].strip() for language in LANGUAGES}
