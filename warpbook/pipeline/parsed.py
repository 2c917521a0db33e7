"""What a parse must know of a page, and what it finds."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field

from warpbook.blocks.ledger import pending_mark
from warpbook.blocks.outputs import Outputs
from warpbook.book import Book, BookError
from warpbook.records.records import PendingError
from warpbook.records.values import Values
from warpbook.source.pages import Block, Line, Page

MISSING = '<span class="wb-missing">?</span>'


PLACE = re.compile(
    r"(?:docs/|snippets/|mkdocs)[^\s:]*\.\w+(?::\d+)?: "
)  # at the start of a message: a file that people edit
Where = str | Callable[[], str]  # page and line, for messages; looked for only where there is one


@dataclass(frozen=True)
class Shown:
    """A listing where it stands: its block, superfences' HTML of it, and what it printed."""

    block: Block
    html: str
    output: str


@dataclass
class Parsed:
    """What one parse of a page finds, in the order in which it stands there."""

    language: str = "en"
    lines: list[Line] = field(default_factory=list)  # with what is put in from elsewhere
    first: int = 0  # the line after the front matter, from 0
    listings: dict[int, Shown] = field(default_factory=dict)  # by the line that its fence stands on, from 0
    directives: list[tuple[str, str]] = field(default_factory=list)  # as written, and its HTML
    values: dict[str, str] = field(default_factory=dict)  # by expression: its HTML
    problems: list[str] = field(default_factory=list)  # one line for each thing wrong
    searched: str = ""  # HTML whose formulas are still TeX
    html: str = ""


@dataclass
class Context:
    """A page on its way through the pipeline. `root` leads from it to its language's root (`../../`)."""

    page: Page
    language: str
    values: Values
    root: str = ""
    url: str = ""  # where it will be published
    exported: bool = True  # whether it lies there as Markdown and as a notebook too

    def __post_init__(self) -> None:
        self.parsed = Parsed(self.language)
        self.outputs = Outputs(self.page, self.language)
        self.made: set[int] = set()  # places in Markdown's stash of HTML that hold ours; all others are the author's

    @property
    def book(self) -> Book:
        return self.page.book

    def tried(self, where: Where, make: Callable[[], str]) -> str:
        """What `make` makes; words in its place where a GPU has not measured it yet; else a problem, and a `?` in the
        text, so that a preview goes on. A problem that names its own file, such as another page, keeps that place."""
        try:
            return make()
        except PendingError:
            return pending_mark(self.language)
        except BookError as error:
            said = str(error)
            if not any(f": {problem}".endswith(f": {said}") for problem in self.parsed.problems):  # once per page
                has_place = PLACE.match(said)
                self.parsed.problems.append(
                    said if has_place else f"{where if isinstance(where, str) else where()}: {said}"
                )
            return MISSING

    def where(self, written: str) -> str:
        """The first line, outside listings, that has this text: page and line, for messages."""
        inside = {
            i for start, one in self.parsed.listings.items() for i in range(start, start + len(one.block.lines) + 2)
        }
        for i, line in enumerate(self.parsed.lines):
            if written in line.text and i not in inside:
                return f"{self.page.name}:{line.page_number}"
        return self.page.name


CURRENT: ContextVar[Context | None] = ContextVar("the page that a host converts", default=None)
