"""A page as plain Markdown: for language models, for notebooks, for whoever would rather read a text file.

Snippets are expanded, numbers are those of the primary device, outputs stand under their blocks, charts are their
tables and drawings their descriptions. No HTML is left but what code shows.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser
from itertools import groupby

from warpbook.exercises.box import SOLUTION
from warpbook.pipeline.directives import SOURCES
from warpbook.pipeline.parsed import Parsed
from warpbook.records.values import substitute
from warpbook.source.fences import FENCE
from warpbook.source.pages import EXPRESSION

SHOWN_PROGRAM = re.compile(r'^(\s*(?:```+|~~~+)\s*)text( .*title="[^"]*\.py".*)$')  # it is not run; it has its colours
TOKEN = re.compile(r"(?P<indent> *)(?P<token>WARPBOOK\d+TOKEN)\Z")
INLINE = re.compile(r"</?(?:data|span|a)\b[^>]*>")
WRAPPER = re.compile(r"</?div\b[^>]*> *")  # around Markdown (md_in_html)
ATTRIBUTES = re.compile(r"\s*\{\s*[.#][^{}]*\}\s*$")
BOX = re.compile(r"^(?P<indent> *)(?P<form>!!!|\?\?\?\+?) +(?P<kind>[\w -]+?)(?: +\"(?P<title>.*)\")? *$")
REFERENCE = re.compile(r"&#?\w+;")
MARKUP = re.compile(  # of Markdown, Jupyter or Colab, in a text that is meant as it is
    r"<(?=[A-Za-z/!?])|&(?=#?\w+;)|[\\`$]"  # tags, character references, code, formulas
    r"|\[(?=[^\]]*\][(\[:])|\](?=[(\[:])|\A[#>]|\A[-+](?=\s)"  # links, headings, quotations, lists
    r"|\*(?=\S)|(?<=\S)\*|(?<!\w)_++(?=\S)|(?<=[^\s_])_++(?!\w)"  # emphasis
)
UNSAID = {"wb-switch", "wb-output__fold"}  # controls
SILENT = {"script", "style", "button", "select", "label", "svg"}  # a drawing's description is taken before


def markdown(parsed: Parsed, *, folds: bool = False) -> str:
    """A page that was read as Markdown that needs nothing else.

    `folds`: the title of a box that the page folds is `<summary>…</summary>`, by which `cells` finds it, and of an
    exercise there is but its name. Otherwise an exercise is its task, its stub and its hints: no export has a solution
    that its reader would see unasked.
    """
    return tidy("\n".join(lines_of(*flat(parsed, folds=folds), folds=folds)))


CJK = r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]"
STOPS = "，。；：、！？）」』】》"  # full-width: they carry their own blank


EXERCISE = re.compile(r'<div class="wb-exercise" data-exercise="(?P<name>[\w/-]+)" markdown>')  # up to its </div>


def flat(parsed: Parsed, *, folds: bool = False) -> tuple[str, dict[str, str]]:
    """The page's lines, values in them, with a token for what is no Markdown; and the HTML of each token."""
    lines: list[str] = []
    tokens: dict[str, str] = {}
    directives = list(parsed.directives)

    def add_token(made: str, indent: str) -> None:
        if made:
            token = f"WARPBOOK{len(tokens)}TOKEN"
            tokens[token] = made
            lines.extend(["", indent + token, ""])

    i, fresh = parsed.first, True
    while i < len(parsed.lines):
        text = parsed.lines[i].text
        indent = text[: len(text) - len(text.lstrip())]
        alone = EXPRESSION.fullmatch(text.strip())
        if folds and (exercise := EXERCISE.fullmatch(text)):
            lines += ["", named(exercise["name"]), ""]
            i, fresh = after_div(parsed, i), True
            continue
        if one := parsed.listings.get(i):
            end = i + len(one.block.lines) + 2
            fence, *rest = (line.text for line in parsed.lines[i:end])
            lines += [SHOWN_PROGRAM.sub(r"\1py3\2", fence), *rest]
            add_token(one.output, indent)
            i, fresh = end, True
            continue
        at = next((k for k, (written, _) in enumerate(directives) if alone and written == alone[1]), None)
        if at is not None:
            add_token(directives.pop(at)[1], indent)
        else:
            join(lines, substitute(text, lambda written: parsed.values.get(written, f"{{{{ {written} }}}}")), fresh)
        i, fresh = i + 1, False
    return "\n".join(with_heading(lines, SOURCES[parsed.language])) + "\n", tokens


