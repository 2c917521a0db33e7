"""Reads the book's files and knows which: what was made of files is made again only once one of them reads otherwise.

    @remembered
    def lines(book: Book, name: str) -> list[Line]:
        return expand(files.text(book.root / name))

Whatever a remembered function reads it asks for here: a text, whether a file is there, the files of a folder. Each
question is noted with its answer, those of the remembered functions that it calls included, and the result is used
again as long as all answers are the same. Nothing is believed because of a time stamp. Within `settled` (a command, a
process that builds) each question is asked once: what changes meanwhile is seen by the next command.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

Question = tuple[str, str, str]  # its kind, the path, and for a folder the pattern
Answer = str | bool | tuple[str, ...]  # a digest of the text; whether it is there; names
P = ParamSpec("P")
R = TypeVar("R")
MOST = 2048  # results of one function


@dataclass
class Settled:
    since: object = field(default_factory=object)
    answers: dict[Question, Answer] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


NOTES: ContextVar[dict[Question, Answer] | None] = ContextVar("what has been asked", default=None)
SETTLED: ContextVar[Settled | None] = ContextVar("answers that hold until this ends", default=None)


# -- questions ---------------------------------------------------------------------------------------------------------


def text(path: Path) -> str:
    """The text of a UTF-8 file. Raises what `Path.read_text` raises."""
    place, settled = str(path), SETTLED.get()
    if settled and place in settled.texts:
        said = settled.texts[place]
        note(("text", place, ""), settled.answers["text", place, ""])
        return said
    question = ("text", place, "")
    try:
        said = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        note(question, "")
        raise
    of_now = digest(said)
    if settled:
        settled.texts[place], settled.answers[question] = said, of_now
    note(question, of_now)
    return said


def digest(said: str) -> str:
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def is_file(path: Path) -> bool:
    return bool(asked(("file", str(path), "")))


def exists(path: Path) -> bool:
    return bool(asked(("there", str(path), "")))


def listed(folder: Path, pattern: str) -> list[Path]:
    """What `glob` finds in a folder, sorted."""
    names = asked(("listed", str(folder), pattern))
    assert isinstance(names, tuple)
    return [folder / name for name in names]


def asked(question: Question) -> Answer:
    found = answer(question)
    note(question, found)
    return found


def answer(question: Question) -> Answer:
    """The answer of now, or that of the time since which files are settled; noted nowhere."""
    settled = SETTLED.get()
    if settled and question in settled.answers:
        return settled.answers[question]
    found = looked_up(question)
    if settled:
        settled.answers[question] = found
    return found


def looked_up(question: Question) -> Answer:
    """The answer of now."""
    kind, place, pattern = question
    path = Path(place)
    if kind == "file":
        return path.is_file()
    if kind == "there":
        return path.exists()
    if kind == "listed":
        return tuple(found.relative_to(path).as_posix() for found in sorted(path.glob(pattern)))
    try:
        return digest(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return ""


def note(question: Question, found: Answer) -> None:
    if (notes := NOTES.get()) is not None:
        notes[question] = found


@contextmanager
def noted() -> Iterator[dict[Question, Answer]]:
    """Collects what is asked within; whoever collects around it hears of it too."""
    around, notes = NOTES.get(), dict[Question, Answer]()
    token = NOTES.set(notes)
    try:
        yield notes
    finally:
        NOTES.reset(token)
        if around is not None:
            around.update(notes)


@contextmanager
def settled() -> Iterator[None]:
    """Files do not change within: each is read once. One within another is the outer one."""
    if SETTLED.get():
        yield
        return
    token = SETTLED.set(Settled())
    try:
        yield
    finally:
        SETTLED.reset(token)


# -- results -----------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    made: Any
    notes: dict[Question, Answer]
    settled: object = None  # since when it is known to hold


def holds(notes: dict[Question, Answer]) -> bool:
    """Whether each question has the same answer still."""
    return all(answer(question) == before for question, before in notes.items())


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, whose results are used again; nobody may change one. What it raises is not kept."""
    results: dict[Hashable, Result] = {}

    @functools.wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        key = (arguments, tuple(named.items()))
        found, scope = results.get(key), SETTLED.get()
        if found and ((scope and found.settled is scope.since) or holds(found.notes)):
            if (notes := NOTES.get()) is not None:
                notes.update(found.notes)
        else:
            with noted() as asked_now:
                made = function(*arguments, **named)
            results.pop(key, None)
            found = results[key] = Result(made, asked_now)
            if len(results) > MOST:
                del results[next(iter(results))]
        if scope:
            found.settled = scope.since
        return found.made  # type: ignore[no-any-return]

    return call
