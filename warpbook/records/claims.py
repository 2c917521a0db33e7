"""Claims: what programs are expected to measure, and what a device's records say of it.

They stand in snippets/<article>/claims.toml, beside the programs and not in them: a corrected word, another prediction
or another gate asks for no new measurement, and what is judged is what the file says now.

    [ladder.v1_over_v0]                        # [program.claim]; a name with dots is quoted
    en = "v1 is slower than v0: at most 0.95 times as fast"
    zh = "v1 比 v0 慢：速度至多是 v0 的 0.95 倍"
    ratio = ["v0.time", "v1.time"]             # or: value = "v0.time"
    predicted = 1.55                           # what a count gave before anything was run; or arithmetic, "892 / 1004"
    source = "warp instructions per block, by a model: 491 against 316"
    source_zh = "每个线程块的线程束指令数（按模型）：491 对 316"
    goal_at_most = 0.9                         # the goal, set before it was measured
    at_most = 0.95                             # the gate, set once it has been measured

With `counters` (a program and its arguments, which the article's page profiles) the names are those of hardware
counters, "kernel.metric", of the kernel's first launch there. `published` is what somebody else found, `published_by`
who, `published_link` where. With `device` the claim is about that device alone, such as a ceiling from its clocks.

Three things are judged. A prediction: within 25 %, within a factor of 2, or off; that is what a reader can learn from.
A goal, which is set before a first measurement and stays as it was: met or missed. A missed goal is shown and fails
nothing. And a gate, which is set after a first measurement so that a change for the worse is noticed: a regression
test. A goal that was met often becomes the gate, too: the same number under both keys.
"""

from __future__ import annotations

import ast
import operator
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from warpbook import reads
from warpbook.book import CPU, PRIMARY, SOFTCUDA, Book, BookError
from warpbook.numbers import quantity
from warpbook.records import counters, records, schema

CLOSE, NEAR = 1.25, 2.0  # the larger of prediction and measurement over the smaller
WORDS = {
    "en": {"at_least": "at least {}", "at_most": "at most {}", "exactly": "exactly {}", "and": ", "},
    "zh": {"at_least": "不低于 {}", "at_most": "不高于 {}", "exactly": "正好 {}", "and": "，"},
}


# -- what is claimed -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """One table of a claims.toml."""

    article: str
    program: str  # reduction/ladder.py
    name: str
    en: str
    zh: str
    ratio: tuple[str, str] | None = None
    value: str | None = None
    counters: str | None = None
    device: str | None = None
    predicted: float | None = None
    source: str | None = None
    source_zh: str | None = None
    published: float | None = None
    published_by: str | None = None
    published_by_zh: str | None = None
    published_link: str | None = None
    goal_at_least: float | None = None
    goal_at_most: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    @property
    def label(self) -> str:
        """As the head of its table has it."""
        return f"[{Path(self.program).stem}.{self.name}]"

    @property
    def names(self) -> tuple[str, ...]:
        return self.ratio or (str(self.value),)

    @property
    def gates(self) -> tuple[float, ...]:
        return tuple(gate for gate in (self.at_least, self.at_most) if gate is not None)

    @property
    def goals(self) -> tuple[float, ...]:
        return tuple(goal for goal in (self.goal_at_least, self.goal_at_most) if goal is not None)

    def text(self, key: str, language: str) -> str:
        """Its sentence (`text`), its `source` or `published_by` in the language; English where there is no other."""
        if key == "text":
            return {"en": self.en, "zh": self.zh}[language]
        return str((language == "zh" and getattr(self, f"{key}_zh")) or getattr(self, key) or "")


KEYS = tuple(field.name for field in fields(Claim) if field.name not in ("article", "program", "name"))
BOUNDS = ("goal_at_least", "goal_at_most", "at_least", "at_most")
NUMBERS = ("predicted", "published", *BOUNDS)


def file_of(book: Book, article: str) -> Path:
    return book.snippets / article / "claims.toml"


@reads.remembered
def of_article(book: Book, article: str) -> list[Claim]:
    """The article's claims, in the order written; none where it has no claims.toml. Raises BookError."""
    path = file_of(book, article)
    if not reads.exists(path):
        return []
    name = book.relative(path)
    try:
        tables = tomllib.loads(reads.text(path))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BookError(f"{name}: not TOML: {error}") from None
    for program, claims in tables.items():
        if not reads.is_file(book.snippets / article / f"{program}.py"):
            raise BookError(f"{name}: [{program}]: there is no snippets/{article}/{program}.py")
        for claim, table in claims.items() if isinstance(claims, dict) else ():
            for key in table if isinstance(table, dict) else ():
                if key not in KEYS:
                    raise BookError(f'{name}: [{program}.{claim}]: unknown key "{key}"{schema.nearest(key, KEYS)}')
    schema.check(tables, "claims", name)
    return [
        claim_of(table, article, program, claim, f"{name}: [{program}.{claim}]")
        for program, claims in tables.items()
        for claim, table in claims.items()
    ]


