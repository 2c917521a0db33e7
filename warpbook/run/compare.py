"""Two outputs of one program: where they part.

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

import math
import re

AGREEMENT = 2e-6  # relative, between the same small size on two devices: 32 roundings of float32
TIME_AND_RATE = r"(?:ns|us|µs|μs|ms|s|min|[kKMGTP]?i?B/s|[kKMGTP]?FLOP/?s|[kKMGT]?/s|[kMG]?Hz|m?W|°C|×|%)"
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?|[-+]?\.\d+"
MEASURED = re.compile(rf"(?:(?<![\w.])(?:{NUMBER}))\s?(?={TIME_AND_RATE}(?![\w/]))")
MACHINE = re.compile(r"^(\s*(?:device|driver|compiler|clocks|memory)\s*:).*$", re.IGNORECASE)
NAN = re.compile(r"(?<![\w])[-+]?nan(?![\w])", re.IGNORECASE)
PLAIN_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w])")


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


def reworded(before: str, after: str, other: str) -> str | None:
    """What another device printed in the words of `before`, in the words of `after`; None where that cannot be said.

    `before` and `after` are one device's outputs of code that computes the same, so the numbers of a line are those of
    the same expressions in the same order. They must be equal, measured ones (see above) left aside.
    """
    lines = [text.split("\n") for text in (before, after, other)]
    if len({len(each) for each in lines}) > 1:
        return None
    out = []
    for was, now, theirs in zip(*lines, strict=True):
        if was == now:
            out.append(theirs)
            continue
        cut = [re.split(f"({PLAIN_NUMBER.pattern})", MACHINE.sub(r"\1 #", line)) for line in (was, now, theirs)]
        same_words = [" ".join(text.split()) for text in cut[0][::2]] == [
            " ".join(text.split()) for text in cut[2][::2]
        ]
        same_numbers = PLAIN_NUMBER.findall(MEASURED.sub("", was)) == PLAIN_NUMBER.findall(MEASURED.sub("", now))
        if not same_words or not same_numbers or len(cut[0]) != len(cut[1]) or MACHINE.match(now):
            return None
        cut[1][1::2] = cut[2][1::2]
        out.append("".join(cut[1]))
    return "\n".join(out)


def skipped(text: str) -> bool:
    """Whether a block said that the device cannot serve it (warpbench.needs)."""
    return text.startswith("skipped: ") or "\nskipped: " in text


LACKED = re.compile(r"^skipped: (needs .+, which `[^`]+` installs)$", re.MULTILINE)


def lacked(text: str) -> str:
    """Which packages a block or a program said that it needs, and how to get them; empty for none."""
    found = LACKED.search(text)
    return found[1] if found else ""


def close(a: float, b: float, rtol: float) -> bool:
    """Near one another; false for anything that is not a number."""
    return not math.isnan(a) and not math.isnan(b) and abs(a - b) <= rtol * max(abs(a), abs(b))
