"""Comments of listings in the language of the page: a table beside the programs, applied where a listing is shown.

snippets/<article>/comments.toml leads from a comment, as the programs have it, to its translation:

    "Each lane adds its own values first." = "每个 lane 先累加自己的值。"

A comment of several lines is one entry: its lines joined by a blank. The translation is broken into as many lines, so
that every line keeps its number. Programs are never changed: what runs, and its hash, have the English comments. A
comment without an entry is shown in English; `warpbook check` names an entry whose comment is gone.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from warpbook import reads, toml
from warpbook.book import Book, BookError
from warpbook.source.pages import Line, Page

FILE = "comments.toml"
LANGUAGE = "zh"
SUFFIXES = (".cu", ".cuh", ".cpp", ".c", ".py")
# A string, a character, or a comment, whichever begins first.
CPP = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
WORDS = re.compile(r"[A-Za-z]{3,}")
MARKS = re.compile(
    r"8<-+|^(?:end of )?your code$|^(?:type|noqa|pragma|fmt|ruff|mypy)\b|^clang-format"
)  # for tools, not for readers
OPENING = re.compile(r"#+:?\s*|//[/!]?<?\s*|/\*+\s*")
CLOSING = re.compile(r"\s*\*+/$")
PIECE = re.compile(r"(?:`[^`]*`|[^\s\u2e80-\uffef]+|[\u2e80-\uffef])[，。；：、）”？！…]*\s*")  # where no line ends


@dataclass(frozen=True)
class Comment:
    """A comment of a file: its first line (from 1), where its text begins and ends in each of its lines, the text."""

    first: int
    spans: tuple[tuple[int, int], ...]
    text: str

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + len(self.spans))


# -- the comments of a program -----------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def of_text(text: str, python: bool) -> tuple[Comment, ...]:
    """The comments and docstrings of a program. Comments alone on their lines that follow at one column are one."""
    lines = text.splitlines()
    out: list[Comment] = []
    column_before = -1
    for number, column, token in in_python(text) if python else in_cpp(text):
        opening, closing = OPENING.match(token), CLOSING.search(token)
        assert opening
        start, end = opening.end(), closing.start() if closing else len(token.rstrip())
        body, span = token[start:end], (column + start, column + end)
        if not body or MARKS.search(body):
            column_before = -1
            continue
        alone = not lines[number - 1][:column].strip()
        if alone and column == column_before and out[-1].numbers[-1] + 1 == number:
            out[-1] = Comment(out[-1].first, (*out[-1].spans, span), f"{out[-1].text} {body}")
        else:
            out.append(Comment(number, (span,), body))
        column_before = -1 if closing else column
    return tuple([*out, *docstrings(text, lines)] if python else out)


def in_python(text: str) -> Iterator[tuple[int, int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield *token.start, token.string


def in_cpp(text: str) -> Iterator[tuple[int, int, str]]:
    """Those on one line; `/* */` of several lines, which the book does not have in listings, stay as they are."""
    for match in CPP.finditer(text):
        if match[0][0] == "/" and "\n" not in match[0]:
            yield (
                text.count("\n", 0, match.start()) + 1,
                match.start() - text.rfind("\n", 0, match.start()) - 1,
                match[0],
            )


def docstrings(text: str, lines: list[str]) -> Iterator[Comment]:
    """A comment for each paragraph of a docstring."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) or not ast.get_docstring(node):
            continue
        string = node.body[0]
        first, last = string.lineno, string.end_lineno or string.lineno
        spans: list[tuple[int, int]] = []
        for number in range(first, last + 2):
            line = lines[number - 1] if number <= last else ""
            found = re.match(r'\s*(?:[rR]?""")?\s*(.*?)\s*(?:""")?$', line)
            if found and found[1]:
                spans.append(found.span(1))
            elif spans:
                body = " ".join(lines[number - len(spans) - 1 + i][a:b] for i, (a, b) in enumerate(spans))
                yield Comment(number - len(spans), tuple(spans), body)
                spans = []


def of_file(book: Book, file: str) -> tuple[Comment, ...]:
    path = book.root / file
    if path.suffix not in SUFFIXES or not reads.is_file(path):
        return ()
    return of_text(reads.text(path), path.suffix == ".py")


# -- the table ---------------------------------------------------------------------------------------------------------


@reads.remembered
def table(book: Book, folder: Path) -> dict[str, str]:
    """The translations of the comments of a folder's programs; empty where it has no comments.toml."""
    path = folder / FILE
    if not reads.is_file(path):
        return {}
    name = book.relative(path)
    return toml.parse(toml.read_text(path, name), name, toml.table_of(toml.TEXT))


def shown(book: Book, lines: Iterable[Line], language: str) -> list[Line]:
    """The lines of listings as pages of this language show them."""
    return list(translated(book, lines)) if language == LANGUAGE else list(lines)


