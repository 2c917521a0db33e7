"""Numbers typed into prose. A measured number is a name, `{{ v6.rate }}`; what else looks like one is reported here.

A number looks measured if it has a unit of time or of a rate, or if it is a speed-up: `3.2 µs`, `4.8 TB/s`, `1.98 GHz`,
`2.1×`, `3 times as fast`, `快 3 倍`. Counts and sizes (`32 lanes`, `48 KiB`, `16×16`) do not. Where such a number was
not measured here, the page says what it is instead:

    {{ quoted: 4.8 TB/s [^h200] }}    somebody else's figure; its source is a footnote of the page
    {{ counted: 1.33× }}              arithmetic that the page shows, or an assumption that it states

Code, mathematics, link targets, comments and footnotes (the sources themselves) are not prose; headings and tables are.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from warpbook import reads
from warpbook.book import Book, BookError
from warpbook.numbers import BLANK, GROUP, THIN
from warpbook.source.pages import EXPRESSION, Page

# -- what is prose -----------------------------------------------------------------------------------------------

TECHNICAL, ASIDE = "\0", "\1"  # what stands for code and mathematics, and for everything else that is not prose
NUMBER_ALONE = re.compile(r"(`+|\$)([ \t]*[\d.,]+[ \t]*)(\1)")  # `3.5` ms and $3.5$ ms are numbers all the same
BRACES = (ASIDE, re.compile(r"\{\{[ \t].*?[ \t]\}\}"))
HIDDEN = (
    (ASIDE, re.compile(r"<!--.*?-->", re.DOTALL)),
    (ASIDE, re.compile(r"^[ ]{0,3}\[\^[^\]\n]+\]:.*(?:\n.+)*(?:\n\s*\n(?:[ ]{4}|\t).*(?:\n.+)*)*", re.MULTILINE)),
    (ASIDE, re.compile(r"^[ ]{0,3}\*?\[[^\]\n]+\]:.*$", re.MULTILINE)),  # a link's address, an abbreviation
    (TECHNICAL, re.compile(r"(`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)\1(?!`)", re.DOTALL)),
    (TECHNICAL, re.compile(r"\$\$.*?\$\$|\\\[.*?\\\]|\\\(.*?\\\)", re.DOTALL)),
    (TECHNICAL, re.compile(r"(?<![\\$])\$(?![\s$])(?:(?!\n\s*\n)[^$])*?(?<!\s)\$")),
    BRACES,
    (ASIDE, re.compile(r"\{:?[ ]*(?:[#.][\w-]|[\w-]+=)[^{}\n]*\}")),  # { #anchor .class }
    (ASIDE, re.compile(r"\]\([^)\n]*\)|\]\[[^\]\n]*\]|\[\^[^\]\n]+\]")),
    (ASIDE, re.compile(r"</?[A-Za-z][^>]*>|<?https?://[^\s>）]+>?")),
)


def prose(page: Page, marks: bool = False) -> str:
    """The page's expanded text, of the same length and the same lines, with nothing left in it except prose.

    With `marks` what stands in {{ … }} is left too.
    """
    return prose_of(page.book, page.name, page.source, marks)


@reads.remembered
def prose_of(book: Book, name: str, source: str, marks: bool) -> str:
    page = Page.of(book, name, source)
    lines = [line.text for line in page.lines]
    for i in [*range(page.first), *page.fenced]:
        lines[i] = ASIDE * len(lines[i])
    text = "\n".join(lines)
    text = NUMBER_ALONE.sub(lambda match: "*" * len(match[1]) + match[2] + "*" * len(match[3]), text)
    for filler, pattern in HIDDEN[: HIDDEN.index(BRACES)] if marks else HIDDEN:
        text = pattern.sub(lambda match, filler=filler: blank(filler, match[0]), text)  # type: ignore[misc]
    return text


def blank(filler: str, text: str) -> str:
    return re.sub(r"[^\n]", filler, text)


# -- what looks measured -----------------------------------------------------------------------------------------

ONE_SPACE = r"(?:[ \u00a0\u2009\u202f]|&(?:nbsp|thinsp|#160);|\n[ >]*)"
SPACE = rf"[*_]{{0,3}}\x01*{ONE_SPACE}[*_]{{0,3}}"
GAP = rf"[*_]{{0,3}}\x01*{ONE_SPACE}?[*_]{{0,3}}"  # between a number and its unit
POWER = r"(?:[eE][-+]?\d+|\s?[×·]\s?10(?:[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|\^-?\d+))?"
NUMBER = rf"(?:\d[\d,]*(?:[ \u00a0\u202f]\d{{3}}(?!\d))*(?:\.\d+)?|\.\d+|[¼½¾]){POWER}"
START = r"(?<![A-Za-z0-9_.,^⁰¹²³⁴⁵⁶⁷⁸⁹])"
RANGE = rf"(?:{NUMBER}{GAP}(?:[-–—~±]|to|and|or|against|到|至|和|或|对){GAP})?"
END = r"(?![A-Za-z0-9_])"

TIME = (
    rf"{GAP}-?(?:[pnuµμm]s|(?:nano|micro|milli)?seconds?|secs?|min(?![/(])|minutes?|hours?|(?:clock )?cycles?){END}"
    rf"|{SPACE}s{END}"
    rf"|{GAP}(?:(?:皮|纳|微|毫)?秒(?!表)|分钟|小时|个?(?:时钟)?周期(?!性))"
)
RATE = (
    rf"{GAP}(?:[kKMGTPE]?Hz|[kKMGTPE]?i?[Bb]ps|[KMGTPE](?:FLOP|flop|Flop|OP)[Ss]){END}"
    rf"|{GAP}(?:[A-Za-z-]+[ ]){{0,2}}[A-Za-z]*/(?:s|sec|clk|clock|cycle){END}"
    rf"|{GAP}(?:[A-Za-z-]+\s){{1,3}}per\s(?:second|cycle|clock)\b"
    rf"|{GAP}(?:[A-Za-z-]+\s){{1,2}}a\ssecond(?=[.,;:)]|\s*$|\s(?:on|from|for|when|with|at|and|against|while)\b)"
    rf"|{GAP}[^\s，。；：、]{{1,4}}?(?:/|每)秒"
)
FAST = r"(?:faster|slower|quicker|longer|shorter)\b"
SPEED = r"(?:speed|rate|bandwidth|throughput|time|performance|latency)\b"
SPEEDUP = (
    r"[*_]{0,3}×(?![A-Za-z0-9($\0]|[ \u00a0]?[\d\0])"  # 2.1×, but neither 16×16 nor 2 × 3
    rf"|[*_]{{0,3}}[ \u00a0]×(?=\s(?:{FAST}|as\sfast|speed)|\s?[，。；、,.;)）])"
    r"|[*_]{0,3}[xX](?![A-Za-z0-9(])"
    r"|-?fold\b(?!\scross)"
    rf"|(?:{GAP}(?:times|x|×))\s(?:as\s(?:fast|slow|quick|long)\b|{FAST}|(?:the|its|their|our)\s(?:\w+\s)?{SPEED})"
    rf"|{GAP}%\s(?:{FAST}|speed-?up|(?:more|less)\stime)"
)
WORD = r"(?:two|three|four|five|six|seven|eight|nine|ten|(?:half|quarter|third|fifth|tenth)(?:\sof)?(?:\san?)?)"
AFTER = (
    rf"\b(?:speed-?ups?|faster|slower|quicker|加速比)(?:\s?(?:of|is|was|by|about|a\sfactor\sof|为|是|约|达到?|[=:：≈]))+{GAP}{NUMBER}"
    rf"|(?:快|慢|提速|加速|缩短)了?(?:大?约|近)?{GAP}{NUMBER}\s?%"
    rf"|每秒[^，。；：！？\d\n\0\1]{{0,6}}{NUMBER}(?:\s?[kKMGTP]?i?[A-Za-z]+)?"
)
LOOKS_MEASURED = (
    re.compile(rf"{START}{RANGE}{START}{NUMBER}(?:{TIME}|{RATE}|{SPEEDUP})", re.MULTILINE),
    re.compile(rf"{START}{RANGE}{START}\d+\.\d+s{END}"),  # 3.5s is a time, the 1990s are not
    re.compile(rf"{START}\d[\d,]*\.\d+{SPACE}times\b"),  # nobody does a thing 2.5 times
    re.compile(rf"(?<![A-Za-z0-9×⁰¹²³⁴⁵⁶⁷⁸⁹)\]\0])×(?!10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹^]){NUMBER}(?![\dA-Za-z]|\s?×)"),  # sped up ×3.2
    re.compile(rf"\b{WORD}\s(?:nano|micro|milli)seconds?\b", re.IGNORECASE),
    re.compile(r"[一二两三四五六七八九十百千万半]+(?:分之[一二三四五六七八九]+)?\s?(?:皮|纳|微|毫)秒"),
    re.compile(AFTER, re.IGNORECASE | re.MULTILINE),
)
TIMES_ZH = re.compile(rf"{START}{RANGE}{START}(?P<number>{NUMBER}){GAP}(?:多)?倍(?!数|频|增)")
FAST_ZH = re.compile("快|慢|速|带宽|吞吐|用时|耗时|时间|延迟|性能")
STOPS_ZH = re.compile(r"[，。；：！？,;\n]")


def spans(text: str) -> list[tuple[int, int]]:
    """Where `text` (prose only) has a number that looks measured; of two that overlap, the one that begins first."""
    found = [match.span() for pattern in LOOKS_MEASURED for match in pattern.finditer(text)]
    found += [match.span() for match in TIMES_ZH.finditer(text) if is_speedup(text, match)]
    out: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
        if not out or start >= out[-1][1]:
            out.append((start, end))
    return out


def is_speedup(text: str, match: re.Match[str]) -> bool:
    """Whether `N 倍` speaks of speed: N has a point, or its clause does; the clause before, where N begins its own."""
    if "." in match["number"]:
        return True
    stops = [0, *(stop.end() for stop in STOPS_ZH.finditer(text, 0, match.start()))]
    begin = stops[-1]
    if match.start() - begin < 4 and len(stops) > 1:
        begin = stops[-2]
    after = STOPS_ZH.search(text, match.end())
    return bool(FAST_ZH.search(text, begin, after.start() if after else len(text)))


# -- tables ------------------------------------------------------------------------------------------------------

RULE = re.compile(r"^[ >]*\|?[ ]*:?-+:?[ ]*(?:\|[ ]*:?-+:?[ ]*)*\|?[ ]*$")
HEAD_UNIT = re.compile(
    r"(?:^|[(\[（,，/]|\bin\s)\s*(?:[pnuµμm]?s|seconds?|min|[kKMGTPE]?i?(?:B|FLOP|flop|bit)/s|[kMGT]?Hz|×|(?:皮|纳|微|毫)?秒|倍)"
    r"\s*(?:[)\]）]|$)"
)
BARE = re.compile(rf"[~≈<>*_\s]*{NUMBER}[*_\s]*")


def cells(line: str) -> list[tuple[int, str]]:
    """The cells of a table's row, each with its place in the line."""
    out, at = [], 0
    for part in re.split(r"(?<!\\)\|", line):
        out.append((at, part))
        at += len(part) + 1
    if not out[0][1].strip(" >"):
        out = out[1:]
    return out


