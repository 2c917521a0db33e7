"""Listings: a name and numbered lines for each, a link to its file, notes on its lines, a program beside its kernel.

A listing of a snippet is `#scores.cu:dot`, line 12 of the file `#scores.cu-L12` (to `-L18`), the same in both languages
and on the lab page, where every line is an anchor. One written in the page is named after its section: `#scale.2`.

On a line of its own under a listing, `{{ notes }}` makes the list below it notes on lines. Each begins with a piece of
code that stands in one line of the listing:

    {{ notes }}

    1.  `sum += q[d] * k[d]` One fused multiply-add a step.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from warpbook import reads
from warpbook.book import Book, BookError
from warpbook.run.hashes import needed
from warpbook.source.pages import SNIPPET, Block, Line, Page

PLACE = '<div data-listing="{}"></div>'  # where a listing will stand
PLACES = re.compile(r'<div data-listing="(\d+)"></div>')
COLOURED = re.compile(  # a listing as superfences makes it
    r'<div class="(?P<classes>language-[\w+-]+ highlight)">(?:<span class="filename">(?P<title>.*?)</span>)?'
    r"<pre><span></span><code>(?P<code>.*?)</code></pre></div>",
    re.DOTALL,
)
HEADING = re.compile(r'<h[2-6] id="([^"]+)"')
NOTES = re.compile(r"<!-- notes ([\d ]+) -->\s*<ol>\n?(.*?)</ol>", re.DOTALL)
NOTE = re.compile(r"\s*\d+\.\s+`([^`]+)`")
PROMPT = re.compile(r"(?:\$|>>>|\.\.\.) ")
KERNELS = ("cuda", "cpp", "c")
LANGUAGES = {".cu": "cuda", ".cuh": "cuda", ".cpp": "cpp", ".c": "c", ".py": "python"}
TOGETHER = 4  # a kernel and a program stand side by side if neither has more than four times the lines of the other
WORDS = {"en": {"note": "Note"}, "zh": {"note": "注"}}


@dataclass
class Listing:
    """One on its way to the page."""

    block: Block
    html: str
    attached: str = ""  # what stands under it: notes, output, counters
    apart: str = ""  # what stands between it and the next


# -- names ---------------------------------------------------------------------------------------------------------


def written(block: Block) -> tuple[Line, ...]:
    """The lines that are shown: empty ones before and after the code are not."""
    lines = list(block.lines)
    while lines and not lines[0].text.strip():
        del lines[0]
    while lines and not lines[-1].text.strip():
        del lines[-1]
    return tuple(lines)


def snippet(page: Page, block: Block) -> tuple[str, str]:
    """(file, first section) that a block shows; two empty texts if it holds more than pieces of one file."""
    lines = written(block)
    target = SNIPPET.match(page.source.splitlines()[lines[0].page_number - 1]) if lines else None
    file, _, section = target["target"].partition(":") if target else ("", "", "")
    return (file, section) if all(line.file == file or not line.text.strip() for line in lines) else ("", "")


def ranges(numbers: list[int]) -> str:
    """`12-40`, or `12-20 23-40` where lines are left out; 0-0 is a line of no number, between two pieces of a file."""
    out: list[list[int]] = []
    for number in numbers:
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return " ".join(f"{first}-{last}" for first, last in out)


def homes(book: Book, folder: str) -> dict[str, str]:
    """Where the site shows each file of snippets/`folder`: path to its program's page."""
    found: dict[str, str] = {}
    for program in book.programs(folder):
        place = f"snippets/{folder}/{program.stem}/"
        found[book.relative(program)] = place
        for name in beside(book, program):
            if name not in found or Path(name).stem.lstrip("_") == program.stem:
                found[name] = place
    return found


def beside(book: Book, program: Path) -> dict[str, str]:
    """What a program's page shows beside it, from path to text: kernels it loads, modules that are no programs."""
    modules, kernels, data = needed(book, [reads.text(program)], program.parent.name, book.relative(program))
    files = {**kernels, **data, **modules}
    return {
        name: text
        for name, text in files.items()
        if Path(name).suffix in LANGUAGES and (Path(name).suffix != ".py" or Path(name).name.startswith("_"))
    }


# -- an article's listings -----------------------------------------------------------------------------------------