def after_div(parsed: Parsed, i: int) -> int:
    """The line after the end of the <div> that line `i` begins."""
    depth = 0
    for k in range(i, len(parsed.lines)):
        depth += parsed.lines[k].text.startswith("<div") - parsed.lines[k].text.startswith("</div>")
        if not depth:
            return k + 1
    return len(parsed.lines)


def named(exercise: str) -> str:
    """What stands for an exercise where `cells` will find it."""
    return f'<exercise name="{exercise}">'


def join(lines: list[str], text: str, fresh: bool) -> None:
    """Add a line of prose. A line break between Han characters or after a full stop would be a blank, so it goes."""
    before = lines[-1] if lines and not fresh else ""
    han = re.search(rf"{CJK}$", before) and re.match(rf"\s*{CJK}", text)
    stop = re.search(f"[{STOPS}]$", before) and re.match(r"\s*(?!\d+\.\s|\*\s|\[\^)[\w$`*\[]", text)
    if (han or stop) and not before.lstrip().startswith(("#", ">", "!!!", "???", "===")):
        lines[-1] = before + text.lstrip()
    else:
        lines.append(text)


def joined(text: str) -> str:
    """Markdown whose lines are put together as `join` does; code keeps its own."""
    lines: list[str] = []
    fence, fresh = "", True
    for line in text.split("\n"):
        match = FENCE.match(line)
        if fence or (match and match["fence"]):
            lines.append(line)
            fence = ("" if line.strip() == fence else fence) if fence else str(match and match["fence"])
            fresh = True
        else:
            join(lines, line, fresh)
            fresh = False
    return "\n".join(lines)


NOTE = re.compile(r"\[\^[^\]]+\]:")


def with_heading(lines: list[str], title: str) -> list[str]:
    """The page's footnotes under a heading of their own, where they stand together at its end."""
    notes = [i for i, line in enumerate(lines) if NOTE.match(line)]
    if not notes or any(line.startswith("## ") for line in lines[notes[0] :]):
        return lines
    return [*lines[: notes[0]], f"## {title} {{ #sources }}", "", *lines[notes[0] :]]


def lines_of(markdown: str, tokens: dict[str, str], *, folds: bool = False) -> list[str]:
    out: list[str] = []
    fence = ""
    boxes: list[int] = []  # indents of the admonitions we are in
    hidden: int | None = None  # indent of a solution, which only a fold may show
    for line in markdown.split("\n"):
        if hidden is not None and (not line.strip() or len(line) - len(line.lstrip()) > hidden):
            continue
        hidden = None
        token = TOKEN.match(line)
        match = FENCE.match(line)
        while boxes and not fence and line.strip() and len(line) - len(line.lstrip()) <= boxes[-1]:
            boxes.pop()
            if out and out[-1].strip("> ") == "":
                out[-1] = ("> " * len(boxes)).rstrip()
        depth = len(boxes)
        inner = line[4 * depth :] if line[: 4 * depth].isspace() or not depth else line.lstrip()
        quote = "> " * depth
        if fence:
            if line.strip() == fence:
                fence = ""
            out.append(quote + inner)
        elif token:
            out += [quote + text for text in of_html(tokens[token["token"]]).split("\n")]
        elif match and match["fence"]:
            fence = match["fence"]
            out.append(quote + re.sub(r"\{\s*\.([\w+-]+)[^}]*\}|(?<=[a-z]) .*=.*$", r"\1", inner))
        elif box := BOX.match(line):
            if box_is_solution(box) and not folds:
                hidden = len(box["indent"])
                continue
            title = plain(box["title"] or box["kind"].split()[-1].capitalize())
            folded = folds and not quote and box["form"].startswith("?")
            out += [f"{quote}> {f'<summary>{html.escape(title)}</summary>' if folded else f'**{title}**'}", f"{quote}>"]
            boxes.append(len(box["indent"]))
        elif WRAPPER.fullmatch(line):
            out.append("")
        else:
            text = INLINE.sub("", ATTRIBUTES.sub("", inner))
            out.append((quote + REFERENCE.sub(resolved, text)).rstrip())
    return out


def box_is_solution(box: re.Match[str]) -> bool:
    return SOLUTION in box["kind"].split()


def resolved(reference: re.Match[str]) -> str:
    """The character that is meant, unless it would begin markup."""
    shown = html.unescape(reference[0])
    return reference[0] if shown in ("<", ">", "&") else shown


