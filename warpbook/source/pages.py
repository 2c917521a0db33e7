"""Page → blocks: snippets expanded, fences found, every line knowing the file it came from.

What is rendered is what is run: the site's plugin hands MkDocs the text of `expand`, and `blocks` cuts
the same text. Fences may be written ```python, ```python title="…", ```{.python …}, ```py or with ~~~.
Every Python block is run; there is no way to skip one. What is not to be run is shown under another
language (`console`, `text`, …), and a tag that is in no list is an error, so that a typo cannot hide a block.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import markdown
from pymdownx.snippets import SnippetMissingError
from pytest_codeblocks import extract_from_buffer

from warpbook.book import Book, BookError

PYTHON = {"python", "py", "python3"}
SHOWN = {  # rendered, not run on their own; `cuda` runs because programs load the same .cu file
    "asm",
    "bash",
    "c",
    "cmake",
    "console",
    "cpp",
    "cuda",
    "diff",
    "html",
    "ini",
    "json",
    "make",
    "markdown",
    "ptx",
    "sass",
    "sh",
    "text",
    "toml",
    "yaml",
}

SNIPPET_OPTIONS: dict[str, Any] = {"check_paths": True, "dedent_subsections": True}
SNIPPET = re.compile(r"""^\s*-+8<-+[ \t]+(["'])(?P<target>.+)\1\s*$""")
SNIPPET_BLOCK = re.compile(r"^\s*-+8<-+\s*$")
FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
QUOTED_FENCE = re.compile(r"^\s*>[\s>]*(`{3,}|~{3,})")
EXPRESSION = re.compile(r"\{\{[ \t]+(.+?)[ \t]+\}\}")  # `{{ v6.rate }}`; LaTeX's `{{x}}` has no blanks
FRONT_MATTER = re.compile(r"\A---\n(.*?\n)---\n", re.DOTALL)


@dataclass(frozen=True)
class Line:
    """One line of an expanded page: its text, and the file and line (from 1) it came from."""

    text: str
    file: str
    number: int
    page_number: int  # the page's own line, that of the `--8<--` when the text came from a snippet


@dataclass(frozen=True)
class Block:
    """One fenced block. `lines` are its code's lines, `start` its place in the expanded page (from 0)."""

    language: str
    code: str
    page: str
    page_number: int
    lines: tuple[Line, ...]
    start: int
    indent: str

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
        return self.path.read_text("utf-8")

    @cached_property
    def lines(self) -> list[Line]:
        return expand(self.book, self.name, self.source)

    @cached_property
    def blocks(self) -> list[Block]:
        return cut(self.name, self.lines)

    @property
    def python(self) -> list[Block]:
        return [block for block in self.blocks if block.is_python]

    @property
    def counters(self) -> list[str]:
        """Command lines to profile: `counters: ["reduction/ladder.py --profile"]` in the front matter."""
        return self.front_matter("counters")

    @property
    def metrics(self) -> list[str]:
        """Metrics to ask Nsight Compute for besides the usual ones: `metrics: ["…"]` in the front matter."""
        return self.front_matter("metrics")

    def text(self, key: str) -> str:
        """A line of the front matter without its quotation marks; empty where there is none."""
        matter = FRONT_MATTER.match(self.source)
        found = re.search(rf"^{key}: *(.+?) *$", matter[1], re.MULTILINE) if matter else None
        return found[1].strip("\"'") if found else ""

    def front_matter(self, key: str) -> list[str]:
        """A list of strings, written as JSON on one line so that no YAML is needed to record."""
        matter = FRONT_MATTER.match(self.source)
        found = re.search(rf"^{key}:(.*)$", matter[1], re.MULTILINE) if matter else None
        if not found:
            return []
        try:
            listed = json.loads(found[1])
            if isinstance(listed, list) and all(isinstance(item, str) for item in listed):
                return listed
        except json.JSONDecodeError:
            pass
        raise BookError(f'{self.name}: {key} must be a list on one line, such as ["…", "…"]')


def expand(book: Book, name: str, source: str) -> list[Line]:
    """The page's lines with every `--8<-- "file:section"` replaced by what it names."""
    options = {**SNIPPET_OPTIONS, "base_path": [str(book.root)]}
    converter = markdown.Markdown(extensions=["pymdownx.snippets"], extension_configs={"pymdownx.snippets": options})
    snippets: Any = converter.preprocessors["snippet"]
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
    written = (book.root / file).read_text("utf-8").splitlines()
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


def cut(name: str, lines: list[Line]) -> list[Block]:
    """The fenced blocks of an expanded page, Python's found with pytest-codeblocks' own extractor."""
    fences = find_fences(name, lines)
    plain = [""] * len(lines)  # only Python's fences, written the one way the extractor knows
    for start, end, _, indent, language in fences:
        if language == "python":
            texts = [line.text for line in lines[start + 1 : end]]
            longest = max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
            ticks = "`" * max(3, longest + 1)
            plain[start], plain[end] = f"{indent}{ticks}python", indent + ticks
            plain[start + 1 : end] = [text or indent for text in texts]  # or it drops an indented block's empty lines
    extracted = extract_from_buffer(io.StringIO("\n".join(plain) + "\n"), max_num_lines=len(plain) + 2)
    codes = {block.lineno - 1: block.code for block in extracted}
    out = []
    for start, end, number, indent, language in fences:
        body = lines[start + 1 : end]
        code = codes[start] if language == "python" else "".join(remove(indent, line.text) + "\n" for line in body)
        out.append(Block(language, code, name, number, tuple(body), start, indent))
    return out


def find_fences(name: str, lines: list[Line]) -> list[tuple[int, int, int, str, str]]:
    """(start, end, page line, indent, language) of each fence; raises for what could be shown but not run."""
    out = []
    opened: tuple[int, str, str, str] | None = None
    for i, line in enumerate(lines):
        if opened:
            start, fence, indent, language = opened
            if line.text.strip() == fence:
                out.append((start, i, lines[start].page_number, indent, language))
                opened = None
            continue
        where = f"{name}:{line.page_number}"
        if QUOTED_FENCE.match(line.text):
            raise BookError(f"{where}: a block within a quotation would be shown and not run; take it out of the `>`")
        if re.search(r"<!--[-\s]*pytest", line.text):
            raise BookError(
                f"{where}: every block is run, so pytest marks have no place here; "
                "what is not to be run is shown as `console` or `text`"
            )
        match = FENCE.match(line.text)
        if match:
            opened = (i, match["fence"], match["indent"], language_of(where, match["info"].strip()))
    if opened:
        raise BookError(f"{name}:{lines[opened[0]].page_number}: this block is never closed")
    return out


def language_of(where: str, info: str) -> str:
    """The language a fence's first line names."""
    match = re.match(r"\{[^}]*?\.([\w+-]+)", info) if info.startswith("{") else re.match(r"[\w+-]+", info)
    tag = "" if not match else match[1] if info.startswith("{") else match[0]
    if tag in PYTHON:
        return "python"
    if tag in SHOWN:
        return tag
    said = f'unknown language "{tag}"' if tag else "a block without a language"
    raise BookError(f"{where}: {said}; known are python (run) and {', '.join(sorted(SHOWN))} (shown)")


def remove(indent: str, text: str) -> str:
    return text[len(indent) :] if text.startswith(indent) else text.lstrip()


def pair_of_pages(book: Book, article: str) -> list[Page]:
    """The article's pages, English first; fewer than two when a language is missing."""
    paths = [book.page_of(article, language) for language in ("en", "zh")]
    return [Page(book, path) for path in paths if path]