def claim_of(table: dict[str, Any], article: str, program: str, name: str, where: str) -> Claim:
    if ("ratio" in table) == ("value" in table):
        raise BookError(f"{where}: give either ratio = [a, b] or value = a")
    if not any(key in table for key in ("predicted", *BOUNDS)):
        raise BookError(
            f"{where}: predict something, or give a goal, such as goal_at_least, or a gate, such as at_least"
        )
    numbers = {key: arithmetic(table[key], f"{where}: {key}") for key in NUMBERS if key in table}
    for low, high in (("goal_at_least", "goal_at_most"), ("at_least", "at_most")):
        if low in numbers and high in numbers and numbers[low] > numbers[high]:
            raise BookError(f"{where}: {low} is above {high}, so no number can be between them")
    ratio = {"ratio": tuple(table["ratio"])} if "ratio" in table else {}
    return Claim(article=article, program=f"{article}/{program}.py", name=name, **(table | numbers | ratio))


OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}  # fmt: skip


def arithmetic(written: float | str, where: str) -> float:
    """A number, or what a text of numbers, + - * / ** and parentheses comes to: "892 / 1004"."""

    def number(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as constant) if not isinstance(constant, bool):
                return float(constant)
            case ast.UnaryOp(op=ast.USub()):
                return -number(node.operand)
            case ast.BinOp() if type(node.op) in OPERATORS:
                return float(OPERATORS[type(node.op)](number(node.left), number(node.right)))
        raise ValueError

    try:
        found = number(ast.parse(written, mode="eval").body) if isinstance(written, str) else float(written)
    except (SyntaxError, ValueError, ArithmeticError, TypeError, RecursionError, MemoryError):
        found = float("nan")
    if not schema.is_finite(found):
        raise BookError(f'{where}: "{" ".join(str(written).split())}" is neither a number nor arithmetic of numbers')
    return found


# -- what is measured ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """One claim and what one device's record says of it.

    `measured` and `holds` are None where the record has nothing to say: softcuda's knows counters and no times, and a
    GPU's is pending where the code has changed since. `holds` is None for a claim without a gate, too.
    """

    device: str  # the folder of its records
    device_name: str
    date: str
    claim: Claim
    unit: str
    measured: float | None = None
    holds: bool | None = None
    is_pending: bool = False

    @property
    def article(self) -> str:
        return self.claim.article

    @property
    def prediction(self) -> str | None:
        """How good it was: "close" (within 25 %), "near" (within a factor of 2) or "off"; None: not comparable.

        No factor leads to or from zero: a prediction of zero is comparable only where zero was measured.
        """
        one, other = self.claim.predicted, self.measured
        if one is None or other is None:
            return None
        if one == other:
            return "close"
        if one == 0 or other == 0:
            return None
        apart = max(one / other, other / one) if one * other > 0 else float("inf")
        return "close" if apart <= CLOSE else "near" if apart <= NEAR else "off"

    @property
    def goal(self) -> str | None:
        """Whether the goal is "met" or "missed"; "pending" before anything is measured; None without a goal."""
        if not self.claim.goals:
            return None
        if self.measured is None:
            return "pending"
        return "met" if within(self.measured, self.claim.goal_at_least, self.claim.goal_at_most) else "missed"

    @property
    def falls_short(self) -> bool:
        """Whether a gate (not a goal) is missed, or the primary device's fresh record lacks what the claim names."""
        unknown = self.measured is None and self.device in (PRIMARY, CPU) and not self.is_pending
        return self.holds is False or unknown

    @property
    def margin(self) -> float | None:
        """By how much of the gate the measured number clears it; negative where it falls short."""
        if self.measured is None:
            return None
        ways = [self.measured / low - 1 for low in (self.claim.at_least,) if low]
        ways += [1 - self.measured / high for high in (self.claim.at_most,) if high]
        return min(ways, default=None)

    def number(self, number: float | None) -> str:
        return "–" if number is None else f"{number:g}×" if self.unit == "x" else quantity(number, self.unit)

    def gate(self, language: str) -> str:
        return self.bounds(self.claim.at_least, self.claim.at_most, language)

    def goal_text(self, language: str) -> str:
        return self.bounds(self.claim.goal_at_least, self.claim.goal_at_most, language)

    def bounds(self, low: float | None, high: float | None, language: str) -> str:
        """What a number is held to, in words: "at least 0.9×"; "" where it is held to nothing."""
        if low is not None and low == high:
            return WORDS[language]["exactly"].format(self.number(low))
        keys = (("at_least", low), ("at_most", high))
        said = [WORDS[language][key].format(self.number(bound)) for key, bound in keys if bound is not None]
        return WORDS[language]["and"].join(said)

    def shown(self, key: str) -> str:
        """`measured`, or the claim's `predicted` or `published`, as a reader sees it."""
        number = self.measured if key == "measured" else getattr(self.claim, key)
        return "–" if number is None else quantity(float(number), self.unit)