def translated(book: Book, lines: Iterable[Line]) -> Iterator[Line]:
    files: dict[str, tuple[dict[int, tuple[int, int, str]], list[str]]] = {}
    for line in lines:
        if line.file not in files:
            found = replacements(book, line.file)
            files[line.file] = found, reads.text(book.root / line.file).splitlines() if found else []
        known, raws = files[line.file]
        if line.number in known:
            (start, end, said), raw = known[line.number], raws[line.number - 1]
            moved = len(line.text.rstrip()) - len(raw.rstrip())  # a page may show it more or less indented
            text = f"{line.text[: start + moved]}{said}{line.text[end + moved :]}".rstrip()
            yield replace(line, text=text, written=line.text)
        else:
            yield line


def in_file(book: Book, file: str, language: str) -> str:
    """A whole file with its comments in this language."""
    text = reads.text(book.root / file)
    lines = (Line(one, file, number, 0) for number, one in enumerate(text.splitlines(), 1))
    return "".join(f"{line.text}\n" for line in shown(book, lines, language)) if language == LANGUAGE else text


def of_exercise(book: Book, text: str, python: bool, folder: Path, language: str) -> str:
    """A stub or a solution with its comments in this language; `folder` holds the table, beside the exercises."""
    known = table(book, folder) if language == LANGUAGE else {}
    lines = text.splitlines()
    for number, (start, end, said) in placed(of_text(text, python) if known else (), known).items():
        lines[number - 1] = f"{lines[number - 1][:start]}{said}{lines[number - 1][end:]}"
    return "".join(f"{line}\n" for line in lines)


@reads.remembered
def replacements(book: Book, file: str) -> dict[int, tuple[int, int, str]]:
    """By line of `file`: where the text of a translated comment stands in it, and what stands there instead."""
    known = table(book, (book.root / file).parent) if Path(file).suffix in SUFFIXES else {}
    return placed(of_file(book, file) if known else (), known)


def placed(found: Iterable[Comment], known: dict[str, str]) -> dict[int, tuple[int, int, str]]:
    return {
        number: (*span, said)
        for comment in found
        if comment.text in known
        for number, span, said in zip(
            comment.numbers, comment.spans, broken(known[comment.text], len(comment.spans)), strict=True
        )
    }


def wide(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def broken(text: str, count: int) -> list[str]:
    """The text on `count` lines of about equal width, each broken after punctuation where that is near."""
    lines = []
    for left in range(count, 1, -1):
        goal, at, best = wide(text) / left, 0, (float("inf"), 0)
        for piece in PIECE.finditer(text):
            at = piece.end()
            worse = 0 if piece[0].rstrip()[-1:] in "。；：" else 0.1 if piece[0].rstrip()[-1:] in "，、" else 0.5
            best = min(best, (abs(wide(text[:at]) / goal - 1) + worse, at))
        lines.append(text[: best[1]].rstrip())
        text = text[best[1] :]
    return [*lines, text]


# -- what is wrong, and what is left -----------------------------------------------------------------------------------


def problems(book: Book, article: str) -> list[str]:
    """One line for each translation whose comment is in no program, or no exercise, of the article any more."""
    out = []
    for folder, files, what in (
        (book.snippets / article, "*.*", "program"),
        (book.root / "exercises" / article, "*/s*.*", "exercise"),
    ):
        known = table(book, folder)
        paths = reads.listed(folder, files) if known else []
        there = {one.text for path in paths for one in of_file(book, book.relative(path))}
        name = book.relative(folder / FILE)
        out += [
            f'{name}: no {what} of {article} has the comment "{text}" any more' for text in known if text not in there
        ]
    return out


def left(book: Book) -> list[str]:
    """One line with the comments that Chinese pages still show in English; none where all are translated."""
    found: dict[str, set[str]] = {}
    for path in book.pages(LANGUAGE):
        try:
            texts_by_file = untranslated(book, Page(book, path))
        except BookError:  # of a page that cannot be read: `checks.problems` names it
            continue
        for file, texts in texts_by_file.items():
            found.setdefault(file, set()).update(texts)
    for file, texts in untranslated_in_exercises(book).items():
        found[file] = set(texts)
    count = sum(map(len, found.values()))
    listed = ", ".join(f"{file}: {len(texts)}" for file, texts in sorted(found.items()))
    return [f"comments of listings that Chinese pages show in English: {count} ({listed})"] if count else []


def untranslated(book: Book, page: Page) -> dict[str, list[str]]:
    """By file: the comments that this page, in Chinese, shows in English."""
    numbers: dict[str, set[int]] = {}
    for line in (line for block in page.blocks for line in block.lines if line.file != page.name):
        numbers.setdefault(line.file, set()).add(line.number)
    out: dict[str, list[str]] = {}
    for file, shown_lines in numbers.items():
        known = table(book, (book.root / file).parent)
        for one in of_file(book, file):
            if one.text not in known and shown_lines & set(one.numbers) and WORDS.search(one.text):
                out.setdefault(file, []).append(one.text)
    return out


def untranslated_in_exercises(book: Book) -> dict[str, list[str]]:
    """By stub or solution: the comments that Chinese pages show in English."""
    out: dict[str, list[str]] = {}
    for path in reads.listed(book.root, "exercises/*/*/s*.*"):
        known, file = table(book, path.parents[1]), book.relative(path)
        if texts := [one.text for one in of_file(book, file) if one.text not in known and WORDS.search(one.text)]:
            out[file] = texts
    return out
