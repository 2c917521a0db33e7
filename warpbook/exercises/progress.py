"""my/: the reader's answers, and which exercises are done.  Git ignores it."""

from __future__ import annotations

import fcntl
import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from warpbook.book import Book, write_json, write_text
from warpbook.exercises.exercises import Exercise

FOLDER, FILE = "my", ".progress.json"
BROKEN = ".progress-unreadable.json"
NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)

Progress = dict[str, dict[str, Any]]  # by exercise: {"tries", "done"} and when it was done


def answer_path(book: Book, exercise: Exercise) -> Path:
    return book.root / FOLDER / exercise.article / f"{exercise.short}{exercise.suffix}"


def put_stub(book: Book, exercise: Exercise) -> bool:
    """Put the stub where the reader works on it; False, and nothing changed, if there is an answer already."""
    path = answer_path(book, exercise)
    if path.exists() or path.is_symlink():
        return False
    write_text(path, exercise.stub)
    return True


def read(book: Book) -> Progress:
    """What was noted; nothing, where the file is missing or cannot be understood, and of its entries the usual ones."""
    found = kept(book)
    return {name: one for name, one in found.items() if is_entry(name, one)} if isinstance(found, dict) else {}


def kept(book: Book) -> Any:
    """What the file holds, whatever it is; None where it is missing or is not JSON."""
    try:
        return json.loads((book.root / FOLDER / FILE).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def is_entry(name: str, one: Any) -> bool:
    if not (NAME.fullmatch(name) and isinstance(one, dict)):
        return False
    tries, done = one.get("tries", 0), one.get("done", "")
    return type(tries) is int and 0 <= tries < 1 << 53 and isinstance(done, str) and done.isascii()


def note(book: Book, name: str, verdict: str) -> None:
    """Count a judgement of exercise `name`; once right, it stays done. A file that is not ours is put aside first."""
    path = book.root / FOLDER / FILE
    with locked(book):
        if path.is_file() and not isinstance(kept(book), dict):
            path.replace(path.with_name(BROKEN))
        before = read(book).get(name, {})
        done = before.get("done", "") or (time.strftime("%Y-%m-%d") if verdict == "right" else "")
        write_json(path, read(book) | {name: {"tries": before.get("tries", 0) + 1, "done": done}})


@contextmanager
def locked(book: Book) -> Iterator[None]:
    """Two judgements that end together are both counted."""
    path = book.root / FOLDER / ".lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