@reads.remembered
def judged(book: Book, device: str, article: str) -> list[Judged]:
    """Every claim of the article, held against the device's record. Raises BookError for what makes no sense.

    Where a device has no record of the article there is nothing to judge; only the primary one is waited for.
    """
    claims = [claim for claim in of_article(book, article) if claim.device in (None, device)]
    record = records.look_with_cpu(book, device, article) if claims else None
    if not claims or (record is None and device != PRIMARY):
        return []
    waiting = records.pending(book, device, article)
    try:
        return [judge(claim, record or records.empty(), device, waiting) for claim in claims]
    except BookError as error:
        raise BookError(f"{book.relative(file_of(book, article))}: {error}") from None


def judge(claim: Claim, record: dict[str, Any], device: str, waiting: Iterable[str] = ()) -> Judged:
    """One claim, held against a record of which the parts `waiting` are not to be believed any more."""
    part = record["counters"].get(claim.counters) if claim.counters else record["programs"].get(claim.program)
    name = records.device_name(record)
    if cpu := records.cpu_of(record, part):
        device, name = CPU, cpu
    if (claim.counters or claim.program) in waiting:
        unit = "x" if claim.ratio else unit_of(claim, part)
        return Judged(device, name, "", claim, unit, is_pending=True)
    try:
        number, unit = measured(claim, part)
    except BookError as error:
        raise BookError(f"{claim.label}: {error}") from None
    verdict = holds(claim, number) if number is not None and claim.gates else None
    return Judged(device, name, str((part or {}).get("date", "")), claim, unit, number, verdict)


def unit_of(claim: Claim, part: dict[str, Any] | None) -> str:
    if claim.counters:
        return counters.unit(claim.names[0])
    return str((part or {}).get("values", {}).get(claim.names[0], {}).get("unit", "1"))


def everything(book: Book, devices: list[str]) -> list[Judged]:
    """The claims of all articles on each of the devices; of others than the primary one those that it can judge."""
    found = [one for article in book.articles() for device in devices for one in judged(book, device, article)]
    kept = [one for one in found if one.device == PRIMARY or one.measured is not None or one.is_pending]
    return [one for i, one in enumerate(kept) if one.device != CPU or one not in kept[:i]]


def measured(claim: Claim, part: dict[str, Any] | None) -> tuple[float | None, str]:
    """What a part of a record says of a claim (None: nothing), and the unit: the ratio of two values, or one."""
    found: list[float | None]
    if claim.counters:
        found = [counters.value(part["launches"], name) if part else None for name in claim.names]
    else:
        held = [part["values"].get(name) if part else None for name in claim.names]
        found = [value and float(value["value"]) for value in held]
    unit = "x" if claim.ratio else unit_of(claim, part)
    if None in found:
        return None, unit
    if len(found) == 1:
        return found[0], unit
    if not found[1]:
        raise BookError(f'"{claim.names[1]}" is zero, so there is no ratio to it')
    return float(found[0] or 0) / found[1], unit


def holds(claim: Claim, number: float) -> bool:
    return within(number, claim.at_least, claim.at_most)


def within(number: float, low: float | None, high: float | None) -> bool:
    return (low is None or number >= low) and (high is None or number <= high)  # false for nan


# -- what is said of it --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Score:
    """How good predictions were: counts of claims."""

    close: int
    near: int
    off: int

    @property
    def comparable(self) -> int:
        return self.close + self.near + self.off


def score(found: Iterable[Judged]) -> Score:
    verdicts = [one.prediction for one in found]
    return Score(*(verdicts.count(kind) for kind in ("close", "near", "off")))


def goals(found: Iterable[Judged]) -> tuple[int, int]:
    """How many goals were met, and how many were judged; those that nothing was measured for are left out."""
    verdicts = [one.goal for one in found]
    return verdicts.count("met"), verdicts.count("met") + verdicts.count("missed")


