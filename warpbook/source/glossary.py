"""The glossary: `{{ glossary }}` on its page, and on all others a link from the first use of each term.

docs/glossary.toml holds the terms, in both languages. Links are put into a page's tree, into text alone: not into code,
formulas, headings, other links, tables' heads or what may be clicked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from xml.etree.ElementTree import Element

from markdown.util import AtomicString

from warpbook import reads, toml
from warpbook.book import LANGUAGES, Book, BookError
from warpbook.source.pages import Page

FILE = "glossary.toml"
PAGE = "glossary"
UNLINKED = {PAGE, "index"}  # pages whose words are left alone
CLOSED = {
    "a",
    "button",
    "code",
    "figcaption",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "pre",
    "script",
    "style",
    "summary",
    "svg",
    "th",
}
CLOSED_CLASSES = re.compile(r"\b(?:arithmatex|admonition-title|footnote|highlight|wb-[\w-]+)\b")
FORM = toml.table(
    group=toml.tables(
        term=toml.tables(
            says=toml.table(),
            page=toml.TEXT,
            match=toml.table_of(toml.TEXT),
            **dict.fromkeys(("forms", "also", "avoid", "search"), toml.TEXTS),
        )
    )
)
KEYS = {"en", "zh", "says", "page", "forms", "also", "match", "avoid", "search"}


@dataclass(frozen=True)
class Term:
    """One term: its name and its meaning in each language, how prose may write it, and the article that explains it."""

    names: dict[str, str]
    says: dict[str, str]
    patterns: dict[str, str]
    page: str = ""
    avoid: tuple[str, ...] = ()  # patterns of what the book does not write for it
    words: tuple[str, ...] = ()  # all that readers may type for it, in either language

    @property
    def anchor(self) -> str:
        return re.sub(r"\W+", "-", self.names["en"].lower())

    def typed(self, language: str) -> list[str]:
        """What readers of a language may type for it: Chinese readers type English words too."""
        return [word for word in self.words if language == "zh" or word.isascii()]


@dataclass(frozen=True)
class Group:
    names: dict[str, str]
    terms: list[Term] = field(default_factory=list)


def read(book: Book) -> list[Group]:
    """The groups of docs/glossary.toml; none where there is no such file."""
    path = book.docs / FILE
    return _read(book, toml.read_text(path, book.relative(path))) if reads.exists(path) else []


@lru_cache(maxsize=4)
def _read(book: Book, text: str) -> list[Group]:
    name = book.relative(book.docs / FILE)
    data = toml.parse(text, name, FORM)
    groups = []
    seen: set[str] = set()
    for group in data.get("group", []):
        terms = [term(name, entry) for entry in group.get("term", [])]
        for one in terms:
            if one.anchor in seen:
                raise BookError(f'{name}: "{one.names["en"]}" is there twice')
            seen.add(one.anchor)
        groups.append(Group(texts(name, group, "a group"), terms))
    return groups


def term(name: str, entry: dict[str, Any]) -> Term:
    said = f'"{entry.get("en", entry.get("zh", "?"))}"'
    unknown = entry.keys() - KEYS
    if unknown:
        raise BookError(f"{name}: {said} has {sorted(unknown)[0]}; known are {', '.join(sorted(KEYS))}")
    names = texts(name, entry, said)
    match = entry.get("match", {})
    patterns = {
        "en": match.get("en") or english([names["en"], *entry.get("forms", [])]),
        "zh": match.get("zh") or "|".join(map(re.escape, sorted([names["zh"], *entry.get("also", [])], key=len)[::-1])),
    }
    for language, pattern in patterns.items():
        try:
            re.compile(pattern)
        except re.error as error:
            raise BookError(f"{name}: {said}: match.{language}: {error}") from None
    avoid = tuple(entry.get("avoid", []))
    for pattern in avoid:
        try:
            re.compile(pattern)
        except re.error as error:
            raise BookError(f"{name}: {said}: avoid: {pattern}: {error}") from None
    words = [names["en"], names["zh"]]
    for key in ("forms", "also", "search"):
        words += entry.get(key, [])
    words += [pattern for pattern in avoid if re.fullmatch(r"[\w -]+", pattern)]
    says = texts(name, entry.get("says", {}), f"{said}: says")
    return Term(names, says, patterns, str(entry.get("page", "")), avoid, tuple(words))


def texts(name: str, entry: dict[str, Any], what: str) -> dict[str, str]:
    for language in LANGUAGES:
        if not isinstance(entry.get(language), str) or not entry[language]:
            raise BookError(f"{name}: {what} has no {language}")
    return {language: entry[language] for language in LANGUAGES}


def english(forms: list[str]) -> str:
    """The forms, as words of their own, with a plural s."""
    words = [
        r"\s+".join(map(re.escape, form.split())) for form in sorted(forms, key=len)[::-1]
    ]  # prose has line breaks
    return "|".join(word + ("" if word.endswith("s") else "s?") for word in words)


# -- the page ----------------------------------------------------------------------------------------------------


def markdown(book: Book, language: str) -> list[str]:
    """The glossary as Markdown, group by group: each term with its name in the other language and its meaning."""
    groups = read(book)
    if not groups:
        raise BookError(f"{book.relative(book.docs / FILE)} has no terms")
    other = next(one for one in LANGUAGES if one != language)
    lines = []
    for group in groups:
        anchor = re.sub(r"\W+", "-", group.names["en"].lower())
        lines += ["", f"## {group.names[language]} {{ #group-{anchor} }}", ""]
        for one in group.terms:
            explained = book.page_of(one.page, language) if one.page else None
            if one.page and not explained:
                raise BookError(f'{book.relative(book.docs / FILE)}: "{one.names["en"]}": there is no page {one.page}')
            more = ""
            if explained:
                address = explained.relative_to(book.docs / language).as_posix()
                more = f"{' ' if language == 'en' else ''}→ [{Page(book, explained).title}]({address})"
            name = one.names[language]
            if one.names[other] != name:
                name += f" <span lang={LANG[other]}>{one.names[other]}</span>"
            lines += [
                f"{name} {{ #{one.anchor} }}",
                f":   {one.says[language]}{more}",
                "",
            ]
    return lines


LANG = {"en": '"en"', "zh": '"zh-Hans"'}


# -- the links ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def pattern(patterns: tuple[str, ...], names: tuple[str, ...], language: str) -> re.Pattern[str]:
    """Any of the terms as a group `t<its number>`, those with longer names first."""
    branches = sorted(range(len(names)), key=lambda i: -len(names[i]))
    any_term = "|".join(f"(?P<t{i}>{patterns[i]})" for i in branches)
    if language != "en":
        return re.compile(any_term)
    return re.compile(rf"(?<![\w-])(?:{any_term})(?![\w-])", re.IGNORECASE)


def link(book: Book, page: Element, language: str, root: str) -> None:
    """Link the first use of each term in a page's tree to the glossary; `root` is the way to it."""
    terms = [one for group in read(book) for one in group.terms]
    if not terms:
        return
    patterns, names = zip(*((one.patterns[language], one.names[language]) for one in terms), strict=True)
    any_term = pattern(patterns, names, language)
    seen: set[str] = set()

    def cut(text: str | None) -> tuple[str | None, list[Element]]:
        """The text up to its first link, and the links, each with the text after it."""
        if not text or isinstance(text, AtomicString) or text.isspace():
            return text, []
        found: list[Element] = []
        first, at = "", 0
        for match in any_term.finditer(text):
            one = terms[int(str(match.lastgroup)[1:])]
            if one.anchor in seen:
                continue
            seen.add(one.anchor)
            tip = re.sub(r"`([^`]*)`", r"\1", one.says[language])
            made = Element("a", {"class": "wb-term", "href": f"{root}{PAGE}/#{one.anchor}", "data-tip": tip})
            made.text = match[0]
            if found:
                found[-1].tail = text[at : match.start()]
            else:
                first = text[: match.start()]
            at = match.end()
            found.append(made)
        if not found:
            return text, []
        found[-1].tail = text[at:]
        return first, found

    def walk(element: Element) -> None:
        """Link within an open element, in the order of its text."""
        children = list(element)
        element.text, links = cut(element.text)
        for i, one in enumerate(links):
            element.insert(i, one)
        at = len(links)
        for child in children:
            if not is_closed(child):
                walk(child)
            child.tail, links = cut(child.tail)
            for i, one in enumerate(links, at + 1):
                element.insert(i, one)
            at += 1 + len(links)

    walk(page)


def is_closed(element: Element) -> bool:
    """Whether an element's text is left alone."""
    if not isinstance(element.tag, str):
        return True  # a comment
    return element.tag in CLOSED or CLOSED_CLASSES.search(element.get("class") or "") is not None
