"""records/<device>/<article>.json: what one device printed and measured, when, and the hash of the code that made it.

    {"format": 3,
     "machines": {"6f2c81d0": {"name": "NVIDIA H200", "driver": …}},
     "programs": {"reduction/ladder.py": {"code": "sha256:…", "machine": "6f2c81d0", "date": "2026-11-22T02:10:00Z",
                  "seconds": …, "clocks": {…}, "stdout": "…", "values": {…}, "series": {…}, "spans": {…},
                  "matrices": {…}, "graphs": {…}}},
     "blocks": {"machine": …, "date": …, "printed": [{"code": "sha256:…", "stdout": "…"}]},
     "counters": {"reduction/ladder.py --small": {"code": …, "machine": …, "date": …,
                  "launches": [{"kernel": …, "grid": …, "block": …, "metrics": {…}}]}}}

Each part says on which machine and when it was made: parts are renewed one by one. records.schema.json holds the form.

A part that a device lacks, or whose code has changed since, is a gap. Of softcuda's records, which everybody can renew,
a gap is an error. Of a GPU's it is *pending*: pages say that it has not been measured yet, and a release waits for it.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import re
import subprocess
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from warpbook import reads
from warpbook.book import PRIMARY, SOFTCUDA, Book, BookError, write_json
from warpbook.records import schema
from warpbook.run.hashes import code_hash, needed, normal
from warpbook.source.pages import Page

FORMAT = 3


class PendingError(BookError):
    """A number or an output that a GPU has not been asked for yet, or not since its code changed."""


# -- files -------------------------------------------------------------------------------------------------------


def slug(device: dict[str, Any]) -> str:
    """The folder of a device: `softcuda`, or its name in small letters and hyphens (`nvidia-h200`)."""
    if device.get("softcuda"):
        return SOFTCUDA
    name = re.sub(r"[^a-z0-9]+", "-", str(device.get("name", "")).lower()).strip("-")
    if not name:
        raise BookError("the device has no name, so its record has no place")
    return name


def path_of(book: Book, device: str, article: str) -> Path:
    return book.records / device / f"{article}.json"


def read(book: Book, device: str, article: str) -> dict[str, Any] | None:
    """The record, to be changed at will, or None if there is none. Raises BookError if it cannot be understood."""
    return copy.deepcopy(look(book, device, article))


@reads.remembered
def look(book: Book, device: str, article: str) -> dict[str, Any] | None:
    """The record as everybody who looks at it shares it: nothing in it is changed."""
    path = path_of(book, device, article)
    if not reads.exists(path):
        return None
    try:
        return parse(path, book.relative(path))
    except BookError as error:
        raise BookError(f"{error}; {remedy(device, article)}") from None


@reads.remembered
def look_with_cpu(book: Book, device: str, article: str) -> dict[str, Any] | None:
    """As `look`, with what the article's programs for the CPU measured, which softcuda's record keeps."""
    record = look(book, device, article)
    programs = [program_name(path) for path in book.programs(article) if measures_cpu(path)]
    if device == SOFTCUDA or not programs or (kept := look(book, SOFTCUDA, article)) is None:
        return record
    record = record or empty()
    record = record | {"programs": dict(record["programs"]), "machines": dict(record["machines"])}
    for program in programs:
        if entry := kept["programs"].get(program):
            record["programs"][program] = entry
            record["machines"][entry["machine"]] = kept["machines"][entry["machine"]]
    return record


def parse(path: Path, name: str) -> dict[str, Any]:
    """The record in a file that messages call `name`, held to records.schema.json and to what no schema can say."""
    record = schema.read_json(path, name)
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise BookError(f"{name}: not of format {FORMAT}")
    schema.check(record, "records", name)
    for what, part in named_parts(record):
        if part.get("machine") not in record["machines"] and (part.get("machine") or part.get("printed") != []):
            raise BookError(f'{name}: {what}: its machine "{part.get("machine", "")}" is not among the machines')
        if "machine" in part and not is_date(part.get("date", "")):
            raise BookError(f"{name}: {what}: says no date" + (f': "{part["date"]}"' if "date" in part else ""))
    for program, entry in record["programs"].items():
        for kind, column, of in (("series", "y", "x"), ("spans", "start", "row"), ("matrices", "", "")):
            for key, kept in entry.get(kind, {}).items():
                if wrong := uneven(kept, column, of):
                    raise BookError(f"{name}: {program}, {kind}, {key}: {wrong}")
    return record


def is_date(text: str) -> bool:
    """Whether a text in the form of one is a time of the calendar."""
    try:
        return bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def uneven(kept: dict[str, Any], column: str, of: str) -> str:
    """What is wrong with columns that should be as long as one another; "" if nothing is."""
    if not column:  # a matrix: its lines are texts
        lines = [len(line) for line in kept["bits"]] if "bits" in kept else [len(t.split()) for t in kept["numbers"]]
        if "numbers" in kept and not all(math.isfinite(float(t)) for line in kept["numbers"] for t in line.split()):
            return "a number is too large"
        names = kept.get("columns")
        if len(set(lines)) > 1 or (names is not None and len(names) != lines[0]):
            return "its lines have different lengths"
        return "rows does not name each line" if len(kept.get("rows", lines)) != len(lines) else ""
    lengths = {key: len(listed) for key, listed in kept.items() if isinstance(listed, list)}
    other = next((key for key, length in lengths.items() if length != lengths[of]), None)
    return f"{other} has {lengths[other]} numbers, {of} {lengths[of]}" if other else ""


def write(book: Book, device: str, article: str, record: dict[str, Any]) -> None:
    write_json(path_of(book, device, article), record)


def empty() -> dict[str, Any]:
    return {"format": FORMAT, "machines": {}, "programs": {}, "blocks": {"printed": []}, "counters": {}}


def add_machine(record: dict[str, Any], device: dict[str, Any]) -> dict[str, str]:
    """Note who computes. Returns what goes into each part made now: {"machine": …, "date": …}."""
    name = hashlib.sha256(json.dumps(device, sort_keys=True).encode()).hexdigest()[:8]
    record["machines"][name] = device
    return {"machine": name, "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}


def named_parts(record: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Everything in a record that was made at one time, and what it is called: programs, blocks, counters."""
    return [*record["programs"].items(), ("blocks", record["blocks"]), *record["counters"].items()]


