"""Page → blocks: snippets expanded, listings found, every line knowing the file it came from.

What is rendered is what is run: the site shows what `expand` and superfences (fences.py) make of a page, and `blocks`
are the listings that superfences found. Fences may be written ```python, ```python title="…", ```{.python …}, ```py or
with ~~~.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import markdown
import yaml
from pymdownx.snippets import SnippetExtension, SnippetMissingError, SnippetPreprocessor
from pytest_codeblocks import extract_from_buffer

from warpbook import reads
from warpbook.book import Book, BookError
from warpbook.source.fences import FenceError, Listing, find

SNIPPET_OPTIONS: dict[str, Any] = {"check_paths": True, "dedent_subsections": True}
SNIPPET = re.compile(r"""^\s*-+8<-+[ \t]+(["'])(?P<target>.+)\1\s*$""")
SNIPPET_BLOCK = re.compile(r"^\s*-+8<-+\s*$")
EXPRESSION = re.compile(r"\{\{[ \t]+(.+?)[ \t]+\}\}")  # `{{ v6.rate }}`; LaTeX's `{{x}}` has no blanks
FRONT_MATTER = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)


@dataclass(frozen=True)
class Line:
    """One line of an expanded page: its text, and the file and line (from 1) it came from."""

    text: str
    file: str
    number: int
    page_number: int  # the page's own line, that of the `--8<--` when the text came from a snippet
    written: str = ""  # the text as the file has it, where the page shows it with a translated comment


@dataclass(frozen=True)
class Block:
    """One fenced block. `lines` are its code's lines, `start` its place in the expanded page (from 0)."""

    language: str
    code: str
    page: str
    page_number: int
    lines: tuple[Line, ...]
    start: int

    @property
    def is_python(self) -> bool:
        return self.language == "python"

    @property
    def where(self) -> str:
        return f"{self.page}:{self.page_number}"

    def origin(self, number: int) -> Line:
        """Where line `number` (from 1) of the code was written."""
        return self.lines[min(max(number, 1), len(self.lines)) - 1]


@dataclass
class Page:
    """A page as it is rendered and run. Raises BookError at the first thing wrong with it."""

    book: Book
    path: Path

    @classmethod
    def of(cls, book: Book, name: str, source: str) -> Page:
        """The page `name` with the text `source`."""
        page = cls(book, book.root / name)
        page.name, page.source = name, source
        return page

    @cached_property
    def name(self) -> str:
        return self.book.relative(self.path)

    @property
    def article(self) -> str:
        return self.path.stem

    @property
    def title(self) -> str:
        """The page's heading; the article's name where it has none."""
        found = re.search(r"^# (.+?)\s*(?:\{.*)?$", self.source, re.MULTILINE)
        return found[1] if found else self.article

    @cached_property
    def source(self) -> str:
        return reads.text(self.path)

    @cached_property
    def lines(self) -> list[Line]:
        return expand(self.book, self.name, self.source)

    @cached_property
    def blocks(self) -> list[Block]:
        return blocks_of(self.book, self.name, self.source)

    @property
    def python(self) -> list[Block]:
        return [block for block in self.blocks if block.is_python]

    @property
    def counters(self) -> list[str]:
        """Command lines to profile: `counters: ["reduction/ladder.py --profile"]` in the front matter."""
        return self.texts("counters")

    @property
    def metrics(self) -> list[str]:
        """Metrics to ask Nsight Compute for besides the usual ones: `metrics: ["…"]` in the front matter."""
        return self.texts("metrics")

    @property
    def first(self) -> int:
        """The line after the front matter, from 0."""
        matter = FRONT_MATTER.match(self.source)
        return matter[0].count("\n") if matter else 0

    @cached_property
    def front_matter(self) -> dict[str, Any]:
        """What stands above the page, as YAML."""
        matter = FRONT_MATTER.match(self.source)
        try:
            found = loaded(matter[1]) if matter else None
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 2 if error.problem_mark else 1
            said = f'front matter: {error.problem}; text with ": " in it wants quotation marks'
            raise BookError(f"{self.name}:{line}: {said}") from None
        return found if isinstance(found, dict) else {}

    def text(self, key: str) -> str:
        """A text of the front matter; empty where there is none."""
        return str(self.front_matter.get(key) or "")

    def texts(self, key: str) -> list[str]:
        """A list of texts of the front matter; empty where there is none."""
        listed = self.front_matter.get(key) or []
        if isinstance(listed, list) and all(isinstance(item, str) for item in listed):
            return listed
        raise BookError(f'{self.name}: {key} must be a list of texts, such as ["…", "…"]')

    @cached_property
    def fenced(self) -> frozenset[int]:
        """Which of `lines` are of a listing, its fences included."""
        return frozenset(i for block in self.blocks for i in range(block.start, block.start + len(block.lines) + 2))

    @property
    def prose(self) -> list[Line]:
        """The lines between front matter and end that are of no listing."""
        return [line for i, line in enumerate(self.lines) if i >= self.first and i not in self.fenced]