def broken(book: Book, device: str, article: str) -> list[str]:
    """One line for each claim that the device's record does not bear out."""
    out = []
    for one in judged(book, device, article):
        where = f"{book.relative(file_of(book, article))}: {one.claim.label}"
        if one.falls_short and one.measured is None:
            out.append(f"{where}: the record of {device} has no {' / '.join(one.claim.names)}")
        elif one.falls_short:
            out.append(
                f"{where} no longer holds on {device}: it says {one.gate('en')}, the record "
                f"{one.shown('measured')}; change the claim, or {records.remedy(device, article)}"
            )
    return out


def table(found: list[Judged]) -> str:
    """The claims for a terminal, predictions first; then the score, goals, regression gates and what is pending."""
    words = {"close": "within 25 %", "near": "within 2×", "off": "off", None: "–"}
    gates = {True: "holds", False: "FALLS SHORT", None: "–"}
    rows = [
        (f"{one.claim.program}:{one.claim.name}", one.shown("predicted"),
         "pending" if one.is_pending else one.shown("measured"), words[one.prediction],
         f"{one.goal_text('en')}: {one.goal}" if one.goal else "–", one.gate("en") or "–", gates[one.holds], one.device)
        for one in found
    ]  # fmt: skip
    head = ("claim", "predicted", "measured", "prediction", "goal", "regression gate", "verdict", "device")
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)]
    return "\n".join([*lines, "", *summary(found)])


def summary(found: list[Judged]) -> list[str]:
    """The closing lines: the score on each device, goals and those missed, gates, and what waits for a GPU."""
    out = []
    for device in dict.fromkeys(one.device for one in found):
        its = [one for one in found if one.device == device]
        won = score(its)
        out.append(
            f"{device}: of {won.comparable} predictions {won.close} were within 25 %, {won.near} within a factor of 2, "
            f"{won.off} off by more"
        )
    if not any(one.measured is not None for one in found):
        out.append("no GPU record, so nothing to judge")
    met, judged_goals = goals(found)
    out.append(f"goals, set before measuring: {met} of {judged_goals} met")
    out += [
        f"  missed: {one.claim.program}:{one.claim.name}: {one.goal_text('en')}, measured {one.shown('measured')} "
        f"on {one.device}"
        for one in found
        if one.goal == "missed"
    ]
    gated = [one for one in found if one.holds is not None]
    short = sum(one.falls_short for one in found)
    out.append(
        f"regression gates, set after measuring: {sum(bool(one.holds) for one in gated)} of {len(gated)} hold"
        + (f"; {short} claims fall short or were not recorded" if short else "")
    )
    out.append(f"pending (not yet measured on a GPU): {sum(one.is_pending for one in found)}")
    return out


def live(book: Book, article: str, launches: dict[str, list[dict[str, Any]]]) -> list[str]:
    """One line for each of the article's claims about counters that softcuda's `launches` of now do not bear out.

    A claim about another device only, such as one about a counter that softcuda lacks, is left out.
    """
    out = []
    for claim in of_article(book, article):
        if claim.counters in launches and claim.device in (None, SOFTCUDA):
            now = {**records.empty(), "counters": {claim.counters: {"launches": launches[claim.counters]}}}
            one = judge(claim, now, SOFTCUDA)
            if one.holds is False:
                out.append(
                    f"{book.relative(file_of(book, article))}: {claim.label} says "
                    f"{one.gate('en')}; softcuda counts {one.shown('measured')} now"
                )
    return out


def live_cpu(book: Book, program: Path, values: dict[str, Any], device: str = "this machine") -> list[str]:
    """One line for each gate that `values`, which a program for the CPU measured just now, do not clear."""
    name = records.program_name(program)
    out = []
    for claim in of_article(book, program.parent.name):
        if claim.program == name and claim.gates:
            number, unit = measured(claim, {"values": values})
            one = Judged(CPU, device, "", claim, unit, number, number is not None and holds(claim, number))
            if one.falls_short:
                out.append(
                    f"{book.relative(file_of(book, one.article))}: {claim.label} says {one.gate('en')}; "
                    f"{device} measured {one.shown('measured')} now"
                )
    return out


def unreleased(book: Book) -> list[str]:
    """What a release must not go without: each part of the book that the primary device has not measured."""
    return [
        f"records/{PRIMARY}/{article}.json: pending: {part}"
        for article in book.articles()
        for part in records.pending(book, PRIMARY, article)
    ]