def parts(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for _, part in named_parts(record)]


def forget_machines(record: dict[str, Any]) -> None:
    """Drop those that no part names any more."""
    named = {part.get("machine") for part in parts(record)}
    record["machines"] = {name: device for name, device in record["machines"].items() if name in named}


def device_name(record: dict[str, Any]) -> str:
    """What the device calls itself; every machine of one record but a CPU calls it the same."""
    named = (device for device in record["machines"].values() if device.get("name") and "cpu" not in device)
    return next((str(device["name"]) for device in named), "")


def cpu_of(record: dict[str, Any], part: dict[str, Any] | None) -> str:
    """The name of the CPU that made this part of a record; empty where another device did."""
    machine = record["machines"].get((part or {}).get("machine", ""), {})
    return str(machine["name"]) if "cpu" in machine else ""


def remedy(device: str, article: str) -> str:
    where = "" if device == SOFTCUDA else f" on the machine of {device}"
    return f"run `.venv/bin/warpbook record --only {article}`{where}"


# -- freshness ---------------------------------------------------------------------------------------------------


def measures_cpu(program: Path) -> bool:
    """Whether the program says that it measures the CPU, `wb.measure_cpu()`: no GPU is asked to run it."""
    return bool(re.search(r"^\s*wb\.measure_cpu\(\)", reads.text(program), re.MULTILINE))


