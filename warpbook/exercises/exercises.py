"""Read exercises/<article>/<name>/: the task in both languages, the stub, the solution, the mistakes."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from warpbook import reads
from warpbook.book import LANGUAGES, Book, BookError

FOLDER = "exercises"
HINTS = {"en": "Hints", "zh": "提示"}
KEYS = {"title", "minutes", "difficulty", "section"}
BEGIN, END = "// your code", "// end of your code"  # in CUDA C++; in Python with a # for the //
FRONT_MATTER = re.compile(r"---\n(.*?)\n---\n(.*)", re.DOTALL)
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MARKS = re.compile(r"[\x00-\x1f\x7f<>{}\[\]|]")  # what a heading, a link or a table would not show as it is
EXPECTED = re.compile(r"(?://|#) (right|wrong|slow|compile|endless): ([\w-]+)(, no line)?\n")
HERE = "// <-- here"
LANGUAGE_OF = {".cu": "cuda", ".py": "python"}  # of an answer, by its suffix: a Triton kernel is Python


@dataclass(frozen=True)
class Mistake:
    """A wrong answer, and what the judge must say of it. `lines`: any of them may be named; empty: none need be."""

    path: Path
    source: str
    verdict: str
    cause: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Exercise:
    """One exercise; what readers see of it is by language."""

    folder: Path
    article: str
    short: str
    title: dict[str, str]
    question: dict[str, str]
    hints: dict[str, list[str]]
    minutes: int
    difficulty: int
    section: str
    stub: str
    solution: str
    suffix: str = ".cu"  # of an answer's file

    @property
    def name(self) -> str:
        return f"{self.article}/{self.short}"

    @property
    def language(self) -> str:
        """Of the code: "cuda", or "python" where the answer is a Triton kernel."""
        return LANGUAGE_OF[self.suffix]

    def mistakes(self) -> list[Mistake]:
        return [read_mistake(path) for path in reads.listed(self.folder / "mistakes", f"*{self.suffix}")]

    def lacks(self) -> bool:
        """Whether its answers are Triton kernels and there is no Triton here."""
        from warpjudge import triton_compiler

        return self.suffix == ".py" and not triton_compiler.is_there()


def all(book: Book) -> list[Exercise]:
    """Every exercise, in the order in which the book is read, the easier ones first."""
    order = {path.stem: number for number, path in enumerate(book.in_reading_order("en"))}
    found = [read(book, folder) for folder in folders(book)]
    return sorted(found, key=lambda one: (order.get(one.article, len(order)), one.article, one.difficulty, one.short))


def folders(book: Book) -> list[Path]:
    return sorted(path.parent for path in reads.listed(book.root / FOLDER, "*/*/judge.py"))


def find(book: Book, name: str) -> Exercise:
    """The exercise <article>/<name>; BookError with what was perhaps meant."""
    known = {"/".join(folder.parts[-2:]): folder for folder in folders(book)}
    if name in known:
        return read(book, known[name])
    same = [one for one in known if one.partition("/")[2] == name]
    near = same or difflib.get_close_matches(name, [*known, *(one.partition("/")[2] for one in known)], 1)
    meant = next((one for one in known if near and near[0] in (one, one.partition("/")[2])), "")
    hint = f"did you mean {meant}?" if meant else "`.venv/bin/warpbook try` lists them"
    raise BookError(f"{name}: there is no such exercise; {hint}")


def read(book: Book, folder: Path) -> Exercise:
    """An exercise's folder; BookError for the first thing that is wrong with it."""
    article, short = folder.parts[-2:]
    where = book.relative(folder)
    if not (NAME.fullmatch(article) and NAME.fullmatch(short)):
        raise BookError(f"{where}: name it with lower-case letters, digits and hyphens")
    tasks = {language: read_task(book, folder / f"task.{language}.md", language) for language in LANGUAGES}
    first = tasks["en"][0]
    for language, (head, _, _) in tasks.items():
        for key in ("minutes", "difficulty", "section"):
            if head[key] != first[key]:
                raise BookError(
                    f"{where}/task.{language}.md: {key} is {head[key]}, in English {first[key]}; make them equal"
                )
    suffix = ".py" if reads.exists(folder / "solution.py") else ".cu"
    stub, solution = (read_text(book, folder / f"{name}{suffix}") for name in ("stub", "solution"))
    if wrong := stub_problem(stub, solution, suffix):
        raise BookError(f"{where}/{wrong}")
    return Exercise(
        folder,
        article,
        short,
        {language: str(head["title"]) for language, (head, _, _) in tasks.items()},
        {language: question for language, (_, question, _) in tasks.items()},
        {language: hints for language, (_, _, hints) in tasks.items()},
        int(str(first["minutes"])),
        int(str(first["difficulty"])),
        str(first["section"]),
        stub,
        solution,
        suffix,
    )


