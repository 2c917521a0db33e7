"""records/<device>/<article>.json: what one device printed and measured, and the hash of the code that made it.

    {"format": 1, "device": {…}, "date": "…",
     "programs": {"reduction/ladder.py": {"code": "sha256:…", "stdout": "…", "values": {…}, "claims": {…}}},
     "blocks": [{"code": "sha256:…", "stdout": "…"}],
     "counters": {"reduction/ladder.py --small": [{"kernel": …, "grid": …, "block": …, "metrics": {…}}]}}

Outputs are compared like with like. What differs from run to run, or from machine to machine, is replaced by
`#` on both sides before the comparison, by these rules and no others:

1. a number followed by a unit of time or of a rate (`12.3 ms`, `4.1 TB/s`, `900 GFLOP/s`), of temperature, power
   or clock (`W`, `°C`, `MHz`), by `×`, or by `%`; so a program prints the unit beside each measured number;
2. the rest of a line that begins with `device`, `driver`, `compiler`, `clocks` or `memory`, in any case, then `:`;
   so that is where a program names its machine;
3. the name of the device itself, wherever it stands;
4. numbers on a line that says `this time` or `this run`;
5. the rows of a table whose head names a unit of rule 1 by itself, down to the next blank line;
6. runs of blanks on a line where something was replaced (columns move with the width of a number).

Everything else must be equal to the character. `nan` as a word in any output fails, masked or not.
"""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from warpbook.book import PRIMARY, SOFTCUDA, Book, BookError, write_json
from warpbook.hashes import code_hash
from warpbook.pages import Page

