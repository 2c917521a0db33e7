"""`{{ techniques }}`: every technique in a sentence, the sections that teach it and the exercises that practise it.

docs/techniques.toml holds them, in groups. A section is named as `memory-access#stride`: the article and its anchor.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from warpbook import reads, toml
from warpbook.book import LANGUAGES, Book, BookError
from warpbook.exercises import exercises
from warpbook.records.schema import nearest
from warpbook.source.errata import HEADING
from warpbook.source.pages import Page

FILE = "techniques.toml"
NAMES = dict.fromkeys(("name", *LANGUAGES), toml.TEXT)
FORM = toml.table(
    group=toml.tables(
        technique=toml.tables(says=toml.table_of(toml.TEXT), taught=toml.TEXTS, practised=toml.TEXTS, **NAMES),
        **NAMES,
    )
)
KEYS = {"name", "says", "taught", "practised", *LANGUAGES}
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
WORDS = {
    "en": {"taught": "Read: {}.", "practised": "Practise: {}.", "page": "{sections} ({page})", "and": ", ", "or": "; "},
    "zh": {"taught": "阅读：{}。", "practised": "练习：{}。", "page": "《{page}》{sections}", "and": "、", "or": "；"},
}


@dataclass(frozen=True)
class Technique:
    """One technique; `taught` are (article, anchor), `practised` exercises by name."""

    name: str
    titles: dict[str, str]
    says: dict[str, str]
    taught: tuple[tuple[str, str], ...]
    practised: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    name: str
    titles: dict[str, str]
    techniques: tuple[Technique, ...]


def read(book: Book) -> list[Group]:
    """The groups of docs/techniques.toml; none where there is no such file."""
    path = book.docs / FILE
    return list(_read(toml.read_text(path, book.relative(path)), book.relative(path))) if reads.exists(path) else []


@lru_cache(maxsize=4)
def _read(text: str, where: str) -> tuple[Group, ...]:
    groups, seen = [], set[str]()
    for entry in toml.parse(text, where, FORM).get("group", []):
        techniques = tuple(technique(where, one) for one in entry.get("technique", []))
        name, titles = named(where, entry)
        for taken in (name, *(one.name for one in techniques)):
            if taken in seen:
                raise BookError(f'{where}: "{taken}" is there twice')
            seen.add(taken)
        groups.append(Group(name, titles, techniques))
    return tuple(groups)


def technique(where: str, entry: dict[str, Any]) -> Technique:
    name, titles = named(where, entry)
    if unknown := sorted(entry.keys() - KEYS):
        raise BookError(f'{where}: "{name}" has {unknown[0]}; known are {", ".join(sorted(KEYS))}')
    says = {language: entry.get("says", {}).get(language, "") for language in LANGUAGES}
    taught = tuple((page, anchor) for page, _, anchor in (one.partition("#") for one in entry.get("taught", [])))
    if not all(says.values()) or not taught:
        raise BookError(f'{where}: "{name}" wants says.en, says.zh and taught, the sections that teach it')
    return Technique(name, titles, says, taught, tuple(entry.get("practised", [])))


def named(where: str, entry: dict[str, Any]) -> tuple[str, dict[str, str]]:
    name = entry.get("name", "")
    if not NAME.fullmatch(name):
        raise BookError(f'{where}: name "{name}": small letters, digits and hyphens; it is an anchor')
    if not all(entry.get(language) for language in LANGUAGES):
        raise BookError(f'{where}: "{name}" wants its titles, en and zh')
    return name, {language: entry[language] for language in LANGUAGES}


# -- what it leads to ----------------------------------------------------------------------------------------------


def sections(page: Page) -> dict[str, str]:
    """The titles of a page's sections, by anchor."""
    lines = (line.text for i, line in enumerate(page.lines) if i not in page.fenced)
    return {match["anchor"]: match["text"] for line in lines if (match := HEADING.match(line)) and match["anchor"]}


def problems(book: Book) -> list[str]:
    """One line for each page, section and exercise that a technique names and that does not exist."""
    return list(faults(book, read(book)))


def faults(book: Book, groups: list[Group]) -> Iterator[str]:
    file = book.relative(book.docs / FILE)
    known: dict[tuple[str, str], dict[str, str] | None] = {}
    names = {one.name for one in exercises.all(book)} if groups else set()
    for one in (one for group in groups for one in group.techniques):
        where = f'{file}: "{one.name}"'
        for article, anchor in one.taught:
            for language in LANGUAGES:
                if (article, language) not in known:
                    path = book.page_of(article, language)
                    known[article, language] = sections(Page(book, path)) if path else None
                there = known[article, language]
                if there is None:
                    yield f"{where}: there is no page {article} in {language}"
                elif anchor and anchor not in there:
                    yield f"{where}: {article} in {language} has no #{anchor}{nearest(anchor, set(there))}"
        for name in one.practised:
            if name not in names:
                yield f"{where}: there is no exercise {name}{nearest(name, names)}"


# -- the page ------------------------------------------------------------------------------------------------------


def markdown(book: Book, language: str) -> list[str]:
    """All techniques as Markdown, group by group, for a page beside the home page."""
    groups = read(book)
    if not groups:
        raise BookError(f"{book.relative(book.docs / FILE)} has no techniques")
    for fault in faults(book, groups):
        raise BookError(fault)
    words, titles = WORDS[language], {one.name: one.title[language] for one in exercises.all(book)}
    lines: list[str] = []
    for group in groups:
        lines += ["", f"## {group.titles[language]} {{ #{group.name} }}", ""]
        for one in group.techniques:
            lines += [f"{one.titles[language]} {{ #{one.name} }}", f":   {one.says[language]}", ""]
            lines += [f"    {words['taught'].format(taught(book, one, language))}", "    { .wb-ways }", ""]
            if one.practised:
                links = [
                    f"[{titles[name]}]({address(book, article, language)}#try-{short})"
                    for name in one.practised
                    for article, _, short in (name.partition("/"),)
                ]
                lines += [f"    {words['practised'].format(words['and'].join(links))}", "    { .wb-ways }", ""]
    return lines


def taught(book: Book, one: Technique, language: str) -> str:
    """The sections, each a link, by page."""
    words, pages = WORDS[language], dict.fromkeys(article for article, _ in one.taught)
    out = []
    for article in pages:
        at = address(book, article, language)
        page = Page(book, book.docs / language / at)
        if (article, "") in one.taught:
            out.append(f"[{page.title}]({at})")
            continue
        known = sections(page)
        links = [f"[{known[anchor]}]({at}#{anchor})" for other, anchor in one.taught if other == article]
        out.append(words["page"].format(page=page.title, sections=words["and"].join(links)))
    return words["or"].join(out)


def address(book: Book, article: str, language: str) -> str:
    """The article's page, from the language's home."""
    path = book.page_of(article, language)
    assert path is not None  # `faults` said nothing
    return path.relative_to(book.docs / language).as_posix()
