"""How long a page takes a reader who tries things: a count by a stated rule, not a measurement.

    prose       100 words per minute; Han characters 200 per minute; a formula or a piece of code in a line is one word
    code        10 lines per minute, blank ones and comments included: it is what the page is about
    drawing     a minute: a figure, a chart, an interactive figure, a table of claims
    formula     twenty seconds, where it stands on a line of its own

What the page shows folded is not counted: answers, line counters and deep dives, whose own time stands beside their
title. Neither are a chart that repeats another one as far as a rung (`upto=`), footnotes, what stands in the front
matter, what blocks print, and the time to do the exercises. A time is shown in steps of five minutes; that of a track
or a path is the sum of those shown.
"""

from __future__ import annotations

import re
from pathlib import Path

from warpbook import reads
from warpbook.book import Book
from warpbook.numbers import BLANK
from warpbook.source.pages import EXPRESSION, Page
from warpbook.source.prose import ASIDE, TECHNICAL, prose

WORDS_PER_MINUTE = 100
HAN_PER_MINUTE = 200
CODE_LINES_PER_MINUTE = 10
MINUTES_PER_DRAWING = 1
MINUTES_PER_FORMULA = 1 / 3
STEP = 5  # minutes

HAN = re.compile(r"[\u4e00-\u9fff]")
WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
DRAWN = re.compile(r"(?!chart:.*\bupto=)(?:chart|figure|explore|counters):|claims\Z")
FOLD = re.compile(r"^(?P<indent> *)\?\?\? ")
DIVE = re.compile(r'^ *\?\?\? dive "(?P<title>.+)"\s*$')
FORMULA = re.compile(r"^\$\$\s*$.*?^\$\$\s*$|^\$\$.+\$\$$", re.MULTILINE | re.DOTALL)
SHOWN = {
    "en": ("{minutes} min", "{hours} h", "{hours} h {minutes} min"),
    "zh": ("{minutes} 分钟", "{hours} 小时", "{hours} 小时 {minutes} 分钟"),
}


def exact(page: Page) -> float:
    """Minutes by the rule, before any rounding, without what is folded."""
    folded = {i for start in folds(page) for i in fold(page, start)}
    return count(page, [i for i in range(len(page.lines)) if i not in folded])


def folds(page: Page) -> list[int]:
    """Where a folded section begins (`??? type "title"`), from 0; one within another is part of it."""
    out: list[int] = []
    for i, line in enumerate(page.lines):
        if i not in page.fenced and FOLD.match(line.text) and not (out and i in fold(page, out[-1])):
            out.append(i)
    return out


def fold(page: Page, start: int) -> range:
    """The lines of the folded section that begins at `start`."""
    opening = FOLD.match(page.lines[start].text)
    assert opening is not None
    indent = opening["indent"] + "    "
    end = start + 1
    while end < len(page.lines) and (not page.lines[end].text.strip() or page.lines[end].text.startswith(indent)):
        end += 1
    return range(start, end)


def dive(page: Page, start: int) -> int:
    """Minutes of the deep dive that begins at `start`, at least one; a fold within it counts."""
    return max(1, round(count(page, list(fold(page, start)))))


def count(page: Page, numbers: list[int]) -> float:
    """Minutes for these lines of the page (from 0)."""
    wanted = set(numbers)
    texts = [page.lines[i].text for i in numbers if i not in page.fenced]
    alone = [match[1] for text in texts if (match := EXPRESSION.fullmatch(text.strip()))]
    code = sum(len(block.lines) for block in page.blocks if block.start in wanted)
    text = "\n".join(line if i in wanted else "" for i, line in enumerate(prose(page).split("\n")))
    text = re.sub(f"{TECHNICAL}+(?:\n{TECHNICAL}+)+", " ", text)  # a formula on lines of its own has its own rule
    text = re.sub(f"{TECHNICAL}+", " x ", text).replace(ASIDE, " ")
    han = len(HAN.findall(text))
    words = len(WORD.findall(HAN.sub(" ", text))) + sum(len(EXPRESSION.findall(line)) for line in texts) - len(alone)
    return (
        words / WORDS_PER_MINUTE
        + han / HAN_PER_MINUTE
        + code / CODE_LINES_PER_MINUTE
        + MINUTES_PER_DRAWING * sum(bool(DRAWN.match(what)) for what in alone)
        + MINUTES_PER_FORMULA * len(FORMULA.findall("\n".join(texts)))
    )


def minutes(page: Page) -> int:
    """As shown: the nearest step of five minutes, and at least one step."""
    return minutes_of(page.book, page.path)  # several pages ask for one page's time


@reads.remembered
def minutes_of(book: Book, path: Path) -> int:
    return max(STEP, STEP * round(exact(Page(book, path)) / STEP))


def shown(number: int, language: str) -> str:
    """`number` minutes in words: 25 min, 3 h 10 min, 3 小时 10 分钟."""
    hours, rest = divmod(number, 60)
    form = SHOWN[language][0 if not hours else 2 if rest else 1]
    return form.format(hours=hours, minutes=rest).replace(" ", BLANK)
