"""my/: the reader's answers, and which exercises are done.  Git ignores it."""

from __future__ import annotations

import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from warpbook.book import Book, write_json, write_text
from warpbook.exercises.exercises import Exercise

FOLDER, FILE = "my", ".progress.json"

Progress = dict[str, dict[str, Any]]  # by exercise: {"tries", "done"} and when it was done


def answer_path(book: Book, exercise: Exercise) -> Path:
    return book.root / FOLDER / exercise.article / f"{exercise.short}.cu"


def put_stub(book: Book, exercise: Exercise) -> bool:
    """Put the stub where the reader works on it; False, and nothing changed, if there is an answer already."""
    path = answer_path(book, exercise)
    if path.exists() or path.is_symlink():
        return False
    write_text(path, exercise.stub)
    return True


def read(book: Book) -> Progress:
    """What was noted; nothing, where the file is missing or cannot be understood."""
    try:
        found = json.loads((book.root / FOLDER / FILE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {str(name): one for name, one in found.items() if isinstance(one, dict)}


def note(book: Book, name: str, verdict: str) -> None:
    """Count a judgement of exercise `name`; once right, it stays done."""
    with locked(book):
        known = read(book)
        one = known.setdefault(name, {"tries": 0, "done": ""})
        one["tries"] = int(one.get("tries", 0)) + 1
        if verdict == "right" and not one.get("done"):
            one["done"] = time.strftime("%Y-%m-%d")
        write_json(book.root / FOLDER / FILE, known)


@contextmanager
def locked(book: Book) -> Iterator[None]:
    """Two judgements that end together are both counted."""
    path = book.root / FOLDER / ".lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
