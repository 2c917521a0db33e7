"""The record of line counters: what each line of a listing asks of the hardware in one launch.

An author writes, under a listing of CUDA code and on a line of its own,

    {{ lines:reduce_v0 }}             the kernel's first launch by the page's own blocks
    {{ lines:reduce_v0#2 }}           its second
    {{ lines:rolled_v0@branch.py }}   its first launch by a program of the article

A kernel may be Triton's as well: a listing of Python, whose lines come from a file or are written on the page.
`make record` runs the page, and each such program, under `softcuda profile` and keeps the counts of these launches in
records/softcuda/lines/<article>.json, with the hash of the code that made them and the text of each line. The tests run
them again: they are the same in every run, so they must be equal. blocks/line_counters.py shows them.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpbook import reads
from warpbook.book import SOFTCUDA, Book, BookError, write_json
from warpbook.records import packages, profile, records, schema
from warpbook.run.run import run_blocks, run_program
from warpbook.source.pages import Line, Page, pair_of_pages

FORMAT = 1
WANTED = re.compile(r"\{\{\s*lines:(?P<kernel>\w+)(?:#(?P<launch>[1-9]\d*))?(?:@(?P<program>[\w./-]+\.py))?\s*\}\}\Z")
OPERATIONS = ("ld", "st", "atom", "red")
REQUESTS = tuple(f"l1tex__t_requests_pipe_lsu_mem_global_op_{kind}.sum" for kind in OPERATIONS)
SECTORS = tuple(f"l1tex__t_sectors_pipe_lsu_mem_global_op_{kind}.sum" for kind in OPERATIONS)
CONFLICTS = tuple(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{kind}.sum" for kind in OPERATIONS)
SHARED = tuple(f"softcuda__requests_shared_op_{kind}.sum" for kind in OPERATIONS)
KEPT = {  # what a line's counts are called in the record
    "requests": REQUESTS,
    "sectors": SECTORS,
    "shared": SHARED,
    "conflicts": CONFLICTS,
    "warps": ("softcuda__warp_instructions.sum",),
    "lanes": ("softcuda__thread_instructions.sum",),
    "branches": ("softcuda__branches.sum",),
    "diverged": ("softcuda__branches_diverged.sum",),
}
Counts = dict[str, int]


@dataclass(frozen=True)
class Wanted:
    """A launch that a page shows line by line."""

    kernel: str
    launch: int
    program: str  # "reduction/branch.py"; empty: the page's own blocks

    @property
    def key(self) -> str:
        return f"{self.kernel}#{self.launch}"


def parse(page: Page, text: str) -> Wanted | None:
    """What a line `{{ lines:… }}` asks for; None if it is another."""
    found = WANTED.fullmatch(text.strip())
    if not found:
        return None
    program = found["program"] or ""
    if program and "/" not in program:
        program = f"{page.article}/{program}"
    return Wanted(found["kernel"], int(found["launch"] or 1), program)


def wanted(pages: Iterable[Page]) -> list[Wanted]:
    """Of an article, in the order of its first page."""
    found: dict[Wanted, None] = {}
    for page in pages:
        for i, line in enumerate(page.lines):
            if i not in page.fenced and (one := parse(page, line.text)):
                found[one] = None
    return list(found)


def path_of(book: Book, article: str) -> Path:
    return book.records / SOFTCUDA / "lines" / f"{article}.json"


@reads.remembered
def read(book: Book, article: str) -> dict[str, Any]:
    """By program ("" is the page): {"code": hash, "launches": {"reduce_v0#1": …}}."""
    path = path_of(book, article)
    if not reads.exists(path):
        return {}
    name = book.relative(path)
    try:
        record = schema.read_json(path, name)
        schema.check(record, "lines", name)
    except BookError as error:
        raise BookError(f"{error}; {records.remedy(SOFTCUDA, article)}") from None
    return dict(record["programs"])


def code_of(page: Page, program: str) -> str:
    if not program:
        hashes = records.block_hashes(page)
        return hashes[-1] if hashes else ""
    path = page.book.snippets / program
    if not reads.is_file(path):
        raise BookError(f"{page.name}: lines of a launch by snippets/{program}, and there is no such program")
    return records.program_hash(page.book, path)


def stale(book: Book, article: str) -> list[str]:
    """One line for each thing that the record of lines lacks or that has changed since."""
    pages = pair_of_pages(book, article)
    asked, kept, name = wanted(pages), read(book, article), book.relative(path_of(book, article))
    if kept and not asked:
        return [f"{name}: no page shows lines of it; delete it"]
    out = []
    for program in dict.fromkeys(one.program for one in asked):
        entry = kept.get(program, {})
        what = f"snippets/{program}" if program else pages[0].name
        if entry and entry["code"] != code_of(pages[0], program):
            out.append(f"{name}: stale: {what} or a kernel it loads has changed; {records.remedy(SOFTCUDA, article)}")
            continue
        lacking = [one for one in asked if one.program == program and one.key not in entry.get("launches", {})]
        out += [f"{name}: no lines of {one.key} in {what}; {records.remedy(SOFTCUDA, article)}" for one in lacking]
        unread = [key for key in entry.get("launches", {}) if key not in {o.key for o in asked if o.program == program}]
        out += [f"{name}: nothing shows lines of {k} in {what}; {records.remedy(SOFTCUDA, article)}" for k in unread]
        for launch in entry.get("launches", {}).values():
            out += [f"{line}; {records.remedy(SOFTCUDA, article)}" for line in moved(pages[0], name, launch)[:1]]
    more = set(kept) - {one.program for one in asked}
    out += [f"{name}: nothing shows lines of {p or 'the page'}; {records.remedy(SOFTCUDA, article)}" for p in more]
    return list(dict.fromkeys(out))


def written_in(page: Page) -> dict[str, list[str]]:
    """The lines of each Python block of the page, by the record's name for it, which is the same in both languages."""
    return {f"block {i}": block.code.splitlines() for i, block in enumerate(page.python, 1)}


