"""Claims: what programs say ought to hold, and whether a device's record bears it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warpbook.book import SOFTCUDA, Book, BookError
from warpbook.numbers import quantity
from warpbook.records import counters, records

WORDS = {
    "en": {"at_least": "at least {}", "at_most": "at most {}", "exactly": "exactly {}"},
    "zh": {"at_least": "不低于 {}", "at_most": "不高于 {}", "exactly": "正好 {}"},
}


@dataclass(frozen=True)
class Judged:
    """One claim and what one device's record says of it.

    `measured` and `holds` are None where the record has nothing to say: softcuda's knows counters and no times.
    """

    article: str
    program: str  # reduction/ladder.py
    name: str
    device: str  # the folder of its records
    device_name: str
    date: str
    claim: dict[str, Any]
    unit: str
    measured: float | None = None
    holds: bool | None = None

    @property
    def falls_short(self) -> bool:
        """Of a GPU every claim must be borne out; of softcuda, which measures no time, those that it can judge."""
        return self.holds is False or (self.holds is None and self.device != SOFTCUDA)

    @property
    def margin(self) -> float | None:
        """By how much of the gate the measured number clears it; negative where it falls short."""
        if self.measured is None:
            return None
        ways = [self.measured / low - 1 for low in (self.claim.get("at_least"),) if low]
        ways += [1 - self.measured / high for high in (self.claim.get("at_most"),) if high]
        return min(ways, default=None)

    def number(self, number: float | None) -> str:
        return "–" if number is None else f"{number:g}×" if self.unit == "x" else quantity(number, self.unit)

    def gate(self, language: str) -> str:
        keys = [key for key in ("at_least", "at_most") if self.claim.get(key) is not None]
        if len(keys) == 2 and self.claim["at_least"] == self.claim["at_most"]:
            return WORDS[language]["exactly"].format(self.number(self.claim["at_least"]))
        return ", ".join(WORDS[language][key].format(self.number(self.claim[key])) for key in keys)

    def text(self, key: str, language: str) -> str:
        """The claim's `source` or `published_by` in the language; the English one where there is no other."""
        return str(self.claim.get(f"{key}_{language}") or self.claim.get(key) or "")

    def shown(self, key: str) -> str:
        """`measured`, or the claim's `predicted` or `published`, as a reader sees it."""
        number = self.measured if key == "measured" else self.claim.get(key)
        return "–" if number is None else quantity(float(number), self.unit)


def judged(book: Book, device: str, article: str) -> list[Judged]:
    """Every claim of the article's programs, held against the device's record. Raises BookError for an unknown name."""
    record = records.read(book, device, article)
    try:
        return judge(record, device, article) if record else []
    except BookError as error:
        raise BookError(f"{book.relative(records.path_of(book, device, article))}: {error}") from None


def judge(record: dict[str, Any], device: str, article: str) -> list[Judged]:
    """The claims of a record, held against that record."""
    out = []
    for program, entry in record["programs"].items():
        for name, claim in entry["claims"].items():
            try:
                number, unit = measured(record, entry, claim)
            except BookError as error:
                raise BookError(f'claim "{name}": {error}') from None
            about = (device, records.device_name(record), str(entry.get("date", "")))
            verdict = None if number is None else holds(claim, number)
            out.append(Judged(article, program, name, *about, claim, unit, number, verdict))
    return out


def everything(book: Book, devices: list[str]) -> list[Judged]:
    """The claims of all articles on each of the devices; of softcuda, which measures no time, those it can judge."""
    found = [one for article in book.articles() for device in devices for one in judged(book, device, article)]
    return [one for one in found if one.device != SOFTCUDA or one.holds is not None]


def measured(record: dict[str, Any], entry: dict[str, Any], claim: dict[str, Any]) -> tuple[float | None, str]:
    """What the record says of a claim (None where it says nothing), and the unit: the ratio of two values, or one."""
    names = claim["ratio"] if claim.get("ratio") else [claim["value"]]
    command = claim.get("counters")
    if command:
        launches = record["counters"].get(command, {}).get("launches")
        found = [None if launches is None else counters.value(launches, name) for name in names]
        units = [counters.unit(name) for name in names]
    else:
        held = [entry["values"].get(name) for name in names]
        found = [value and float(value["value"]) for value in held]
        units = [value["unit"] if value else "1" for value in held]
    if None in found:
        return None, "x" if len(names) == 2 else units[0]
    if len(names) == 1:
        return found[0], units[0]
    if not found[1]:
        raise BookError(f'"{names[1]}" is zero, so there is no ratio to it')
    return float(found[0] or 0) / found[1], "x"


def holds(claim: dict[str, Any], number: float) -> bool:
    low, high = claim.get("at_least"), claim.get("at_most")
    return (low is None or number >= low) and (high is None or number <= high)  # false for nan


def broken(book: Book, device: str, article: str) -> list[str]:
    """One line for each claim that the device's record does not bear out."""
    return [
        f'snippets/{one.program}: claim "{one.name}" no longer holds on {device}: it says {one.gate("en")}, '
        f"the record {one.shown('measured')}; change the claim, or {records.remedy(device, article)}"
        for one in judged(book, device, article)
        if one.falls_short
    ]


def table(found: list[Judged]) -> str:
    """The claims for a terminal, and a closing count."""
    rows = [
        (f"{one.program}:{one.name}", one.shown("predicted"), one.shown("measured"), one.gate("en"),
         {True: "holds", False: "FALLS SHORT", None: "not measured"}[one.holds], one.device)
        for one in found
    ]  # fmt: skip
    head = ("claim", "predicted", "measured", "gate", "verdict", "device")
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)]
    return "\n".join([*lines, "", f"{sum(bool(one.holds) for one in found)} of {len(found)} claims hold"])


def live(book: Book, article: str, launches: dict[str, list[dict[str, Any]]]) -> list[str]:
    """One line for each of the article's claims about counters that `launches` of this moment do not bear out."""
    record = records.read(book, SOFTCUDA, article) or records.empty()
    now = {**record, "counters": {command: {"launches": found} for command, found in launches.items()}}
    return [
        f'snippets/{one.program}: claim "{one.name}" says {one.gate("en")}; softcuda counts {one.shown("measured")} now'
        for one in judge(now, SOFTCUDA, article)
        if one.claim.get("counters") in launches and one.holds is False
    ]