def read_text(book: Book, path: Path) -> str:
    try:
        return reads.text(path)
    except FileNotFoundError:
        raise BookError(f"{book.relative(path)}: the file is missing; every exercise has one") from None
    except UnicodeDecodeError:
        raise BookError(f"{book.relative(path)}: it is not UTF-8; save it as UTF-8") from None


def read_task(book: Book, path: Path, language: str) -> tuple[dict[str, object], str, list[str]]:
    """(front matter, question, hints)."""
    where = book.relative(path)
    match = FRONT_MATTER.fullmatch(read_text(book, path))
    if not match:
        raise BookError(f"{where}: begin with front matter between two lines ---: {', '.join(sorted(KEYS))}")
    try:
        head = yaml.safe_load(match[1])
    except yaml.YAMLError as error:
        raise BookError(f"{where}: front matter: {' '.join(str(error).split())}") from None
    if not isinstance(head, dict) or head.keys() != KEYS:
        raise BookError(f"{where}: the front matter must have exactly {', '.join(sorted(KEYS))}")
    title = head["title"]
    if not isinstance(title, str) or not title.strip() or MARKS.search(title):
        raise BookError(f"{where}: title: give a text on one line, without <>{{}}[]|")
    if not (type(head["minutes"]) is int and 0 < head["minutes"] <= 240):
        raise BookError(f"{where}: minutes: {head['minutes']} is not a whole number from 1 to 240")
    if type(head["difficulty"]) is not int or head["difficulty"] not in (1, 2, 3):
        raise BookError(f"{where}: difficulty: {head['difficulty']} is not 1, 2 or 3")
    if not re.fullmatch(r"[\w-]+#[\w-]+", str(head["section"])):
        raise BookError(f"{where}: section: write it as article#anchor, such as memory-access#stride")
    question, mark, rest = match[2].partition(f"\n## {HINTS[language]}\n")
    hints = [" ".join(item.split()) for item in re.split(r"^\d\. ", rest, flags=re.MULTILINE)[1:]]
    if not mark or len(hints) != 3:
        raise BookError(
            f"{where}: end with `## {HINTS[language]}` and a numbered list of three; there are {len(hints)}"
        )
    return head, question.strip(), hints


def marked(mark: str, suffix: str) -> str:
    """A mark as a comment of the answer's language."""
    return mark if suffix == ".cu" else f"#{mark.removeprefix('//')}"


def without_answer(solution: str, suffix: str = ".cu") -> str:
    """The stub that belongs to a solution."""
    begin, end = marked(BEGIN, suffix), marked(END, suffix)
    kept, inside = [], False
    for line in solution.splitlines(keepends=True):
        inside = inside and line.strip() != end
        if not inside:
            kept.append(line)
        inside = inside or line.strip() == begin
    return "".join(kept)


def stub_problem(stub: str, solution: str, suffix: str = ".cu") -> str:
    """What is wrong with a stub beside its solution; empty if nothing is."""
    begin, end, own = marked(BEGIN, suffix), marked(END, suffix), f"stub{suffix}"
    for name, text in ((own, stub), (f"solution{suffix}", solution)):
        lines = [line.strip() for line in text.splitlines()]
        if lines.count(begin) != lines.count(end) or begin not in lines:
            return f"{name}: mark what the reader writes with the lines `{begin}` and `{end}`"
    wanted, given = without_answer(solution, suffix).splitlines(), stub.splitlines()
    for number, (want, got) in enumerate(zip([*wanted, ""], [*given, ""], strict=False), 1):
        if want != got:
            return f'{own}:{number}: "{got.strip()}" is not the solution without its marked lines, "{want.strip()}"'
    return "" if len(wanted) == len(given) else f"{own}: longer or shorter than the solution without its marked lines"


def read_mistake(path: Path) -> Mistake:
    try:
        source = reads.text(path)
    except UnicodeDecodeError:
        raise BookError(f"{path}: it is not UTF-8; save it as UTF-8") from None
    head = EXPECTED.match(source)
    if not head:
        example = marked("// wrong: race", path.suffix)
        raise BookError(f"{path}: begin with a comment such as `{example}`: the verdict and the cause it must get")
    here = marked(HERE, path.suffix)
    lines = tuple(n for n, line in enumerate(source.splitlines(), 1) if line.rstrip().endswith(here))
    if bool(lines) == bool(head[3]):
        raise BookError(f"{path}: mark the line to be named with `{here}`, or write `, no line` in the first one")
    return Mistake(path, source, head[1], head[2], lines)
