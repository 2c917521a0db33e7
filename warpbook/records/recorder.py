"""`python -m warpbook record`: run every page and program on the present device and keep what it said.

What is fresh is left alone unless `update` is asked for, and the record is written after each part, so an
interrupted run goes on where it stopped. On a GPU every program runs twice: both values are kept, and what would let a
claim fall on one run and stand on the other is reported, as are clocks that sagged.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from warpbook.book import SOFTCUDA, Book, BookError
from warpbook.records import claims, lines, packages, profile, records, sass
from warpbook.run import compare
from warpbook.run.run import LackingError, Run, present_device, run_blocks, run_program, whole
from warpbook.source.pages import Page, pair_of_pages

REPEATABLE = 0.03  # relative difference between two runs that is worth a warning
SAGGED = 0.95  # of the median clock, and of the clock before
SLOWED = {0x08: "hardware slowdown", 0x20: "heat", 0x40: "heat (hardware)", 0x80: "power brake"}  # NVML's reasons
QUERY = "clocks.sm,clocks.mem,clocks.max.sm,power.limit,power.draw,temperature.gpu,clocks_throttle_reasons.active"
BAR = 24  # characters


@dataclass
class Part:
    """One thing to run: a program, a page's blocks, a command's counters. `work` records it and returns a note."""

    article: str
    what: str
    fresh: bool
    work: Callable[[], str]
    save: Callable[[], None]
    seconds: float = 5.0  # what it took last time


def record(
    book: Book,
    only: list[str],
    update: bool = False,
    device: dict[str, Any] | None = None,
    shard: tuple[int, int] = (1, 1),
) -> int:
    """Record `only` (every article when empty), of these the `shard`-th of so many shares.

    Returns how many things failed; each was reported in a line. What lacks packages is left out and has not failed.
    """
    unknown = [name for name in only if name not in book.articles()]
    if unknown:
        raise BookError(f'no article "{unknown[0]}"; there are: {", ".join(book.articles())}')
    device = device or present_device(book)
    name = records.slug(device)
    print(f"device: {device.get('name')}, records/{name}/", flush=True)
    parts = [part for article in share(only or book.articles(), shard) for part in parts_of(book, article, device)]
    rows: list[tuple[str, str, str]] = []
    due = sum(part.seconds for part in parts if update or not part.fresh)
    done = 0.0
    try:
        for part in parts:
            if part.fresh and not update:
                rows.append((part.what, "fresh", ""))
                continue
            row = attempt(part, done / due if due else 1.0)
            rows.append(row)
            done += part.seconds
    finally:
        summary(rows, [part.what for part in parts[len(rows) :] if update or not part.fresh])
    return sum(how == "failed" for _, how, _ in rows)


def share(names: list[str], shard: tuple[int, int]) -> list[str]:
    """Every n-th name, from the i-th on: shares of a CI matrix, or of several GPUs of one kind."""
    i, n = shard
    if not 1 <= i <= n:
        raise BookError(f"--shard {i}/{n}: the first number goes from 1 to the second")
    return sorted(names)[i - 1 :: n]


def attempt(part: Part, done: float) -> tuple[str, str, str]:
    """Run one part and save it; (what, how it went, note)."""
    full = round(BAR * done)
    print(f"  [{'█' * full}{'·' * (BAR - full)}] {done:4.0%}  {part.what} …", end=" ", flush=True)
    start = time.monotonic()
    try:
        note = part.work()
    except LackingError as error:
        print("left out", flush=True)
        return part.what, "left out", f"{error}".rpartition(": ")[2]
    except BookError as error:
        print(f"failed\n{error}\n{getattr(error, 'traceback', '')}", flush=True)
        return part.what, "failed", str(error)
    print(f"{time.monotonic() - start:.1f} s {note}", flush=True)
    part.save()
    return part.what, "recorded", note


def summary(rows: list[tuple[str, str, str]], missing: list[str]) -> None:
    """What was done, and what an interrupted run has left."""
    rows = rows + [(what, "missing", "not reached; the same command goes on here") for what in missing]
    width = max((len(row[0]) for row in rows), default=0)
    print()
    for what, how, note in rows:
        print(f"{what:{width}}  {how:8}  {note}".rstrip())
    sys.stdout.flush()


def parts_of(book: Book, article: str, device: dict[str, Any]) -> list[Part]:
    """The article's programs, page and counters; what has gone from the book is dropped from the record."""
    name = records.slug(device)
    gpu = name != SOFTCUDA
    kept = records.read(book, name, article) or records.empty()
    programs = {records.program_name(p): p for p in records.runs_on(book, name, article)}
    pages = pair_of_pages(book, article)
    commands = pages[0].counters if pages else []
    metrics = pages[0].metrics if pages else []

    def save() -> None:
        records.forget_machines(kept)
        records.write(book, name, article, kept)

    before = [name for name, part in records.named_parts(kept) if part.get("printed") != []]
    kept["programs"] = {program: entry for program, entry in kept["programs"].items() if program in programs}
    kept["counters"] = {command: entry for command, entry in kept["counters"].items() if command in commands}
    if not (pages and pages[0].python):
        kept["blocks"] = {"printed": []}
    if before != [name for name, part in records.named_parts(kept) if part.get("printed") != []]:
        save()

    def now(machine: dict[str, Any] | None = None) -> dict[str, str]:
        return records.add_machine(kept, machine or device)

    def carry_over(part: str, code: list[str], before: list[str], after: list[str]) -> str:
        """Give other devices' outputs the words of softcuda's; a note on those that must keep their old ones."""
        return "" if gpu or before == after else reword(book, article, part, code, before, after)

    def run(program: str) -> str:
        path = programs[program]
        clocks = {"before": smi()} if gpu else {}
        start = time.monotonic()
        entry, note, machine = run_twice(book, path) if gpu else run_once(book, path)
        clocks |= {"after": smi()} if gpu else {}
        reject_nan(f"snippets/{program}", entry["stdout"])
        entry.setdefault("clocks", {}).update(clocks)
        code = records.program_hash(book, path)
        before = kept["programs"].get(program, {})
        seconds = round(time.monotonic() - start, 1)
        kept["programs"][program] = {"code": code, **now(machine), "seconds": seconds, **entry}
        words = carry_over(program, [code], [before["stdout"]], [entry["stdout"]]) if before.get("code") == code else ""
        return "; ".join(filter(None, [note, sagged(entry["clocks"]), words, packages.note(book, entry)]))

    def blocks(page: Page) -> str:
        ran = run_blocks(page)
        whole(ran, page.name)
        printed = ran.printed
        for block, text in zip(page.python, printed, strict=True):
            reject_nan(block.where, text)
        codes = records.block_hashes(page)
        listed = [
            {"code": code, "stdout": text} | packages.kept(used)
            for code, text, used in zip(codes, printed, ran.packages, strict=True)
        ]
        before = kept["blocks"]["printed"]
        kept["blocks"] = {**now(), "printed": listed}
        same = [block["code"] for block in before] == codes
        words = carry_over("blocks", codes, [block["stdout"] for block in before], printed) if same else ""
        noted = packages.note(book, packages.kept(profile.latest(ran)))
        return "; ".join(filter(None, [f"{len(printed)} blocks", words, noted]))

    def count(command: str) -> str:
        if gpu and shutil.which("ncu") is None:
            raise BookError(f"{command}: no counters, since ncu is not on PATH")
        launches, used = profile.profile(book, command, metrics) if gpu else profile.count(book, command)
        kept["counters"][command] = {
            "code": records.counters_hash(book, command, metrics), **now(), "launches": launches, **packages.kept(used)
        }  # fmt: skip
        return f"{len(launches)} launches"

    out = []
    for program, path in programs.items():
        entry = kept["programs"].get(program, {})
        fresh = entry.get("code") == records.program_hash(book, path)
        seconds = float(entry.get("seconds", 5.0))
        out.append(Part(article, f"snippets/{program}", fresh, partial(run, program), save, seconds))
    if pages and pages[0].python:
        page = pages[0]  # the other language shows the same code; a test holds that
        fresh = [block["code"] for block in kept["blocks"]["printed"]] == records.block_hashes(page)
        out.append(Part(article, page.name, fresh, partial(blocks, page), save))
    for command in commands:
        fresh = kept["counters"].get(command, {}).get("code") == records.counters_hash(book, command, metrics)
        what = f"counters of {command}"
        out.append(Part(article, what, fresh, partial(count, command), save, 10.0))
    if not gpu and lines.wanted(pages):
        fresh = not lines.stale(book, article)
        out.append(
            Part(article, f"lines of {article}", fresh, partial(lines.record, book, article), lambda: None, 30.0)
        )
    if not gpu and sass.wanted(pages):
        fresh = not sass.stale(book, article)
        out.append(Part(article, f"SASS of {article}", fresh, partial(sass.record, book, article), lambda: None, 5.0))
    return out