def complete(content: str, page: Page, shown: dict[int, tuple[Block, str]], language: str, root: str) -> str:
    """`content`, the page's HTML, with its listings as readers get them. `root` is the way to the language's own.

    `shown`: each block and superfences' HTML of it, by the number that is written where it stands (PLACE).
    """
    listings: list[Listing] = []
    before, name = "", Namer(page, root)
    at = 0
    places = list(PLACES.finditer(content))
    if lost := shown.keys() - {int(place[1]) for place in places}:
        raise BookError(f"{shown[min(lost)][0].where}: this block is collected and not shown as one")
    for place in places:
        block, coloured = shown[int(place[1])]
        between = content[at : place.start()]
        name.pass_by(between)
        if listings:
            listings[-1].attached, listings[-1].apart = attachments(between)
        else:
            before = between
        match = COLOURED.fullmatch(coloured.strip())
        assert match, coloured[:200]
        listings.append(Listing(block, name.listing(match, block)))
        at = place.end()
    if not listings:
        return content
    listings[-1].attached, listings[-1].apart = attachments(content[at:])
    for one in listings:
        annotate(one, WORDS[language]["note"])
    return before + "".join(in_pairs(listings))


class Namer:
    """Gives each listing of a page the name it is linked by."""

    def __init__(self, page: Page, root: str) -> None:
        self.page, self.root = page, root
        self.section, self.count = "code", 0
        self.names: dict[str, int] = {}
        self.homes: dict[str, dict[str, str]] = {}

    def pass_by(self, text: str) -> None:
        if headings := HEADING.findall(text):
            self.section, self.count = headings[-1], 0

    def home(self, file: str) -> str:
        folder = Path(file).parent.name
        if folder not in self.homes:
            self.homes[folder] = homes(self.page.book, folder)
        return self.homes[folder].get(file, "")

    def listing(self, match: re.Match[str], block: Block) -> str:
        file, section = snippet(self.page, block)
        title, lines = match["title"], ""
        if file:
            name = f"{Path(file).name}:{section}" if section else Path(file).name
            self.names[name] = self.names.get(name, 0) + 1
            name += f".{self.names[name]}" if self.names[name] > 1 else ""
            numbers = [line.number if line.file == file else 0 for line in written(block)]
            shown = ranges([number for number in numbers if number])
            lines = f' data-lines="{ranges(numbers)}"'
            title = title or html.escape(file)
            if place := self.home(file):
                title = f'<a href="{self.root}{place}#{Path(file).name}-L{numbers[0]}">{title}</a>'
            title += ":" + re.sub(r"\b(\d+)-\1\b", r"\1", shown).replace("-", "–").replace(" ", ", ")
        else:
            self.count += 1
            name = f"{self.section}.{self.count}"
        if block.language == "console":
            lines += f' data-copy="{html.escape(commands(block.code))}"'
        head = f'<span class="filename">{title}</span>' if title else ""
        return (
            f'<div class="{match["classes"]}"{lines}>{head}'  # no id here: Material makes a selector of it, to copy
            f'<pre><span></span><code id="{html.escape(name)}">{match["code"]}</code></pre></div>'
        )


def commands(console: str) -> str:
    """What a reader types of a console's text: neither prompts nor answers. All of it where there is no prompt."""
    out: list[str] = []
    goes_on = False
    for line in console.splitlines():
        prompt = PROMPT.match(line)
        if prompt or goes_on:
            out.append(line[prompt.end() :] if prompt else line.removeprefix("> "))
            goes_on = line.endswith("\\")
    return "\n".join(out) if out else console.rstrip("\n")


def attachments(text: str) -> tuple[str, str]:
    """(what belongs to the listing before, the rest): notes first, then its output and counters."""
    notes = ""
    if found := NOTES.search(text):
        notes, text = found[0], text[: found.start()] + text[found.end() :]
    at = 0
    while opened := re.compile(r'\s*<div class="wb-(?:output|lines)"').match(text, at):
        at = end_of_div(text, opened.start() + text[opened.start() :].index("<"))
    return notes + text[:at], text[at:]


def end_of_div(text: str, at: int) -> int:
    depth = 0
    for tag in re.compile(r"<(/?)div\b[^>]*>").finditer(text, at):
        depth += -1 if tag[1] else 1
        if not depth:
            return tag.end()
    return len(text)