FORMAT = 1
AGREEMENT = 2e-6  # relative, between the same small size on two devices: 32 roundings of float32
TIME_AND_RATE = r"(?:ns|us|µs|μs|ms|s|min|[kKMGTP]?i?B/s|[kKMGTP]?FLOP/?s|[kKMGT]?/s|[kMG]?Hz|m?W|°C|×|%)"
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\.\d+"
MEASURED = re.compile(rf"(?:(?<![\w.])(?:{NUMBER}))\s?(?={TIME_AND_RATE}(?![\w/]))")
MACHINE = re.compile(r"^(\s*(?:device|driver|compiler|clocks|memory)\s*:).*$", re.IGNORECASE)
NAN = re.compile(r"(?<![\w])[-+]?nan(?![\w])", re.IGNORECASE)
PLAIN_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])")


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
    name = book.relative(path)
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text("utf-8"))
    except json.JSONDecodeError as error:
        raise BookError(f"{name}:{error.lineno}: not JSON: {error.msg}; {remedy(device, article)}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise BookError(f"{name}: not of format {FORMAT}; {remedy(device, article)}")
    return record


def write(book: Book, device: str, article: str, record: dict[str, Any]) -> None:
    write_json(path_of(book, device, article), record)


def empty(device: dict[str, Any]) -> dict[str, Any]:
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    return {"format": FORMAT, "device": device, "date": date, "programs": {}, "blocks": [], "counters": {}}


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
    kept_blocks = [block["code"] for block in record["blocks"]]
    for i, code in enumerate(blocks):
        if i >= len(kept_blocks) or kept_blocks[i] != code:
            assert page is not None
            out.append(f"{page.python[i].where}: stale: {name} was made from another block; {remedy(device, article)}")
            break  # every later block depends on this one
    if len(kept_blocks) > len(blocks):
        out.append(f"{name}: has {len(kept_blocks)} blocks, the page {len(blocks)}; {remedy(device, article)}")
    if page and device != SOFTCUDA:
        missing = [command for command in page.counters if command not in record.get("counters", {})]
        out += [f"{name}: no counters of {command}; {remedy(device, article)}" for command in missing]
    return out


def program_name(program: Path) -> str:
    return f"{program.parent.name}/{program.name}"


# -- comparison --------------------------------------------------------------------------------------------------


def mask(text: str, device_names: tuple[str, ...] = ()) -> list[str]:
    """The lines of an output without what may differ from run to run; see the rules above."""
    out = []
    measured_rows = False
    for line in text.rstrip().splitlines():
        if measured_rows and line.strip():
            out.append("#")
            continue
        measured_rows = is_head(line)
        masked = MACHINE.sub(r"\1 #", line)
        if re.search(r"\bthis (?:time|run)\b", line):
            masked = PLAIN_NUMBER.sub("#", masked)
        for name in device_names:
            masked = masked.replace(name, "#") if name else masked
        masked = MEASURED.sub("# ", masked)
        out.append((re.sub(r"\s+", " ", masked) if masked != line else masked).rstrip())
    return out


def is_head(line: str) -> bool:
    """Whether a line is the head of a table of measured numbers: cells two blanks apart, one of them just a unit."""
    cells = re.split(r"\s{2,}", line.strip())
    return len(cells) > 1 and any(re.fullmatch(TIME_AND_RATE, cell.strip("()[]")) for cell in cells)


def difference(name: str, recorded: str, now: str, devices: tuple[str, ...] = ()) -> str | None:
    """One line saying where two outputs of the same device part, or None if they do not."""
    if NAN.search(now):
        return f"{name}: prints nan"
    old, new = mask(recorded, devices), mask(now, devices)
    for i in range(max(len(old), len(new))):
        was = old[i] if i < len(old) else None
        is_ = new[i] if i < len(new) else None
        if was != is_:
            said = f'"{is_}"' if is_ is not None else "nothing"
            expected = f'"{was}"' if was is not None else "nothing more"
            return f"{name}: line {i + 1} of its output is {said}, the record has {expected}"
    return None


def disagreement(name: str, one: str, other: str, devices: tuple[str, ...], rtol: float = AGREEMENT) -> str | None:
    """As `difference`, for one small size on two devices: numbers with a decimal point may differ by rounding.

    That is by `rtol` times the largest number of their line, since an error is printed beside what it is the error of.
    """
    left, right = mask(one, devices), mask(other, devices)
    if len(left) != len(right):
        return f"{name}: {len(left)} lines on one device, {len(right)} on the other"
    for i, (a, b) in enumerate(zip(left, right, strict=True), 1):
        numbers = list(zip(PLAIN_NUMBER.findall(a), PLAIN_NUMBER.findall(b), strict=False))
        scale = max((abs(float(x)) for pair in numbers for x in pair), default=0.0)
        same_text = re.sub(r"\s+", " ", PLAIN_NUMBER.sub("?", a)) == re.sub(r"\s+", " ", PLAIN_NUMBER.sub("?", b))
        near = all(x == y or ("." in x and abs(float(x) - float(y)) <= rtol * scale) for x, y in numbers)
        if not same_text or not near:
            return f'{name}: line {i} is "{a}" on one device and "{b}" on the other'
    return None


def close(a: float, b: float, rtol: float) -> bool:
    """Near one another; false for anything that is not a number."""
    return not math.isnan(a) and not math.isnan(b) and abs(a - b) <= rtol * max(abs(a), abs(b))


# -- claims ------------------------------------------------------------------------------------------------------


def measured(claim: dict[str, Any], values: dict[str, Any]) -> float:
    """What the record says of a claim: the ratio of two values, or one value."""
    names = claim["ratio"] if claim.get("ratio") else [claim["value"]]
    for name in names:
        if name not in values:
            raise BookError(f'claims "{name}", which the program does not record')
    numbers = [float(values[name]["value"]) for name in names]
    return numbers[0] / numbers[1] if len(numbers) == 2 else numbers[0]


def broken_claims(book: Book, device: str, article: str) -> list[str]:
    """One line for each claim that the device's record does not bear out."""
    record = read(book, device, article)
    out = []
    for program, entry in (record or {}).get("programs", {}).items():
        for name, claim in entry["claims"].items():
            number = measured(claim, entry["values"])
            low, high = claim.get("at_least"), claim.get("at_most")
            holds = (low is None or number >= low) and (high is None or number <= high)  # false for nan
            if not holds:
                gate = f"at least {low}" if low is not None and not number >= low else f"at most {high}"
                out.append(f'snippets/{program}: claim "{name}" no longer holds on {device}: {number:.4g}, not {gate}')
    return out


def devices(book: Book) -> list[str]:
    """Devices with a record of anything, the primary one first."""
    found = sorted(p.name for p in book.records.glob("*") if p.is_dir())
    return sorted(found, key=lambda d: (d != PRIMARY, d == SOFTCUDA, d))