def literally(text: str) -> str:
    """A text as Markdown that shows it as it is."""
    return MARKUP.sub(lambda match: "".join(f"\\{character}" for character in match[0]), text)


def as_code(text: str) -> str:
    """A text in Markdown's code marks, more of them than it has in a row."""
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{ticks} {text} {ticks}" if len(ticks) > 1 else f"`{text}`"


def plain(text: str) -> str:
    """Without tags. What stands in Markdown's code marks is no tag: `kernel<<<1, 10>>>()`."""
    return html.unescape(re.sub(r"(`[^`]*`)|<[^>]+>", lambda match: match[1] or "", text)).strip()


def tidy(text: str) -> str:
    """One blank line between paragraphs; code keeps its own."""
    parts = re.split(r"(^(?:> )*(`{3,}|~{3,}).*?^(?:> )*\2 *$)", text, flags=re.DOTALL | re.MULTILINE)
    for i in range(0, len(parts), 3):
        parts[i] = re.sub(r"\n{3,}", "\n\n", parts[i])
    return "".join(part for i, part in enumerate(parts) if i % 3 != 2).strip("\n") + "\n"


# -- HTML of the book's own, back to Markdown ------------------------------------------------------------


@dataclass
class Table:
    """A table on its way: rows of cells, and whether a row is of the head."""

    rows: list[list[str]] = field(default_factory=list)
    heads: int = 0

    def text(self) -> str:
        wide = max(map(len, self.rows), default=0)
        rows = [row + [""] * (wide - len(row)) for row in self.rows]
        while len(rows) > 1 and self.heads > 1:  # Markdown has one line of heads; the last names the columns
            del rows[0]
            self.heads -= 1
        if not rows:
            return ""
        shown = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
        return "\n".join([shown[0], f"|{' --- |' * wide}", *shown[1:]])


