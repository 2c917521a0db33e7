"""What a page gives and what it asks for: two lists at its top, which track pages show again.

!!! goals "You will be able to"
    - predict from a count how long a copy takes;

!!! needs "You need"
    - the [programming model](programming-model.md).
"""

from __future__ import annotations

import re

from warpbook.book import LANGUAGES, BookError
from warpbook.source.pages import Page

TITLES = {
    "en": {"goals": "You will be able to", "needs": "You need"},
    "zh": {"goals": "读完这一篇，你能够", "needs": "你需要"},
}
ASKED = {
    "goals": "what a reader can do afterwards",
    "needs": "what a reader has to know or have before",
}
OPENING = re.compile(r'^!!! (?P<kind>goals|needs)(?: "(?P<title>.*)")?\s*$')
ITEM = "    - "


def of(page: Page, language: str) -> dict[str, list[str]]:
    """The items of both lists as Markdown. Raises BookError where one is missing, written twice, empty or misnamed."""
    found = read(page, language)
    if lacking := missing(page, language, found):
        raise BookError(lacking[0])
    return found


def read(page: Page, language: str) -> dict[str, list[str]]:
    """The lists that the page has. Raises BookError for one that is written twice or misnamed."""
    found: dict[str, list[str]] = {}
    taken: list[str] | None = None
    for number, line in enumerate(page.source.splitlines(), 1):
        opening = OPENING.match(line)
        if opening:
            kind, title = opening["kind"], TITLES[language][opening["kind"]]
            if opening["title"] != title:
                raise BookError(f'{page.name}:{number}: this list is called "{title}" on every page')
            if kind in found:
                raise BookError(f"{page.name}:{number}: a second list of {kind}; make them one")
            taken = found[kind] = []
        elif taken is not None and line.startswith(ITEM):
            taken.append(line.removeprefix(ITEM).strip())
        elif taken and line.startswith("      ") and line.strip():
            taken[-1] += f" {line.strip()}"  # an item over several lines
        elif line.strip():
            taken = None
    return found


def missing(page: Page, language: str, found: dict[str, list[str]]) -> list[str]:
    """One line for each list that the page lacks."""
    return [
        f'{page.name}: add at its top {ASKED[kind]}: !!! {kind} "{title}", then a list'
        for kind, title in TITLES[language].items()
        if not found.get(kind)
    ]


def problems(pair: list[Page]) -> list[str]:
    """One line for each list that an article lacks, and where its two languages do not have as many items."""
    lists, out = [], []
    for page, language in zip(pair, LANGUAGES, strict=False):
        try:
            lists.append(read(page, language))
            out += missing(page, language, lists[-1])
        except BookError as error:
            out.append(str(error))
    return out or [
        f"{page.name}: {len(other[kind])} items in {kind}, where {pair[0].name} has {len(lists[0][kind])}"
        for page, other in zip(pair[1:], lists[1:], strict=True)
        for kind in other
        if len(other[kind]) != len(lists[0][kind])
    ]
