"""records/<device>/<article>.json: what one device printed and measured, when, and the hash of the code that made it.

    {"format": 2,
     "machines": {"6f2c81d0": {"name": "NVIDIA H200", "driver": …}},
     "programs": {"reduction/ladder.py": {"code": "sha256:…", "machine": "6f2c81d0", "date": "2026-11-22T02:10:00Z",
                  "seconds": …, "clocks": {…}, "stdout": "…", "values": {…}, "series": {…}, "spans": {…},
                  "matrices": {…}, "graphs": {…}, "claims": {…}}},
     "blocks": {"machine": …, "date": …, "printed": [{"code": "sha256:…", "stdout": "…"}]},
     "counters": {"reduction/ladder.py --small": {"code": …, "machine": …, "date": …,
                  "launches": [{"kernel": …, "grid": …, "block": …, "metrics": {…}}]}}}

Each part says on which machine and when it was made: parts are renewed one by one.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from warpbook.book import PRIMARY, SOFTCUDA, Book, BookError, write_json
from warpbook.run.hashes import code_hash
from warpbook.source.pages import Page

FORMAT = 2


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
    """The record, or None if there is none. Raises BookError if it cannot be understood."""
    path = path_of(book, device, article)
    if not path.exists():
        return None
    try:
        return parse(path, book.relative(path))
    except BookError as error:
        raise BookError(f"{error}; {remedy(device, article)}") from None


def parse(path: Path, name: str) -> dict[str, Any]:
    """The record in a file that messages call `name`."""
    try:
        record = json.loads(path.read_text("utf-8"))
    except json.JSONDecodeError as error:
        raise BookError(f"{name}:{error.lineno}: not JSON: {error.msg}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise BookError(f"{name}: not of format {FORMAT}")
    return record


def write(book: Book, device: str, article: str, record: dict[str, Any]) -> None:
    write_json(path_of(book, device, article), record)


def empty() -> dict[str, Any]:
    return {"format": FORMAT, "machines": {}, "programs": {}, "blocks": {"printed": []}, "counters": {}}


def add_machine(record: dict[str, Any], device: dict[str, Any]) -> dict[str, str]:
    """Note who computes. Returns what goes into each part made now: {"machine": …, "date": …}."""
    name = hashlib.sha256(json.dumps(device, sort_keys=True).encode()).hexdigest()[:8]
    record["machines"][name] = device
    return {"machine": name, "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}


def parts(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Everything in a record that was made at one time: programs, blocks, counters."""
    return [*record["programs"].values(), record["blocks"], *record["counters"].values()]


def forget_machines(record: dict[str, Any]) -> None:
    """Drop those that no part names any more."""
    named = {part.get("machine") for part in parts(record)}
    record["machines"] = {name: device for name, device in record["machines"].items() if name in named}


def device_name(record: dict[str, Any]) -> str:
    """What the device calls itself; every machine of one record calls it the same."""
    return next((str(device["name"]) for device in record["machines"].values() if device.get("name")), "")


def remedy(device: str, article: str) -> str:
    where = "" if device == SOFTCUDA else f" on the machine of {device}"
    return f"run `python -m warpbook record --only {article}`{where}"


# -- freshness ---------------------------------------------------------------------------------------------------


def program_hash(book: Book, program: Path) -> str:
    return code_hash(book, [program.read_text("utf-8")], program.parent.name, book.relative(program))


def block_hashes(page: Page) -> list[str]:
    """One hash a Python block. A block is what the blocks before it made of it, so they count too."""
    codes = [block.code for block in page.python]
    return [code_hash(page.book, codes[: i + 1], page.article, page.python[i].where) for i in range(len(codes))]


def counters_hash(book: Book, command: str, metrics: list[str]) -> str:
    """Of the command's program, its arguments and what is asked for."""
    program = book.snippets / command.split()[0]
    if not program.is_file():
        raise BookError(f"there is no snippets/{command.split()[0]}, whose counters a page asks for")
    asked = repr((command, sorted(metrics)))
    return code_hash(book, [program.read_text("utf-8"), asked], program.parent.name, book.relative(program))


def stale(book: Book, device: str, article: str) -> list[str]:
    """One line for each thing that the device's record lacks or that has changed since it was written."""
    record = read(book, device, article)
    name = book.relative(path_of(book, device, article))
    page_path = book.page_of(article, "en") or book.page_of(article, "zh")
    page = Page(book, page_path) if page_path else None
    blocks = block_hashes(page) if page else []
    programs = {program_name(p): program_hash(book, p) for p in book.programs(article)}
    if not blocks and not programs:
        return []
    if record is None:
        return [f"{name}: missing; {remedy(device, article)}"]
    out = []
    for program, code in programs.items():
        kept = record["programs"].get(program)
        if kept is None:
            out.append(f"{name}: has nothing of snippets/{program}; {remedy(device, article)}")
        elif kept["code"] != code:
            out.append(f"{name}: stale: snippets/{program} or a kernel it loads has changed; {remedy(device, article)}")
    for program in record["programs"]:
        if program not in programs:
            out.append(f"{name}: snippets/{program} is gone; {remedy(device, article)}")
    kept_blocks = [block["code"] for block in record["blocks"]["printed"]]
    for i, code in enumerate(blocks):
        if i >= len(kept_blocks) or kept_blocks[i] != code:
            assert page is not None
            out.append(f"{page.python[i].where}: stale: {name} was made from another block; {remedy(device, article)}")
            break  # every later block depends on this one
    if len(kept_blocks) > len(blocks):
        out.append(f"{name}: has {len(kept_blocks)} blocks, the page {len(blocks)}; {remedy(device, article)}")
    for command in page.counters if page else []:
        kept = record["counters"].get(command)
        if kept is None:
            out.append(f"{name}: no counters of {command}; {remedy(device, article)}")
        elif kept["code"] != counters_hash(book, command, page.metrics if page else []):
            out.append(f"{name}: stale: counters of {command} were of other code; {remedy(device, article)}")
    return out


def program_name(program: Path) -> str:
    return f"{program.parent.name}/{program.name}"


def devices(book: Book) -> list[str]:
    """Devices with a record of anything, the primary one first."""
    found = sorted(p.name for p in book.records.glob("*") if p.is_dir())
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