def runs_on(book: Book, device: str, article: str) -> list[Path]:
    """The article's programs that the device records: of a GPU, those that do not measure the CPU."""
    return [path for path in book.programs(article) if device == SOFTCUDA or not measures_cpu(path)]


@reads.remembered
def program_hash(book: Book, program: Path) -> str:
    return code_hash(book, [reads.text(program)], program.parent.name, book.relative(program))


def block_hashes(page: Page) -> list[str]:
    """One hash a Python block. A block is what the blocks before it made of it, so they count too."""
    blocks = page.python
    codes = [block.code for block in blocks]
    return [code_hash(page.book, codes[: i + 1], page.article, blocks[i].where) for i in range(len(codes))]


def counters_hash(book: Book, command: str, metrics: list[str]) -> str:
    """Of the command's program, its arguments and what is asked for."""
    program = book.snippets / command.split()[0]
    if not reads.is_file(program):
        raise BookError(f"there is no snippets/{command.split()[0]}, whose counters a page asks for")
    asked = repr((command, sorted(metrics)))
    return code_hash(book, [reads.text(program), asked], program.parent.name, book.relative(program))


@dataclass(frozen=True)
class Gap:
    """Something that a device has not run, or not since its code changed; `gone` if only the record still has it.

    Parts that are stale because of the same files share one line.
    """

    part: str  # "reduction/ladder.py"; "blocks"; a command whose counters are asked for
    line: str  # where and what, for a person
    gone: bool = False


def gaps(book: Book, device: str, article: str, explained: bool = False) -> list[Gap]:
    """Each part of the article that the device's record lacks, or that has changed since it was written.

    With `explained` git is asked which files changed, for the lines.
    """
    found = unexplained(book, device, article)
    return look_for_gaps(book, device, article, explained=True) if explained and found else list(found)


@reads.remembered
def unexplained(book: Book, device: str, article: str) -> list[Gap]:
    return look_for_gaps(book, device, article, explained=False)


def look_for_gaps(book: Book, device: str, article: str, explained: bool) -> list[Gap]:
    record = look(book, device, article)
    name = book.relative(path_of(book, device, article))
    page_path = book.page_of(article, "en") or book.page_of(article, "zh")
    page = Page(book, page_path) if page_path else None
    blocks = block_hashes(page) if page else []
    programs = {program_name(p): program_hash(book, p) for p in runs_on(book, device, article)}
    commands = {command: counters_hash(book, command, page.metrics) for command in page.counters} if page else {}
    if record is None:
        parts = [*programs, *(["blocks"] if blocks else []), *commands]
        return [Gap(part, f"{name}: missing; {remedy(device, article)}") for part in parts]
    out = []

    def add(part: str, what: str, gone: bool = False, where: str = name) -> None:
        out.append(Gap(part, f"{where}: {what}; {remedy(device, article)}", gone))

    old: dict[str, Loader] = {}  # stale parts
    for program, code in programs.items():
        kept = record["programs"].get(program)
        if kept is None:
            add(program, f"has nothing of snippets/{program}")
        elif kept["code"] != code:
            old[program] = loader(book, book.snippets / program)
    for program in record["programs"]:
        if program not in programs:
            add(program, f"snippets/{program} is gone", gone=True)
    kept_blocks = [block["code"] for block in record["blocks"]["printed"]]
    for i, code in enumerate(blocks):
        if i >= len(kept_blocks) or kept_blocks[i] != code:
            assert page is not None
            files = loaded(book, [block.code for block in page.python[: i + 1]], article, page.name)
            if explained and changed_since(book, name, files):
                old["blocks"] = Loader(page.name, files)
            else:
                add("blocks", f"stale: {name} was made from another block", where=page.python[i].where)
            break  # every later block depends on this one
    if len(kept_blocks) > len(blocks):
        add("blocks", f"has {len(kept_blocks)} blocks, the page {len(blocks)}", gone=not blocks)
    for command, code in commands.items():
        kept = record["counters"].get(command)
        if kept is None:
            add(command, f"no counters of {command}")
        elif kept["code"] != code:
            files = loader(book, book.snippets / command.split()[0]).files
            old[command] = Loader(f"counters of {command}", files)
    for part, line in explanations(book, name, old, explained).items():
        add(part, f"stale: {line}")
    return out