def in_columns(text: str) -> Iterator[tuple[int, int]]:
    """Bare numbers in a column whose head names a unit: `| time (ms) |` and below it `| 3.2 |`."""
    lines, at, units = text.split("\n"), 0, None
    for i, line in enumerate(lines):
        if "|" not in line:
            units = None
        elif units is not None:
            for column, (place, cell) in enumerate(cells(line)):
                if column in units and BARE.fullmatch(cell):
                    start = at + place + len(cell) - len(cell.lstrip())
                    yield start, start + len(cell.strip())
        elif i and RULE.match(line):
            units = {column for column, (_, cell) in enumerate(cells(lines[i - 1])) if HEAD_UNIT.search(cell.strip())}
        at += len(line) + 1


# -- the lint ----------------------------------------------------------------------------------------------------


def bare(page: Page) -> list[str]:
    """One line for each number of the page's prose that looks measured and is neither bound to a record nor marked."""
    text = prose(page)
    written = "\n".join(line.text for line in page.lines)
    out = []
    for start, end in sorted({*spans(text), *in_columns(text)}):
        said = " ".join(re.sub(r"[*_`$]|&[#\w]+;|</?\w[^>]*>|\]\([^)]*\)", " ", written[start:end]).split())
        out.append(
            f'{where(page, text, start)}: "{said}" is typed by hand; bind it to its record ({{{{ name }}}}), or say '
            f"what it is: {{{{ quoted: {said} [^source] }}}}, {{{{ counted: {said} }}}}"
        )
    for match in re.finditer(r"\{\{[ \t](?!.*[ \t]\}\})", text):
        out.append(f"{where(page, text, match.start())}: this {{{{ is not closed on its line; write {{{{ … }}}} on one")
    return out