def in_pairs(listings: list[Listing]) -> Iterator[str]:
    """The page from its first listing on: a kernel, and the program that follows at once, stand in one element."""
    opened = False
    for one, after in zip(listings, [*listings[1:], None], strict=True):
        whole = one.html + one.attached
        if opened:
            yield f"<div>{whole}</div></div>{one.apart}"
            opened = False
        elif after and fit(one, after):
            yield f'<div class="wb-pair"><div>{whole}</div>'
            opened = True
        else:
            yield whole + one.apart


def fit(kernel: Listing, program: Listing) -> bool:
    if kernel.block.language not in KERNELS or not program.block.is_python or kernel.apart.strip():
        return False
    few, many = sorted((len(kernel.block.lines), len(program.block.lines) + program.attached.count("\n")))
    return many <= TOGETHER * few


# -- notes -----------------------------------------------------------------------------------------------------------


def notes(below: Iterable[str], listing: Block | None) -> str:
    """Which lines of `listing` the notes are on that stand in the lines `below`, for `annotate`."""
    if listing is None:
        raise BookError("notes stand under no listing")
    lines = [line.text for line in written(listing)]
    found: list[int] = []
    for line in below:
        if found and re.match(r"\S", line) and not NOTE.match(line):
            break
        if not (note := NOTE.match(line)):
            continue
        hits = [i for i, text in enumerate(lines) if note[1].strip() in text]
        if len(hits) != 1:
            raise BookError(f'note {len(found) + 1}: "{note[1]}" stands in {len(hits) or "no"} lines of the listing')
        found.append(hits[0])
    if not found:
        raise BookError("notes without a list below them whose points begin with code of the listing")
    return f"<!-- notes {' '.join(map(str, found))} -->"


def annotate(one: Listing, word: str) -> None:
    """Number the lines that notes are on, and link each number to its note."""
    found = NOTES.search(one.attached)
    if not found:
        return
    code = re.search(r'<code id="([^"]+)">(.*)</code>', one.html, re.DOTALL)
    if not code:
        return
    prefix, lines, items = f"{code[1]}-note", code[2].split("\n"), found[2]
    for i, line in enumerate(map(int, found[1].split()), 1):
        lines[line] += f'<a class="wb-note" href="#{prefix}{i}" aria-label="{word} {i}" data-note="{i}"></a>'
        items = items.replace("<li>", f'<li id="{prefix}{i}">', 1)
    one.html = one.html[: code.start(2)] + "\n".join(lines) + one.html[code.end(2) :]
    one.attached = one.attached.replace(found[0], f'<ol class="wb-notes">{items}</ol>')


# -- lab pages ---------------------------------------------------------------------------------------------------------


def numbered(file: str, code: str, text: list[str], at: int) -> tuple[str, str, int]:
    """(coloured `code` with an anchor a line, its lines' numbers, the line after it); `text` is the file's, from 1."""
    name = Path(file).name
    out: list[str] = []
    numbers: list[int] = []
    for line in code.split("\n"):
        plain = html.unescape(re.sub(r"<[^>]+>", "", line)).strip()
        while at <= len(text) and text[at - 1].strip() != plain:
            at += 1
        out.append(f'<b id="{name}-L{at}"></b>{line}')
        numbers.append(at)
        at += 1
    return "\n".join(out), ranges(numbers), at


@lru_cache(maxsize=256)  # several programs load it, in both languages
def of_file(file: str, text: str) -> str:
    """A whole file as a listing, without the marks of its sections."""
    language = LANGUAGES[Path(file).suffix]
    lexer = get_lexer_by_name(language, stripnl=False)
    kept = "".join(line + "\n" for line in text.splitlines() if "--8<--" not in line).strip("\n")
    coloured = highlight(kept, lexer, HtmlFormatter(nowrap=True)).rstrip("\n")
    code, lines, _ = numbered(file, coloured, text.splitlines(), 1)
    return (
        f'<div class="language-{language} highlight" data-lines="{lines}">'
        f'<span class="filename">{html.escape(file)}</span>'
        f'<pre><span></span><code id="{Path(file).name}">{code}\n</code></pre></div>'
    )
