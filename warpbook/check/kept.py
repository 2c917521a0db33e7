"""What a check found in order is not looked at again while everything that it read reads the same: .cache/check.json.

A finding is kept with the questions (warpbook/reads.py) that were asked for it: the texts of files, whether files are
there, what folders hold. The next check asks them again and takes the finding only if each answer is the same. All
findings go if warpbook itself, the theme, a package or Python is another. A finding that names something wrong is never
kept, so that what a check says is always found anew.
"""

from __future__ import annotations

import hashlib
import json
import sys
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from warpbook import reads
from warpbook.book import Book, here, write_cache

FILE = Path(".cache") / "check.json"
# Of the tool itself, from its root: what pages are checked with and what no page's own questions name.
CODE = ("warpbook/**/*", "theme/**/*", "softcuda/python/softcuda/profiles/*", "node_modules/.package-lock.json")


class Kept:
    """The findings of the check before, and those of this one."""

    def __init__(self, book: Book) -> None:
        self.book, self.code = book, code()
        self.before, self.now = dict[str, Any](), dict[str, Any]()
        self.answers_before, self.answers = dict[str, Any](), dict[str, Any]()
        try:
            known = json.loads((book.root / FILE).read_text("utf-8"))
            if known["code"] == self.code:
                self.before, self.answers_before = dict(known["found"]), dict(known["answers"])
        except (OSError, ValueError, KeyError, TypeError):
            pass  # there is none, or it is of another time

    def find(self, what: str, make: Callable[[], Any], is_kept: Callable[[Any], bool] = lambda found: not found) -> Any:
        """What `make` finds, as JSON has it, or what it found before; by itself a finding is kept if it is empty."""
        if (old := self.before.get(what)) is not None and self.holds(old["asked"]):
            self.keep(what, old["found"], {one: self.answers_before[one] for one in old["asked"]})
            return old["found"]
        with reads.noted() as notes:
            found = make()
        if is_kept(found):
            self.keep(what, found, {self.written(question): plain(answer) for question, answer in notes.items()})
        return found

    def keep(self, what: str, found: Any, answers: dict[str, Any]) -> None:
        """Not what was found before, or after, a file was edited while the check ran."""
        if all(self.answers.setdefault(one, answer) == answer for one, answer in answers.items()):
            self.now[what] = {"asked": list(answers), "found": found}

    def holds(self, asked: Iterable[str]) -> bool:
        return all(plain(reads.answer(self.question(one))) == self.answers_before.get(one) for one in asked)

    def written(self, question: reads.Question) -> str:
        kind, place, pattern = question
        return json.dumps([kind, self.book.relative(Path(place)), pattern], ensure_ascii=False)

    def question(self, written: str) -> reads.Question:
        kind, place, pattern = json.loads(written)
        return kind, str(self.book.root / place), pattern

    def write(self) -> None:
        """Keep what this check has found or found again, and nothing else."""
        write_cache(self.book.root / FILE, {"code": self.code, "answers": self.answers, "found": self.now})


def plain(answer: reads.Answer) -> Any:
    """As JSON has it."""
    return list(answer) if isinstance(answer, tuple) else answer


def code() -> str:
    """What the findings depend on beside the book: this tool, its packages, Python."""
    root = here().root
    files = [
        path for pattern in CODE for path in sorted(root.glob(pattern)) if path.suffix != ".pyc" and path.is_file()
    ]
    seen = hashlib.sha256(sys.version.encode())
    for path in files:
        seen.update(f"\0{path.relative_to(root)}\0".encode() + path.read_bytes())
    for path in sorted(Path(sysconfig.get_path("purelib")).glob("*-info")):
        seen.update(f"\0{path.name}".encode())
    return seen.hexdigest()