def names(page: Page) -> dict[str, tuple[str, str]]:
    """What stands in {{ … }} on the page, the same in every language: where it is first, and how it is written.

    Of a mark only its numbers and its source count, of a chart everything but its texts.
    """
    text = prose(page, marks=True)
    out: dict[str, tuple[str, str]] = {}
    for match in EXPRESSION.finditer(text):
        written = match[1]
        if is_mark(written):
            key = " ".join(
                [written.partition(":")[0], *re.findall(NUMBER, written.partition("[^")[0]), written.partition("[^")[2]]
            )
        else:
            key = " ".join(re.sub(r'\b[a-z]+="[^"]*"', "", written).split())
        out.setdefault(key, (where(page, text, match.start()), written))
    return out


def where(page: Page, text: str, at: int) -> str:
    return f"{page.name}:{page.lines[text.count(chr(10), 0, at)].page_number}"


# -- the marks ---------------------------------------------------------------------------------------------------

MARK = re.compile(r"(?P<kind>quoted|counted):[ \t]*(?P<said>.*?)[ \t]*(?:\[\^(?P<note>[^\]]+)\])?\Z")
KEPT = re.compile(r"(?<=[\d½¼¾]) (?=\S)")  # no line breaks within a quantity
TIP = {"en": "quoted, not measured here", "zh": "引用值，非本书实测"}


