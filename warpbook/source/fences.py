"""Listings of a page as superfences finds them: one that is shown is one that is collected, by construction.

`Listings` is pymdownx.superfences with one formatter for every language. The formatter collects the listing, with the
line that its fence stands on, and shows what `draw` makes of it. What wants the listings alone (tests, records,
notebooks) runs the same extension without `draw`: see `find`. Every Python listing is run; there is no way to skip one.
What is not to be run is shown under another language (`console`, `text`, …). A tag that is in no list is an error, and
so is a fence that superfences leaves alone, so that nothing is shown as a listing and not collected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import markdown
from markdown.extensions import Extension
from pymdownx.superfences import (
    SuperFencesBlockPreprocessor,
    SuperFencesCodeExtension,
    SuperFencesException,
    highlight_validator,
)

from warpbook.book import BookError

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
FENCE = re.compile(r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")
QUOTED_FENCE = re.compile(r"^\s*>[\s>]*(`{3,}|~{3,})")
TAG = re.compile(r"(?:\{[^}]*?\.)?([\w#.+-]*)")  # of what follows a fence
MARKS = re.compile(r"<!--[-\s]*pytest")


class FenceError(BookError, SuperFencesException):  # type: ignore[misc]
    """A fence that could be shown but not run. `line` is its place among the lines given, from 0."""

    def __init__(self, line: int, said: str) -> None:
        super().__init__(said)
        self.line = line


@dataclass(frozen=True)
class Listing:
    """One listing: the lines `start` (its fence) to `end` (the fence that closes it), from 0, and what is between."""

    language: str  # "python" for each way of writing it
    tag: str  # as written
    options: dict[str, Any]  # such as title
    code: str  # without the fence's indent
    start: int
    end: int


COLOURED: dict[tuple[str, ...], str] = {}  # listings that both languages show alike
Draw = Callable[[Listing, Callable[..., str]], str]  # given a listing and superfences' own `highlight`, its HTML


class Listings(SuperFencesCodeExtension):  # type: ignore[misc]
    """superfences whose formatter collects."""

    def __init__(self, draw: Draw | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.draw = draw
        self.found: list[Listing] = []

    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802
        fences = [{"name": "*", "class": "", "format": self.show, "validator": self.known}]
        self.setConfig("custom_fences", fences)
        super().extendMarkdown(md)

    def patch_fenced_rule(self) -> None:
        """superfences' own, whose preprocessor is ours."""
        super().patch_fenced_rule()
        md = self.md
        theirs = md.preprocessors["fenced_code_block"]
        ours = Fences(md)
        ours.config, ours.extension = theirs.config, self
        md.preprocessors.register(ours, "fenced_code_block", 25)

    def reset(self) -> None:
        super().reset()
        self.found = []

    def known(
        self, language: str | None, inputs: dict[str, Any], options: dict[str, Any], attrs: dict[str, Any], md: Any
    ) -> bool:
        """superfences' check of a fence's first line: the language must be in a list."""
        return bool(tag_of(language or "")) and bool(highlight_validator(language, inputs, options, attrs, md))

    def show(self, source: str, tag: str, class_name: str, options: dict[str, Any], md: Any, **rest: Any) -> str:
        """superfences' formatter."""
        fences = md.preprocessors["fenced_code_block"]
        code = f"{source}\n" if source or fences.line_count > 0 else ""
        listing = Listing(tag_of(tag), tag, dict(options), code, fences.start, fences.end - 1)
        self.found.append(listing)
        if not self.draw:
            return ""

        def highlight(tag: str = tag) -> str:
            key = (tag, source, repr(sorted(options.items())), repr(sorted(rest.items())))
            if key not in COLOURED:
                COLOURED[key] = str(fences.highlight(src=source, language=tag, options=options, md=md, **rest))
            return COLOURED[key]

        return self.draw(listing, highlight)


class Fences(SuperFencesBlockPreprocessor):  # type: ignore[misc]
    """superfences' search, which knows the lines of what it found and does not leave a fence alone."""

    def run(self, lines: list[str]) -> list[str]:
        out: list[str] = super().run(lines)
        ends = {one.start: one.end for one in self.extension.found}
        taken = {i for start, end in ends.items() for i in range(start, end + 1)}
        for i, line in enumerate(lines):
            said = left_alone(line) if i not in taken else taken_in(lines[i : ends[i] + 1]) if i in ends else ""
            if said:
                raise FenceError(i, said)
        return out

    def process_nested_block(self, ws: str, content: str, start: int, end: int) -> None:
        if self.quote_level:
            return self.clear()  # type: ignore[no-any-return]
        self.start, self.end = start, end
        return super().process_nested_block(ws, content, start, end)  # type: ignore[no-any-return]


def tag_of(tag: str) -> str:
    """The language that a fence's first line names; empty for one that is in no list."""
    return "python" if tag in PYTHON else tag if tag in SHOWN else ""


def found_tag(info: str) -> str:
    """The language that stands behind a fence, as written; empty for none."""
    found = TAG.match(info.strip())
    return found[1] if found else ""


def left_alone(line: str) -> str:
    """What is wrong with a line that begins a fence, and no listing; empty if it does not begin one."""
    if QUOTED_FENCE.match(line):
        return "a block within a quotation would be shown and not run; take it out of the `>`"
    if MARKS.search(line):
        instead = "what is not to be run is shown as `console` or `text`"
        return f"every block is run, so pytest marks have no place here; {instead}"
    match = FENCE.match(line)
    if not match:
        return ""
    tag = found_tag(match["info"])
    if tag_of(tag):
        return "this block is never closed"
    said = f'unknown language "{tag}"' if tag else "a block without a language"
    return f"{said}; known are python (run) and {', '.join(sorted(SHOWN))} (shown)"


def taken_in(lines: Sequence[str]) -> str:
    """What is wrong with a listing, given with its fences, that has taken in the beginning of another; empty: nothing.

    The fence that closes it is then the other's: it was itself never closed.
    """
    opening = FENCE.match(lines[0])
    for line in lines[1:-1] if opening else []:
        inner = FENCE.match(line)
        if opening and inner and inner["fence"].startswith(opening["fence"]) and tag_of(found_tag(inner["info"])):
            return (
                f"this block is never closed: {line.strip()} begins another within it; close it, or, if that line is "
                f"its text, fence it with {opening['fence'][0] * (len(inner['fence']) + 1)}"
            )
    return ""


def find(lines: Sequence[str]) -> list[Listing]:
    """The listings of these lines. Raises FenceError."""
    listings = Listings()
    extensions: list[Extension | str] = [listings]
    md = markdown.Markdown(extensions=extensions)
    md.preprocessors["fenced_code_block"].run(list(lines))
    return listings.found
