"""Where in a project's files a line of a kernel stands.

PyCUDA hands the compiler a string, so a finding names `kernel.cu:5`, a file that nobody has.  An editor or a pull
request needs the file that holds the string.  It is found by its text: the lines around the finding's, or that line
alone if the project has it only once, in a file that names the kernel.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SUFFIXES = (".py", ".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp", ".ptx")
LARGEST, MOST_FILES = 2**20, 20_000  # bytes of a file; files that are looked at
AROUND = 8  # lines before and after the finding's that must agree
SHARE = 0.6  # of them: lines that the program fills in, such as f"#define N {n}", differ
WHOLE = 12  # characters from which one line says something by itself


@dataclass(frozen=True)
class Place:
    """A line of a file; line 0: no line is known."""

    file: Path
    line: int = 0


def undo_escapes(text: str) -> str:
    """Text without what a Python string adds to that of a kernel: doubled backslashes, an f-string's doubled braces."""
    return text.replace("\\\\", "\\").replace("{{", "{").replace("}}", "}")


def lines_of(text: str) -> list[str]:
    return [line.strip() for line in undo_escapes(text).split("\n")]


def root_of(folder: Path) -> Path:
    """The checkout that `folder` is in, else `folder` itself."""
    named = os.environ.get("GITHUB_WORKSPACE", "")
    if named and folder.is_relative_to(Path(named).resolve()):
        return Path(named).resolve()
    return next((parent for parent in (folder, *folder.parents) if (parent / ".git").exists()), folder)


class Project:
    """The files under `root`, and among them `program`, which is looked at first."""

    def __init__(self, root: Path, program: Path | None = None) -> None:
        self.root = root
        self.program = program
        self.texts: dict[Path, str] = {}
        self.split: dict[Path, list[str]] = {}

    def relative(self, file: Path) -> str:
        """The path from the root; an absolute one for a file elsewhere."""
        return file.relative_to(self.root).as_posix() if file.is_relative_to(self.root) else str(file)

    @cached_property
    def files(self) -> list[Path]:
        """Sources that belong to the project: no environments, no hidden folders."""
        found: list[Path] = []
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(
                name
                for name in folders
                if not name.startswith(".")
                and name not in ("node_modules", "site-packages", "__pycache__")
                and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
            )
            found += [Path(folder, name) for name in sorted(names) if name.endswith(SUFFIXES)]
            if len(found) >= MOST_FILES:
                break
        return found[:MOST_FILES]

    def lines(self, file: Path) -> list[str]:
        if file not in self.split:
            self.split[file] = lines_of(self.text(file))
        return self.split[file]

    def text(self, file: Path) -> str:
        if file not in self.texts:
            try:
                small = file.stat().st_size <= LARGEST
                self.texts[file] = undo_escapes(file.read_text("utf-8", "replace")) if small else ""
            except OSError:
                self.texts[file] = ""
        return self.texts[file]

    def find(self, name: str, line: int, source: list[str], kernel: str = "") -> Place | None:
        """Line `line` of what the compiler knew as file `name`, whose lines are `source` (empty: not known).

        `kernel`, as C++ has its name, is in the file where no other line than the one agrees.
        """
        if line < 1:
            return None
        wanted = lines_of("\n".join(source))
        return self.find_by_name(name, line, wanted) or self.find_by_text(line, wanted, kernel)

    def find_by_name(self, name: str, line: int, wanted: list[str]) -> Place | None:
        """The file of that name, unless another line stands there."""
        folders = [Path.cwd(), *([self.program.parent] if self.program else []), self.root]
        for file in (folder / name for folder in folders):
            if file.is_file():
                here = self.lines(file)
                if 0 < line <= len(here) and wanted[line - 1 : line] in ([], [here[line - 1]]):
                    return Place(file.resolve(), line)
        return None

    def find_by_text(self, line: int, wanted: list[str], kernel: str) -> Place | None:
        near = {
            number: wanted[number - 1]
            for number in range(max(1, line - AROUND), min(len(wanted), line + AROUND) + 1)
            if re.search(r"\w", wanted[number - 1])
        }
        if line not in near:
            return None
        longest = sorted({*sorted(near.values(), key=len)[-3:], near[line]}, key=len)
        found: dict[Place, int] = {}  # how many lines agree
        for file in [self.program] * bool(self.program) + self.files:
            text = self.text(file)
            if not any(one in text for one in longest):
                continue
            here = self.lines(file)
            offsets = Counter(
                index + 1 - number
                for number, one in near.items()
                for index, other in enumerate(here)
                if agrees(one, other)
            )
            places = {
                Place(file, line + offset): agree for offset, agree in offsets.items() if 0 < line + offset <= len(here)
            }
            found |= {
                place: agree
                for place, agree in places.items()
                if agree >= SHARE * len(near) or self.has(place, near[line], kernel)
            }
            if max(found.values(), default=0) == len(near):  # nothing agrees better
                break
        best = max(found.values(), default=0)
        likely = [place for place, agree in found.items() if agree == best]
        # Copies of a kernel have the same defect; of single lines that look alike one would be a guess.
        return likely[0] if len(likely) == 1 or (likely and best >= SHARE * len(near)) else None

    def has(self, place: Place, line: str, kernel: str) -> bool:
        """Whether `line` stands there, in a file that names the kernel, and there is more to it than `i++;`."""
        here = self.lines(place.file)[place.line - 1 : place.line]
        name = re.match(r"(?:\w+ )?(?:\w+::)*(\w+)", kernel)
        named = bool(name and re.search(rf"\b{name[1]}\b", self.text(place.file)))
        return named and len(line) >= WHOLE and any(agrees(line, other) for other in here)


def agrees(line: str, other: str) -> bool:
    """Whether a kernel's line is the file's, or a part of it: SourceModule("__global__ void f(...) {...}")."""
    return line == other or (len(line) >= WHOLE and line in other)


def words_of(arguments: list[str]) -> Iterator[str]:
    """Words that may name a file of the program's: `tests/test_sum.py::test_one` of pytest's does, too."""
    for word in arguments:
        yield word
        yield word.partition("::")[0]


def project_of(arguments: list[str]) -> Project:
    """The project of a program that is run with these words, `[-m] PROGRAM ...`, in this folder."""
    folder = Path.cwd().resolve()
    root = root_of(folder)
    module = arguments[1].replace(".", "/") if arguments[:1] == ["-m"] else ""
    words = [f"{module}.py", f"{module}/__main__.py"] if module else []
    files = ((folder / word).resolve() for word in (*words, *words_of(arguments)))
    return Project(root, next((file for file in files if file.is_file() and file.is_relative_to(root)), None))