def is_mark(text: str) -> bool:
    return text.startswith(("quoted:", "counted:"))


def mark(text: str, page: Page, language: str) -> str:
    """Inline HTML of `quoted: …` or `counted: …`. Raises BookError (without a place) for what marks nothing."""
    match = MARK.match(text)
    assert match is not None
    kind, said, note = match["kind"], match["said"], match["note"]
    if not re.search(r"[\d¼½¾]", said):
        example = "3.2 ms [^source]" if kind == "quoted" else "3.2 ms"
        raise BookError(f'"{text}" holds no number; write {{{{ {kind}: {example} }}}}')
    shown = KEPT.sub(BLANK, GROUP.sub(THIN, said))
    if kind == "counted":
        if note:
            raise BookError(f'"{text}": what has a source is quoted; write {{{{ quoted: {said} [^{note}] }}}}')
        return html.escape(shown)
    if not note:
        raise BookError(f'"{text}" names no source; write {{{{ quoted: {said} [^source] }}}}')
    if not re.search(rf"^[ ]{{0,3}}\[\^{re.escape(note)}\]:", page.source, re.MULTILINE):
        raise BookError(f'"{text}": this page has no footnote [^{note}]: …; add it, with the source')
    shown, tip = html.escape(shown), TIP[language]
    return (
        f'<span class="wb-quoted"><a href="#fn:{html.escape(note, quote=True)}" data-tip="{tip}" '
        f'aria-label="{shown}; {tip}">{shown}</a></span>[^{note}]'
    )
