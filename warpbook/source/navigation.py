"""The navigation of mkdocs.yml and mkdocs.zh.yml, held against the pages that exist."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from warpbook import reads
from warpbook.book import CONFIGS, DEVELOPERS, LANGUAGES, Book, BookError


@dataclass(frozen=True)
class Entry:
    """A page as the navigation lists it: `- TITLE: PAGE` on a line (from 1) of the configuration."""

    title: str
    page: str
    line: int


def read(book: Book, language: str) -> list[Entry]:
    """All entries that name a page, in their order. Raises BookError for what is no `- Title: page.md`."""
    config = book.root / CONFIGS[language]
    if not reads.exists(config):
        return []
    try:
        root = yaml.compose(reads.text(config), Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise BookError(f"{config.name}:{line}: not YAML: {error.problem}") from None
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    listed = [value for key, value in pairs if key.value == "nav"]
    return [entry for node in listed for entry in entries(node, config.name)]


def entries(node: yaml.Node, name: str) -> Iterator[Entry]:
    for item in node.value if isinstance(node, yaml.SequenceNode) else []:
        if not isinstance(item, yaml.MappingNode):
            line = item.start_mark.line + 1
            raise BookError(f"{name}:{line}: an entry of the navigation has a title: - Title: folder/page.md")
        for key, value in item.value:
            if isinstance(value, yaml.ScalarNode):
                yield Entry(str(key.value), str(value.value), value.start_mark.line + 1)
            else:
                yield from entries(value, name)


def path_of(book: Book, language: str, page: str) -> Path:
    """The file of a page that the navigation calls `page`."""
    return (book.docs if page.startswith(f"{DEVELOPERS}/") else book.docs / language) / page


def missing(book: Book, language: str) -> list[str]:
    """One line for each entry whose page does not exist."""
    return [
        f"{CONFIGS[language]}:{entry.line}: there is no {book.relative(path)}; write that page, or take this line, "
        f'"{entry.title}: {entry.page}", out of the navigation'
        for entry in read(book, language)
        if not reads.is_file(path := path_of(book, language, entry.page)) and "://" not in entry.page
    ]


def omitted(book: Book, language: str) -> list[str]:
    """One line for each page that no entry names; none where there is no navigation."""
    listed = {path_of(book, language, entry.page) for entry in read(book, language)}
    pages = {path: path.relative_to(book.docs / language) for path in book.pages(language)}
    if language == LANGUAGES[0]:
        pages |= {path: path.relative_to(book.docs) for path in book.developers()}
    return [
        f"{book.relative(path)}: the navigation does not list this page; add a line under nav in "
        f"{CONFIGS[language]}: - Title: {page.as_posix()}"
        for path, page in pages.items()
        if listed and path not in listed
    ]


def problems(book: Book, language: str) -> list[str]:
    """One line for each entry without a page and each page without an entry."""
    try:
        return missing(book, language) + omitted(book, language)
    except BookError as error:
        return [str(error)]