def reword(book: Book, article: str, part: str, codes: list[str], before: list[str], after: list[str]) -> str:
    """Put what GPUs printed into the words that the code has now, where nothing but words has changed.

    `before` and `after`: what softcuda printed, for each hash in `codes`. Returns a note on what keeps its old words.
    """
    notes = []
    for device in records.devices(book):
        record = None if device == SOFTCUDA else records.read(book, device, article)
        if not record:
            continue
        entries = record["blocks"]["printed"] if part == "blocks" else [record["programs"].get(part, {})]
        if [entry.get("code") for entry in entries] != codes:
            continue  # it is pending, and will be recorded anew
        for entry, was, now in zip(entries, before, after, strict=True):
            said = compare.reworded(was, now, entry["stdout"])
            if said is None:
                notes.append(f"the output of {device} keeps its old words until it is recorded there again")
            else:
                entry["stdout"] = said
        records.write(book, device, article, record)
    return "; ".join(dict.fromkeys(notes))


def entry_of(run: Run) -> dict[str, Any]:
    entry: dict[str, Any] = {"stdout": run.stdout, "values": run.values}
    drawn = {"series": run.series, "spans": run.spans, "matrices": run.matrices, "graphs": run.graphs}
    entry |= {kind: kept for kind, kept in drawn.items() if kept}
    if run.clocks:
        entry["clocks"] = {"during": run.clocks}
    return entry | packages.kept(run.packages)