@dataclass(frozen=True)
class Loader:
    """Who runs a part's code, as messages call it, and the files of that code by their paths from the root."""

    name: str
    files: dict[str, str]  # to their texts


def loader(book: Book, program: Path) -> Loader:
    name, text = book.relative(program), reads.text(program)
    return Loader(program.name, {name: text, **loaded(book, [text], program.parent.name, name)})


def loaded(book: Book, codes: list[str], article: str, where: str) -> dict[str, str]:
    modules, kernels, data = needed(book, codes, article, where)
    return modules | kernels | data


def explanations(book: Book, record: str, old: dict[str, Loader], explained: bool) -> dict[str, str]:
    """Why each part of `record` is stale: the files that have changed, and every part that loads them."""
    changed = (
        changed_since(book, record, {k: v for one in old.values() for k, v in one.files.items()}) if explained else []
    )
    of_part = {part: tuple(name for name in changed if name in one.files) for part, one in old.items()}
    out = {}
    for part, files in of_part.items():
        users = [old[other].name for other, same in of_part.items() if same == files]
        by = [user for user in users if user not in [Path(name).name for name in files]]
        if files:
            said = f"{', '.join(files)} {'has' if len(files) == 1 else 'have'} changed"
            out[part] = said + (f" (loaded by {', '.join(by)})" if by else "")
        else:
            names = list(old[part].files)
            out[part] = f"{names[0]} has changed" if len(names) == 1 else f"one of {', '.join(names)} has changed"
    return out


def changed_since(book: Book, record: str, files: dict[str, str]) -> list[str]:
    """Those of `files` that compute something else than at the last commit of `record`; none if git does not know."""

    def git(*arguments: str) -> str:
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=book.root, capture_output=True, text=True, encoding="utf-8", timeout=30)
        return done.stdout if done.returncode == 0 else ""

    try:
        commit = git("log", "-1", "--format=%H", "--", record).strip()
        if not commit or not files:
            return []
        differing = set(git("diff", "--name-only", "--relative", commit, "--", *files).splitlines())
        old = {name: git("show", f"{commit}:./{name}") for name in sorted(differing & files.keys())}
    except (OSError, subprocess.SubprocessError):
        return []
    return [name for name, text in old.items() if differ(name, text, files[name])]


def differ(name: str, one: str, other: str) -> bool:
    try:
        return normal(name, one) != normal(name, other)
    except SyntaxError:
        return one != other


def stale(book: Book, device: str, article: str) -> list[str]:
    """One line for each gap."""
    return list(dict.fromkeys(gap.line for gap in gaps(book, device, article, explained=True)))


def pending(book: Book, device: str, article: str) -> list[str]:
    """The parts of the article that wait for a GPU; none where the device is softcuda, which is always at hand."""
    if device == SOFTCUDA:
        return []
    return list(dict.fromkeys(gap.part for gap in gaps(book, device, article) if not gap.gone))


def program_name(program: Path) -> str:
    return f"{program.parent.name}/{program.name}"


def devices(book: Book) -> list[str]:
    """Devices with a record of anything, the primary one first."""
    found = sorted({p.parent.name for p in reads.listed(book.records, "*/*.json")})
    return sorted(found, key=lambda d: (d != PRIMARY, d == SOFTCUDA, d))


def committed(book: Book) -> list[str]:
    """Devices whose records belong to the book: those that git knows; all of them where there is no git."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "--", "records"], cwd=book.root, capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return devices(book)
    known = {Path(line).parts[1] for line in done.stdout.splitlines() if len(Path(line).parts) == 3}
    return [device for device in devices(book) if device in known]