@lru_cache(maxsize=256)
def loaded(matter: str) -> Any:
    """Front matter as YAML."""
    return yaml.safe_load(matter)


class Snippets(SnippetPreprocessor):  # type: ignore[misc]
    """pymdownx.snippets' reading of `--8<--`, which asks `reads` for each file."""

    def __init__(self, book: Book) -> None:
        options = {**SNIPPET_OPTIONS, "base_path": [str(book.root)]}
        super().__init__(SnippetExtension(**options).getConfigs(), markdown.Markdown())
        self.book = book

    def get_snippet_path(self, path: str) -> str | None:
        """Where the file is. It is read here, to be noted: not every version has a method that reads one."""
        reads.exists(self.book.root / path)
        found: str | None = super().get_snippet_path(path)
        if found:
            reads.text(Path(found))
        return found


@reads.remembered
def expand(book: Book, name: str, source: str) -> list[Line]:
    """The page's lines with every `--8<-- "file:section"` replaced by what it names."""
    snippets = Snippets(book)
    out: list[Line] = []
    for number, text in enumerate(source.splitlines(), 1):
        if SNIPPET_BLOCK.match(text):
            raise BookError(f'{name}:{number}: write each snippet on a line of its own: --8<-- "file:section"')
        match = SNIPPET.match(text)
        if not match:
            plain = snippets.run([text]) if "8<" in text else [text]  # takes the `;` off an escaped marker
            out += [Line(t, name, number, number) for t in plain]
            continue
        target = match["target"]
        try:
            texts = snippets.run([text])
        except SnippetMissingError as error:
            file, _, section = target.partition(":")
            missing = (
                f'{file} has no section "{section}"'
                if str(error).startswith("Snippet section")
                else f"there is no {file}"
            )
            raise BookError(f'{name}:{number}: snippet "{target}": {missing}') from None
        out += locate(book, name, number, target, texts)
    return out


def locate(book: Book, name: str, number: int, target: str, texts: list[str]) -> list[Line]:
    """Say which line of the snippet's file each expanded line is, by walking both in order."""
    file, _, section = target.partition(":")
    written = reads.text(book.root / file).splitlines()
    at = 0
    if re.match(r"[a-zA-Z]", section):
        marks = {
            kind: [i for i, t in enumerate(written) if re.search(rf"8<-+\s*\[{kind}:\s*{section}\s*\]", t)]
            for kind in ("start", "end")
        }
        if not marks["end"]:
            raise BookError(f'{name}:{number}: snippet "{target}": section "{section}" has no end in {file}')
        at = marks["start"][0] + 1
    elif section:
        first = re.match(r"\d*", section)
        at = max(0, int(first[0]) - 1) if first and first[0] else 0
    out = []
    for text in texts:
        found = next((i for i in range(at, len(written)) if written[i].strip() == text.strip()), None)
        if found is None:
            out.append(Line(text, name, number, number))  # came from a snippet within the snippet
        else:
            out.append(Line(text, file, found + 1, number))
            at = found + 1
    return out


@reads.remembered
def blocks_of(book: Book, name: str, source: str) -> list[Block]:
    """The listings of a page whose text is `source`."""
    return listings(name, expand(book, name, source))


def listings(name: str, lines: list[Line]) -> list[Block]:
    """The fenced blocks of an expanded page; Python's are what pytest-codeblocks makes tests of."""
    try:
        found = find([line.text for line in lines])
    except FenceError as error:
        raise BookError(f"{name}:{lines[error.line].page_number}: {error}") from None
    blocks = [block_of(name, lines, one) for one in found]
    python = [block for block in blocks if block.is_python]
    for block, code in zip(python, tests([block.code for block in python]), strict=True):
        if code != block.code:
            raise BookError(f"{block.where}: pytest-codeblocks would test another code than this block shows")
    return blocks


def block_of(name: str, lines: Sequence[Line], one: Listing) -> Block:
    """A listing that superfences found among `lines`, with where each of its lines is from."""
    body = tuple(lines[one.start + 1 : one.end])
    return Block(one.language, one.code, name, lines[one.start].page_number, body, one.start)


def tests(codes: list[str]) -> list[str]:
    """What pytest-codeblocks makes of these listings: a test each."""
    text = ""
    for code in codes:
        ticks = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", code))])
        text += f"{ticks}python\n{code}{ticks}\n\n"
    return [block.code for block in extract_from_buffer(io.StringIO(text), max_num_lines=text.count("\n") + 2)]


def pair_of_pages(book: Book, article: str) -> list[Page]:
    """The article's pages, English first; fewer than two when a language is missing."""
    paths = [book.page_of(article, language) for language in ("en", "zh")]
    return [Page(book, path) for path in paths if path]