class Reader(HTMLParser):
    """Collects Markdown of the few elements that the book's own HTML is made of; what is hidden is left out."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.out: list[str] = []
        self.text: list[tuple[str, bool]] = []  # pieces, and whether each is code
        self.code = 0  # open <code>
        self.table: Table | None = None
        self.skipped: list[str] = []  # open elements of a part that is left out
        self.span = 1  # columns of the present cell
        self.chart = False  # whose table of numbers needs no heading of its own

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if self.skipped or tag in SILENT or "hidden" in known or UNSAID & set((known.get("class") or "").split()):
            self.skipped.append(tag)
        elif tag == "table":
            self.flush()
            self.table = Table()
        elif tag == "details":
            self.flush()
            self.chart = "wb-data" in (known.get("class") or "")
        elif tag == "tr" and self.table:
            self.table.rows.append([])
        elif tag in ("td", "th") and self.table:
            self.text = []
            self.span = int(known.get("colspan") or 1)
        elif tag in ("p", "pre", "figcaption", "summary", "li", "h1", "h2", "h3", "div", "figure"):
            self.flush()
            if tag == "pre" and self.out and (label := known.get("aria-label")):
                self.out[-1] = f"*{literally(label)}*"  # of an output: names its device, and its summary may not
        elif tag == "br":
            self.text.append(("\n", False))
        elif tag == "code":
            self.code += 1

    def handle_endtag(self, tag: str) -> None:
        if self.skipped:
            while self.skipped and self.skipped.pop() != tag:
                pass  # elements that need no end
        elif tag in ("td", "th") and self.table and self.table.rows:
            self.table.rows[-1] += [self.taken(), *[""] * (self.span - 1)]
        elif tag == "thead" and self.table:
            self.table.heads = len(self.table.rows)
        elif tag == "table" and self.table:
            self.out.append(self.table.text())
            self.table = None
        elif tag == "pre":
            text = "".join(piece for piece, _ in self.text).strip("\n")
            ticks = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
            self.out.append(f"{ticks}text\n{text}\n{ticks}")
            self.text = []
        elif tag in ("figcaption", "summary"):
            self.flush("*{}*" if tag == "figcaption" or not self.chart else "")
        elif tag == "li":
            self.flush("- {}")
        elif tag in ("p", "div", "figure", "h1", "h2", "h3"):
            self.flush()
        elif tag == "code":
            self.code = max(0, self.code - 1)

    def handle_data(self, data: str) -> None:
        if not self.skipped:
            self.text.append((data, self.code > 0))

    def taken(self) -> str:
        """The text so far as Markdown: code in its marks, the rest as it is."""
        parts = [("".join(text for text, _ in run), code) for code, run in groupby(self.text, lambda piece: piece[1])]
        self.text = []
        return "".join(
            as_code(" ".join(text.split())) if code and text.strip() else literally(re.sub(r"\s+", " ", text))
            for text, code in parts
        ).strip()

    def flush(self, form: str = "{}") -> None:
        if self.table:
            return
        if text := self.taken():
            self.out.append(form.format(text))


@lru_cache(maxsize=2048)  # a page is read twice, with its folds and without them
def of_html(made: str) -> str:
    """Markdown of an output, a chart, a drawing, a table of claims."""
    drawn = re.search(r"<svg\b.*?</svg>", made, re.DOTALL)
    described = ""
    if drawn and "wb-figure" in made:  # drawn by hand: its words are its title and description
        parts = [re.search(rf"<{tag}\b[^>]*>(.*?)</{tag}>", drawn[0], re.DOTALL) for tag in ("title", "desc")]
        texts = [literally(" ".join(plain(part[1]).split())) for part in parts if part]
        described = f"*{': '.join(texts)}*" if texts else ""
    reader = Reader()
    reader.feed(made)
    reader.flush()
    return "\n\n".join(part for part in [described, *reader.out] if part)


# -- cells of a notebook -----------------------------------------------------------------------------------------------

BLOCK = re.compile(
    r"^(?P<quote>(?:> )*) *```python\n(?P<code>.*?)\n(?:> )* *```$"
    r"(?:\n(?:> ?)*\n(?:> )* *\*(?P<caption>[^*\n]+)\*\n(?:> ?)*\n"
    r"(?:> )* *(?P<ticks>```+)text\n(?P<output>.*?)\n(?:> )* *(?P=ticks)$)?",
    re.DOTALL | re.MULTILINE,
)
FOLD = re.compile(r"> <summary>(?P<title>.*)</summary>")
NAMED = re.compile(r'^<exercise name="([\w/-]+)">$', re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """A cell of a notebook. `output`: what the record has of it; `caption` names the device. Both may be empty.

    `kind`: "markdown", "code", or "exercise", whose source is its name.
    """

    kind: str
    source: str
    output: str = ""
    caption: str = ""
    folded: bool = False  # code within a box that the page folds


def cells(text: str) -> list[Cell]:
    """The page's Python blocks as code, all between them as Markdown; a folded box is one <details> in each cell."""
    out: list[Cell] = []
    title = ""
    at = 0

    def add_prose(prose: str, title: str) -> str:
        for i, part in enumerate(NAMED.split(prose)):
            if i % 2:
                out.append(Cell("exercise", part))
                continue
            source, title = with_details(part.strip("\n"), title)
            if source.strip("> \n"):
                out.append(Cell("markdown", source))
        return title

    for match in BLOCK.finditer(text):
        title = add_prose(text[at : match.start()], title)
        title = title if match["quote"] else ""
        code, output = (unquoted(match[name] or "", match["quote"]) for name in ("code", "output"))
        out.append(Cell("code", code.strip("\n"), output, match["caption"] or "", folded=bool(title)))
        at = match.end()
    add_prose(text[at:], title)
    return out


def with_details(text: str, title: str) -> tuple[str, str]:
    """Markdown whose folded boxes are <details>, and the title of the box in which it ends.

    `title`: of the box in which it begins; both are empty outside a box.
    """
    out: list[str] = []
    body: list[str] = []
    begins = False  # whether the box begins here
    if not text:
        return "", title

    def close() -> None:
        inner = "\n".join(body).strip("\n")
        if inner:
            out.extend(["<details>", f"<summary>{title}</summary>", "", inner, "", "</details>"])
        elif begins:  # all of it is code
            out.append(f"*{title}*")
        body.clear()

    for line in text.split("\n"):
        if found := FOLD.fullmatch(line):
            if title:
                close()
            title, begins = found["title"], True
        elif title and line.startswith(">"):
            body.append(line[1:].removeprefix(" "))
        else:
            if title:
                close()
            title, begins = "", False
            out.append(line)
    if title:
        close()
    return "\n".join(out).strip("\n"), title


def unquoted(text: str, quote: str) -> str:
    return re.sub(rf"^{quote.rstrip()} ?", "", text, flags=re.MULTILINE) if quote else text