def run_once(book: Book, path: Path) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """A run on softcuda, or of the CPU: its entry, no note, and the CPU if that is what was measured."""
    run = run_program(book, path)
    whole(run, book.relative(path))
    return entry_of(run), "", run.device if records.measures_cpu(path) else {}


def run_twice(book: Book, path: Path) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """Two runs: the first one's entry with the second one's numbers beside its own, and what differs between them."""
    one = run_program(book, path)
    whole(one, book.relative(path))
    two = run_program(book, path)
    program = records.program_name(path)
    apart = []
    kinds = (
        ("value", one.values, two.values), ("series", one.series, two.series), ("timeline", one.spans, two.spans),
        ("matrix", one.matrices, two.matrices), ("graph", one.graphs, two.graphs),
    )  # fmt: skip
    for kind, ones, others in kinds:
        if ones.keys() != others.keys():
            name = sorted(ones.keys() ^ others.keys())[0]
            raise BookError(f'snippets/{program}: records the {kind} "{name}" on one of its two runs only')
    for name, value in one.values.items():
        value["second"] = two.values[name]["value"]
        if not compare.close(float(value["value"]), float(value["second"]), REPEATABLE):
            apart.append(f"{name} {value['value']:.4g} and {value['second']:.4g}")
    for name, curve in one.series.items():
        curve["second"] = two.series[name]["y"]
    entry = entry_of(one)
    entry.setdefault("clocks", {})["second"] = two.clocks
    notes = [f"two runs differ: {'; '.join(apart)}"] if apart else []
    notes += [f'claim "{name}": they differ by more than its margin' for name in doubtful(book, program, one, two)]
    return entry, "; ".join(notes), {}


def doubtful(book: Book, program: str, one: Run, two: Run) -> list[str]:
    """Claims on the program's values whose two runs differ by more than the margin to the gate or the goal."""
    out = []
    for claim in claims.of_article(book, program.partition("/")[0]):
        if claim.counters or claim.program != program:
            continue
        first, _ = claims.measured(claim, entry_of(one))
        second, _ = claims.measured(claim, entry_of(two))
        if first is None or second is None:
            continue
        if any(abs(first - second) > abs(first - bound) for bound in (*claim.gates, *claim.goals)):
            out.append(claim.name)
    return out


def sagged(clocks: dict[str, Any]) -> str:
    """What the clocks say against the numbers, if they do."""
    notes = []
    during = clocks.get("during", {})
    if during and during["sm_lowest_mhz"] < SAGGED * during["sm_median_mhz"]:
        notes.append(f"clock sagged to {during['sm_lowest_mhz']} of {during['sm_median_mhz']} MHz")
    said = clocks.get("after", {}).get("clocks_throttle_reasons.active", "")
    reasons = int(said, 16) if said.startswith("0x") else 0
    slowed = [why for bit, why in SLOWED.items() if reasons & bit]
    return "; ".join([*notes, *([f"slowed down by {', '.join(slowed)}"] if slowed else [])])


def reject_nan(name: str, text: str) -> None:
    if compare.NAN.search(text):
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


def merge(book: Book, folders: list[Path]) -> list[str]:
    """Take in the records of other shards: each part that is newer than ours or that we lack. One line a file."""
    out = []
    for folder in folders:
        files = sorted(folder.glob("*/*.json"))
        if not files:
            raise BookError(f"{folder}: holds no <device>/<article>.json; name a folder as records/ is")
        for path in files:
            device, article = path.parent.name, path.stem
            theirs = records.parse(path, str(path))
            ours = records.read(book, device, article) or records.empty()
            taken = take(ours, theirs)
            if taken:
                records.forget_machines(ours)
                records.write(book, device, article, ours)
            out.append(f"{book.relative(records.path_of(book, device, article))}: {taken} parts from {path}")
    return out


def take(ours: dict[str, Any], theirs: dict[str, Any]) -> int:
    """Move newer parts over; how many."""
    ours["machines"] |= theirs["machines"]
    taken = 0
    for kind in ("programs", "counters"):
        for name, entry in theirs[kind].items():
            if name not in ours[kind] or entry["date"] > ours[kind][name]["date"]:
                ours[kind][name] = entry
                taken += 1
    if theirs["blocks"]["printed"] and theirs["blocks"]["date"] > ours["blocks"].get("date", ""):
        ours["blocks"] = theirs["blocks"]
        taken += 1
    return taken