def place(page: Page, line: Line) -> tuple[str, str]:
    """Where the record has a line of a listing: a file and its line, or a block of the page and its line."""
    if line.file == page.name:
        for i, block in enumerate(page.python, 1):
            if line in block.lines:
                return f"block {i}", str(block.lines.index(line) + 1)
    return line.file, str(line.number)


def moved(page: Page, name: str, launch: dict[str, Any]) -> list[str]:
    """Lines that are another now: a comment more above them changes no hash."""
    out = []
    blocks = written_in(page)
    for file, lines in launch["lines"].items():
        path = page.book.root / file
        text = reads.text(path).splitlines() if reads.is_file(path) else blocks.get(file, [])
        for number, counts in lines.items():
            now = text[int(number) - 1].strip() if int(number) <= len(text) else ""
            if now != counts["source"]:
                out.append(f"{name}: stale: {file}:{number} is another line now")
    return out


def measure(page: Page, asked: list[Wanted], program: str) -> dict[str, Any]:
    """Run the page, or a program, under `softcuda profile`: the launches asked for."""
    book = page.book
    with compiled_anew():
        launches, used = profile.counted(
            lambda through: (
                run_program(book, book.snippets / program, through=through)
                if program
                else run_blocks(page, through=through)
            ),
            f"lines of {program or page.name}",
        )
    by_kernel: dict[str, list[dict[str, Any]]] = {}
    for launch in launches:
        by_kernel.setdefault(launch["kernel"], []).append(launch)
    found = {}
    for one in (one for one in asked if one.program == program):
        of_it = by_kernel.get(one.kernel, [])
        if one.launch > len(of_it):
            where = f"snippets/{program}" if program else page.name
            names = ", ".join(sorted(by_kernel)) or "none"
            raise BookError(f"{where}: {one.kernel} is launched {len(of_it)} times; kernels launched: {names}")
        found[one.key] = kept_of(page, of_it[one.launch - 1])
    return {"code": code_of(page, program), "launches": found} | packages.kept(used)


@contextmanager
def compiled_anew() -> Iterator[None]:
    """Triton's kernels are compiled, not taken from its cache, which knows a kernel by its text: its lines may be of
    another file."""
    before = os.environ.get("TRITON_CACHE_DIR")
    with tempfile.TemporaryDirectory(prefix="warpbook-") as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ["TRITON_CACHE_DIR"]
            else:
                os.environ["TRITON_CACHE_DIR"] = before


def kept_of(page: Page, launch: dict[str, Any]) -> dict[str, Any]:
    lines: dict[str, dict[str, Any]] = {}
    found: dict[tuple[str, int], tuple[str, Counts]] = {}
    for line in launch["lines"]:
        if line["line"]:
            file, number, source = traced(page, line["file"], line["line"], line["source"])
            if not Path(file).is_absolute():  # a header's lines are nobody's listing
                found[file, number] = source, counts_of(line["metrics"])
    for (file, number), (source, counts) in sorted(found.items()):
        lines.setdefault(file, {})[str(number)] = {"source": source.strip(), **counts}
    return {"grid": launch["grid"], "block": launch["block"], "total": counts_of(launch["metrics"]), "lines": lines}


def traced(page: Page, file: str, number: int, source: str) -> tuple[str, int, str]:
    """(file, line, text) of a counted line: a module's path from the book's root on; of a block, where it was written.

    Triton names a kernel's file as Python has it: a module by its whole path, a page's block by its name.
    """
    for i, block in enumerate(page.python, 1):
        if file == f"<{block.where}>" and 0 < number <= len(block.lines):
            line = block.lines[number - 1]
            return (f"block {i}", number, line.text) if line.file == page.name else (line.file, line.number, line.text)
    path, root = Path(file), page.book.root.resolve()
    if path.is_absolute() and path.resolve().is_relative_to(root):
        file = path.resolve().relative_to(root).as_posix()
    return file, number, source


def counts_of(metrics: dict[str, float]) -> Counts:
    counts = {name: sum(int(metrics.get(metric, 0)) for metric in set(of)) for name, of in KEPT.items()}
    return {name: count for name, count in counts.items() if count}


def record(book: Book, article: str) -> str:
    """Write the record of lines; what was done, in words."""
    pages = pair_of_pages(book, article)
    asked = wanted(pages)
    programs = list(dict.fromkeys(one.program for one in asked))
    made = {program: measure(pages[0], asked, program) for program in programs}
    write_json(path_of(book, article), {"format": FORMAT, "programs": made})
    return f"{sum(len(entry['launches']) for entry in made.values())} launches"
