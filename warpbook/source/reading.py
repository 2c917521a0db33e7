"""How long a page takes to read: a count by a stated rule, not a measurement.

    prose       200 words a minute; Han characters 400 a minute; a formula or a piece of code in a line is one word
    code        20 lines a minute, blank ones and comments included: it is what the page is about
    drawing     half a minute: a figure, a chart, an interactive figure, a table of claims, a kernel's line counters
    formula     ten seconds, where it stands on a line of its own

Footnotes, what stands in the front matter and what blocks print are not counted, and neither is the time to do the
exercises. A time is shown in steps of five minutes; that of a track or a path is the sum of those shown.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from warpbook.book import Book
from warpbook.numbers import BLANK
from warpbook.source.pages import EXPRESSION, Page
from warpbook.source.prose import ASIDE, TECHNICAL, prose

WORDS_A_MINUTE = 200
HAN_A_MINUTE = 400
CODE_LINES_A_MINUTE = 20
MINUTES_A_DRAWING = 0.5
MINUTES_A_FORMULA = 1 / 6
STEP = 5  # minutes

HAN = re.compile(r"[\u4e00-\u9fff]")
WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
DRAWN = re.compile(r"(?:chart|figure|explore|lines|counters):|claims\Z")
FORMULA = re.compile(r"^\$\$\s*$.*?^\$\$\s*$|^\$\$.+\$\$$", re.MULTILINE | re.DOTALL)
SHOWN = {
    "en": ("{minutes} min", "{hours} h", "{hours} h {minutes} min"),
    "zh": ("{minutes} 分钟", "{hours} 小时", "{hours} 小时 {minutes} 分钟"),
}


def exact(page: Page) -> float:
    """Minutes by the rule, before any rounding."""
    texts = [line.text for i, line in enumerate(page.lines) if i not in page.fenced]
    alone = [match[1] for text in texts if (match := EXPRESSION.fullmatch(text.strip()))]
    code = sum(len(block.lines) for block in page.blocks)
    text = prose(page)
    text = re.sub(f"{TECHNICAL}+(?:\n{TECHNICAL}+)+", " ", text)  # a formula on lines of its own has its own rule
    text = re.sub(f"{TECHNICAL}+", " x ", text).replace(ASIDE, " ")
    han = len(HAN.findall(text))
    words = len(WORD.findall(HAN.sub(" ", text))) + sum(len(EXPRESSION.findall(line)) for line in texts) - len(alone)
    return (
        words / WORDS_A_MINUTE
        + han / HAN_A_MINUTE
        + code / CODE_LINES_A_MINUTE
        + MINUTES_A_DRAWING * sum(bool(DRAWN.match(what)) for what in alone)
        + MINUTES_A_FORMULA * len(FORMULA.findall("\n".join(texts)))
    )


def minutes(page: Page) -> int:
    """As shown: the nearest step of five minutes, and at least one step."""
    files = [page.path, *(page.book.snippets / page.article).glob("*")]  # several pages ask for one page's time
    return _minutes(page.book, page.path, max(file.stat().st_mtime_ns for file in files))


@lru_cache(maxsize=256)
def _minutes(book: Book, path: Path, changed: int) -> int:
    return max(STEP, STEP * round(exact(Page(book, path)) / STEP))


def shown(number: int, language: str) -> str:
    """`number` minutes in words: 25 min, 3 h 10 min, 3 小时 10 分钟."""
    hours, rest = divmod(number, 60)
    form = SHOWN[language][0 if not hours else 2 if rest else 1]
    return form.format(hours=hours, minutes=rest).replace(" ", BLANK)
