"""`python -m warpbook record`: run every page and program on the present device and keep what it said.

What is fresh is left alone unless `update` is asked for, and the record is written after each program, so an
interrupted run goes on where it stopped. On a GPU everything is run twice: both values are kept, and values that
differ by more than their spread allows are told.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from warpbook import counters, records
from warpbook.book import SOFTCUDA, Book, BookError
from warpbook.pages import Page, pair_of_pages
from warpbook.run import Run, present_device, run_page, run_program

REPEATABLE = 0.03  # relative difference between two runs that is worth a warning
QUERY = "clocks.sm,clocks.mem,clocks.max.sm,clocks.max.mem,power.limit,power.draw,temperature.gpu"


def record(book: Book, only: list[str], update: bool = False, device: dict[str, Any] | None = None) -> int:
    """Record `only` (every article when empty). Returns how many things failed; each was told in a line."""
    unknown = [name for name in only if name not in book.articles()]
    if unknown:
        raise BookError(f'no article "{unknown[0]}"; there are: {", ".join(book.articles())}')
    device = device or present_device(book)
    name = records.slug(device)
    print(f"device: {device.get('name')}, records/{name}/", flush=True)
    rows: list[tuple[str, str, str]] = []
    for article in only or book.articles():
        rows += record_article(book, article, device, update)
    width = max((len(row[0]) for row in rows), default=0)
    print()
    for what, how, note in rows:
        print(f"{what:{width}}  {how:8}  {note}")
    return sum(how == "failed" for _, how, _ in rows)


def record_article(book: Book, article: str, device: dict[str, Any], update: bool) -> list[tuple[str, str, str]]:
    """(what, how it went, note) for the article's programs, page and counters."""
    name = records.slug(device)
    new = records.empty(device)
    kept = records.read(book, name, article) if records.path_of(book, name, article).exists() else None
    kept = kept or new
    gpu = name != SOFTCUDA
    rows = []

    def save() -> None:
        kept.update(device=new["device"], date=new["date"])
        if kept["programs"] or kept["blocks"] or kept["counters"]:
            records.write(book, name, article, kept)

    def attempt(what: str, fresh: bool, work: Any) -> None:
        if fresh and not update:
            rows.append((what, "fresh", ""))
            return
        print(f"  {what} …", end=" ", flush=True)
        start = time.monotonic()
        try:
            note = work()
        except BookError as error:
            print(f"failed\n{error}\n{getattr(error, 'traceback', '')}", flush=True)
            rows.append((what, "failed", str(error)))
            return
        print(f"{time.monotonic() - start:.1f} s {note}", flush=True)
        rows.append((what, "recorded", note))
        save()

    if gpu:
        new["device"] = {**device, "before": smi()}
    programs = {records.program_name(p): p for p in book.programs(article)}
    gone = set(kept["programs"]) - set(programs)
    for program in gone:
        del kept["programs"][program]
    for program, path in programs.items():
        code = records.program_hash(book, path)

        def run(path: Path = path, program: str = program, code: str = code) -> str:
            entry, note = run_twice(book, path) if gpu else (entry_of(run_program(book, path)), "")
            reject_nan(f"snippets/{program}", entry["stdout"])
            kept["programs"][program] = {"code": code, **entry}
            return note

        attempt(f"snippets/{program}", kept["programs"].get(program, {}).get("code") == code, run)

    pages = pair_of_pages(book, article)
    if pages and pages[0].python:
        page = pages[0]  # the other language shows the same code; a test holds that
        codes = records.block_hashes(page)

        def blocks(page: Page = page, codes: list[str] = codes) -> str:
            printed = run_page(page)
            for block, text in zip(page.python, printed, strict=True):
                reject_nan(block.where, text)
            kept["blocks"] = [{"code": c, "stdout": text} for c, text in zip(codes, printed, strict=True)]
            return f"{len(printed)} blocks"

        attempt(page.name, [b["code"] for b in kept["blocks"]] == codes, blocks)
    else:
        kept["blocks"] = []

    commands = pages[0].counters if pages else []
    kept["counters"] = {command: launches for command, launches in kept["counters"].items() if command in commands}
    for command in commands if gpu else []:
        programs_now = any(row[1] == "recorded" for row in rows)

        def read_counters(command: str = command) -> str:
            if shutil.which("ncu") is None:
                raise BookError(f"{command}: no counters, since ncu is not on PATH")
            kept["counters"][command] = counters.profile(book, command, pages[0].metrics)
            return f"{len(kept['counters'][command])} launches"

        attempt(f"counters of {command}", command in kept["counters"] and not programs_now, read_counters)
    if gpu and any(row[1] == "recorded" for row in rows):
        new["device"]["after"] = smi()
        save()
    elif gone:
        save()
    return rows


def entry_of(run: Run) -> dict[str, Any]:
    return {"stdout": run.stdout, "values": run.values, "claims": run.claims}


def run_twice(book: Book, program: Path) -> tuple[dict[str, Any], str]:
    """Two runs: the first one's entry with the second one's numbers beside its own, and what differs between them."""
    one, two = run_program(book, program), run_program(book, program)
    apart = []
    for name, value in one.values.items():
        if name not in two.values:
            raise BookError(f'{book.relative(program)}: records "{name}" on its first run and not on its second')
        value["second"] = two.values[name]["value"]
        if not records.close(float(value["value"]), float(value["second"]), REPEATABLE):
            apart.append(f"{name} {value['value']:.4g} and {value['second']:.4g}")
    return entry_of(one), f"two runs differ: {'; '.join(apart)}" if apart else ""


def reject_nan(name: str, text: str) -> None:
    if records.NAN.search(text):
        raise BookError(f"{name}: prints nan; nothing recorded")


def smi() -> dict[str, str]:
    """Clocks, power limit and temperature as nvidia-smi says them now; empty where it does not answer."""
    try:
        done = subprocess.run(
            ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader", "-i", "0"],
            capture_output=True,
            text=True,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    values = [v.strip() for v in done.stdout.strip().split(",")]
    return dict(zip(QUERY.split(","), values, strict=False)) if done.returncode == 0 else {}
