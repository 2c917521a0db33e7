"""The HTML that authors may write: pages, drawings, the texts of docs/*.toml and claims.toml are held to a list of it.

A page's policy (policy.py) keeps foreign scripts out of a reader's browser. What an author writes comes from this site,
so it is checked here against lists of allowed elements and attributes: everything else is refused, with its file and
line, and nothing is rewritten. The check reads what Markdown makes of a text, so that it does not matter in which of
Markdown's ways an attribute was written.
"""

from __future__ import annotations

import functools
import html
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.parsers import expat

import markdown
import yaml

from warpbook import reads
from warpbook.book import LANGUAGES, Book
from warpbook.source.pages import FRONT_MATTER, Line, Page

# -- what is allowed ---------------------------------------------------------------------------------------------------


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ANYWHERE = words(
    "class dir hidden id lang role tabindex title data-done data-exercise data-others data-read "
    "data-search-exclude data-tabs data-tip"
)
PLAIN = words(  # with these attributes and no others
    "abbr b blockquote br caption cite code colgroup dd del dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i "
    "ins kbd mark p pre q rp rt ruby s samp section small span strong sub summary sup table tbody tfoot thead tr u ul "
    "var wbr"
)
ELEMENTS: dict[str, set[str]] = {
    "a": {"href", "type", "download", "hreflang"},
    "col": {"span"},
    "data": {"value"},
    "details": {"open"},
    "img": {"src", "alt", "width", "height", "loading"},
    "input": {"type", "id", "name", "checked", "disabled"},  # of tabs and of lists of tasks
    "label": {"for"},
    "li": {"value"},
    "ol": {"start", "type", "reversed"},
    "td": {"colspan", "rowspan", "style"},
    "th": {"colspan", "rowspan", "scope", "style"},
    "time": {"datetime"},
}
SCRIPTS = {"data", "javascript", "vbscript"}  # of addresses that may hold one
SCHEMES = {"http", "https", "mailto"}
INPUTS = {"radio", "checkbox"}
ALIGNED = re.compile(r"text-align: (?:left|center|right);?")  # the only style that Markdown itself writes
MATERIALS = re.compile(r"__(?!tabbed_\d+(?:_\d+)?\Z)")  # names that Material's scripts look for
COMMENT = re.compile(r"<!--[^<>-]*(?:-[^<>-]+)*-->")
TAG = re.compile(r"<(?=[A-Za-z/!?])[^<>]*>?")
SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
ADVICE = "warpbook/source/allowed_html.py lists what is allowed"

FILES = words(".avif .csv .gif .jpeg .jpg .json .md .png .svg .txt .webp")  # in docs/en and docs/zh, beside pages


@dataclass(frozen=True)
class Refused:
    """Something that is not allowed, and how its source may have written it, the most exact first."""

    says: str
    written: tuple[str, ...]


class OneTag(HTMLParser):
    """What a piece of HTML that should be one tag is."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.start: tuple[str, list[tuple[str, str | None]]] | None = None
        self.end = ""
        self.others = 0  # texts, comments, declarations

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.others += self.start is not None
        self.start = (tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        self.end = tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)

    def other(self, data: str) -> None:
        self.others += 1

    handle_data = handle_comment = handle_pi = unknown_decl = other

    def handle_decl(self, decl: str) -> None:
        self.others += 1


def parsed(text: str) -> OneTag:
    one = OneTag()
    one.feed(text)
    one.others += bool(one.rawdata)  # it is no whole tag
    return one


def scheme_of(address: str) -> str:
    """An address's scheme as browsers see it, who leave out blanks and control characters; "" for one of this site."""
    found = SCHEME.match(re.sub(r"[\x00-\x20\x7f]", "", address))
    return found[1].lower() if found else ""


def refused_address(address: str) -> bool:
    return scheme_of(address) not in SCHEMES | {""}


@functools.lru_cache(maxsize=1 << 14)
def refused_tag(text: str) -> Refused | None:
    """What is wrong with one tag of a page, as it is written; None if nothing is."""
    if COMMENT.fullmatch(text):
        return None
    one = parsed(text)
    if one.others or not (one.start or one.end):
        wrong = f"{text[:40]!r} is no whole tag; write < as &lt;, and > within an attribute as &gt;"
        return Refused(wrong, (text, text[:8]))
    if not one.start:
        return None  # an end alone does nothing; html-validate finds it
    tag, attributes = one.start
    if tag not in PLAIN and tag not in ELEMENTS:
        drawn = "; a drawing goes into figures/ and is shown by {{ figure:NAME }}" if tag == "svg" else ""
        return Refused(f"<{tag}> is not allowed{drawn or f'; {ADVICE}'}", (text, f"<{tag}", tag))
    for name, value in attributes:
        if wrong := refused_attribute(tag, name, value or ""):
            return Refused(wrong, (text, *([value] if value and len(value) > 3 else []), f"{name}=", name, f"<{tag}"))
    return None


def refused_attribute(tag: str, name: str, value: str) -> str:
    if name not in ANYWHERE | ELEMENTS.get(tag, set()) and not name.startswith("aria-"):
        return f"the attribute {name} of <{tag}> is not allowed; {ADVICE}"
    if name == "href" and refused_address(value):
        return f"the address {value.strip()[:60]!r} is not allowed; link to a page, https: or mailto:"
    if name == "src" and (scheme_of(value) or re.match(r"[\\/\s]{2}", value)):
        return f"the picture {value.strip()[:60]!r} is not of this site; put it beside the page"
    if name == "style" and not ALIGNED.fullmatch(value):
        return f"the style {value.strip()[:60]!r} is not allowed; styles are in theme/style"
    if name == "type" and tag == "input" and value not in INPUTS:
        return f"<input type={value}> is not allowed; {ADVICE}"
    if name in ("id", "name", "for") and MATERIALS.match(value):
        return f"the name {value[:60]!r} is one of Material's; choose one that does not begin with __"
    return ""


def refused(content: str) -> list[Refused]:
    """What of a page's HTML is not allowed, in its order."""
    if not any(map(refused_tag, set(TAG.findall(content)))):
        return []
    return [wrong for tag in TAG.findall(content) if (wrong := refused_tag(tag))]


# -- where it is written -----------------------------------------------------------------------------------------------


def located(found: Iterable[Refused], lines: Sequence[Line], elsewhere: Iterable[Line] = ()) -> list[str]:
    """One line for each, with the file and line that it was written in: one of `lines`, else the first `elsewhere`."""
    out, used = [], dict[str, int]()
    for one in found:
        for text in one.written:
            if places := [line for line in lines if has(line, text)]:
                at = min(used.get(text, 0), len(places) - 1)
                used[text] = at + 1
                out.append(f"{places[at].file}:{places[at].number}: {one.says}")
                break
        else:
            place = next((line for text in one.written for line in elsewhere if has(line, text)), None)
            place = place or (lines[0] if lines else None)
            out.append(f"{place.file}:{place.number}: {one.says}" if place else one.says)
    return list(dict.fromkeys(out))


def has(line: Line, text: str) -> bool:
    """Whether a source's line has `text`, as it is or with its character references resolved."""
    return text.lower() in line.text.lower() or ("&" in line.text and text.lower() in html.unescape(line.text).lower())


def prose_of(page: Page) -> list[Line]:
    """The page's lines without its code, each with its own file and number."""
    inside = {i for block in page.blocks for i in range(block.start, block.start + len(block.lines) + 2)}
    return [
        Line(re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", line.text), line.file, line.number, line.page_number)
        for i, line in enumerate(page.lines)
        if i not in inside
    ]


def lines_of(book: Book, path: Path) -> list[Line]:
    name = book.relative(path)
    return [Line(text, name, i, i) for i, text in enumerate(reads.text(path).splitlines(), 1)]


def tables(book: Book) -> list[Path]:
    """The files beside the pages whose texts pages show."""
    return [path for pattern in ("*.toml", "*/*.toml") for path in reads.listed(book.docs, pattern)]


def sources(book: Book, language: str) -> list[Line]:
    """All that one language's pages may show beside their own text."""
    programs = [path for kind in ("toml", "py") for path in reads.listed(book.snippets, f"*/*.{kind}")]
    tasks = reads.listed(book.root, f"exercises/*/*/task.{language}.md")
    paths = [*tables(book), *book.pages(language), *programs, *tasks]
    return [line for path in sorted(paths) for line in lines_of(book, path)]


def page_problems(page: Page, content: str, language: str) -> list[str]:
    """One line for each thing in a page's HTML, as Markdown made it, that its author may not write."""
    found = refused(content)
    return located(found, prose_of(page), sources(page.book, language)) if found else []


# -- texts -------------------------------------------------------------------------------------------------------------

MARKED = re.compile(r"[<{\]&]")  # without one of these Markdown makes no attribute and no address


@functools.cache
def converter() -> markdown.Markdown:
    return markdown.Markdown(
        extensions=["attr_list", "footnotes", "md_in_html", "pymdownx.arithmatex", "tables"],
        extension_configs={"pymdownx.arithmatex": {"generic": True}},
    )


def text_problems(text: str, file: str, line: int = 1) -> list[str]:
    """One line for each thing that the Markdown `text`, which begins at `line` of `file`, may not have."""
    if not MARKED.search(text):
        return []
    found = refused(converter().reset().convert(text))
    return located(found, [Line(one, file, line + i, line + i) for i, one in enumerate(text.split("\n"))])


def address_problems(address: str, file: str, line: int) -> list[str]:
    """One line if `address` is none that a page may link to."""
    return [f"{file}:{line}: {refused_attribute('a', 'href', address)}"] if refused_address(address) else []


def strings(data: Any, skipped: frozenset[str] = frozenset()) -> Iterator[str]:
    """The texts of parsed TOML, in their order."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict):
        for key, value in data.items():
            if key not in skipped:
                yield from strings(value, skipped)
    elif isinstance(data, list):
        for value in data:
            yield from strings(value, skipped)


def line_of(text: str, lines: list[str]) -> int:
    """The line (from 1) on which a text of a TOML, JSON or Python file begins; 1 where it cannot be seen."""
    first = next((one for one in text.split("\n") if one.strip()), text)
    words = re.findall(r"[\w<>:/.-]{4,}", first)
    for shown in (first, json.dumps(first, ensure_ascii=False)[1:-1], first[:24], *words):
        for i, line in enumerate(lines, 1):
            if shown in line:
                return i
    return 1


PATTERNS = frozenset({"avoid", "match"})  # of the glossary: regular expressions, which no page shows


def toml_problems(book: Book) -> list[str]:
    out = []
    for path in sorted([*tables(book), *reads.listed(book.snippets, "*/*.toml")]):
        source = reads.text(path)
        try:
            data = tomllib.loads(source)
        except tomllib.TOMLDecodeError:
            continue  # its reader says so
        name, lines = book.relative(path), source.splitlines()
        for text in strings(data, PATTERNS):
            if scheme_of(text) in SCRIPTS and not re.search(r"\s", text):
                out += address_problems(text, name, line_of(text, lines))
            elif MARKED.search(text):
                out += text_problems(text, name, line_of(text, lines))
    return out


def front_matter_problems(page: Page) -> list[str]:
    matter = FRONT_MATTER.match(page.source)
    if not matter or not re.search(r"[<{\]&\\]", matter[1]):
        return []
    try:
        root = yaml.compose(matter[1], Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return []  # `check` says so
    return [one for text, line in scalars(root) for one in text_problems(text, page.name, line)]


def scalars(node: yaml.Node | None) -> Iterator[tuple[str, int]]:
    """The texts of front matter, each with the page's line on which it begins."""
    if isinstance(node, yaml.ScalarNode):
        yield node.value, node.start_mark.line + 2
    elif isinstance(node, yaml.CollectionNode):
        for child in node.value:
            for one in child if isinstance(child, tuple) else (child,):
                yield from scalars(one)


# -- drawings ----------------------------------------------------------------------------------------------------------

SVG = "http://www.w3.org/2000/svg"
LINK = "http://www.w3.org/1999/xlink"
SHAPES = words(
    "svg g defs title desc symbol use path rect circle ellipse line polyline polygon text tspan marker pattern "
    "mask clipPath linearGradient radialGradient stop"
)
DRAWN = words(
    "aria-describedby aria-hidden aria-label aria-labelledby class clip-path clip-rule clipPathUnits color cx cy "
    "d direction display dominant-baseline dx dy fill fill-opacity fill-rule font-family font-size font-style "
    "font-variant font-weight fr fx fy gradientTransform gradientUnits height id lang lengthAdjust letter-spacing "
    "marker-end marker-mid marker-start markerHeight markerUnits markerWidth mask maskContentUnits maskUnits "
    "offset opacity orient overflow paint-order pathLength patternContentUnits patternTransform patternUnits "
    "points preserveAspectRatio r refX refY role rotate rx ry shape-rendering spreadMethod stop-color stop-opacity "
    "stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity "
    "stroke-width style tabindex text-anchor text-decoration text-rendering textLength transform vector-effect "
    "viewBox visibility width word-spacing writing-mode x x1 x2 xml:lang xml:space y y1 y2"
)
SPOKEN = {"aria-label", "class", "id", "role"}  # whose brackets call nothing
CALLS = re.compile(r"[(\\@]")
FUNCTION = re.compile(r"([\w-]*)\(\s*(.?)")
FUNCTIONS = words(
    "calc clamp color-mix hsl hsla matrix max min oklch rgb rgba rotate scale skewx skewy translate translatex "
    "translatey var"
)


def drawing_problems(text: str, file: str) -> list[str]:
    """One line for each thing that an SVG file, published and set into pages, may not have."""
    out: list[str] = []
    parser = expat.ParserCreate(namespace_separator=" ")

    def refuse(what: str) -> None:
        out.append(f"{file}:{parser.CurrentLineNumber}: {what} in a drawing; {ADVICE}")

    def start(name: str, attributes: dict[str, str]) -> None:
        space, _, tag = name.rpartition(" ")
        if space != SVG or tag not in SHAPES:
            refuse(f"<{tag}> is not allowed")
            return
        for full, value in attributes.items():
            if wrong := refused_drawn(tag, full, value):
                refuse(wrong)

    def comment(data: str) -> None:
        if re.search("[<>]", data):  # HTML may end a comment where XML does not
            refuse("< and > in a comment are not allowed")

    parser.StartElementHandler = start
    parser.CommentHandler = comment
    parser.StartDoctypeDeclHandler = lambda *_: refuse("<!DOCTYPE> is not allowed")
    parser.ProcessingInstructionHandler = lambda target, _: refuse(f"<?{target}?> is not allowed")
    parser.StartCdataSectionHandler = lambda: refuse("<![CDATA[ is not allowed")
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        out.append(f"{file}:{error.lineno}: not well-formed SVG")
    return list(dict.fromkeys(out))


def refused_drawn(tag: str, full: str, value: str) -> str:
    space, _, name = full.rpartition(" ")
    name = f"xml:{name}" if space == "http://www.w3.org/XML/1998/namespace" else name
    if tag == "use" and name == "href" and space in ("", LINK):
        return "" if value.startswith("#") else f"<use> of {value[:60]!r}, which is not in the drawing, is not allowed"
    if name not in DRAWN or (space and not name.startswith("xml:")):
        return f"the attribute {name} of <{tag}> is not allowed"
    if name in SPOKEN or not CALLS.search(value):
        return ""
    calls = [(called.lower(), first) for called, first in FUNCTION.findall(value)]
    if re.search(r"[\\@]", value) or any(c not in FUNCTIONS and (c, first) != ("url", "#") for c, first in calls):
        return f"{name}={value[:60]!r} is not allowed"
    return ""


def source_problems(book: Book) -> list[str]:
    """One line for each thing that no page's HTML shows, or of which it shows too little to name its place.

    That is docs/*.toml, claims, front matter, drawings, and files that would be published as they are.
    """
    out = toml_problems(book)
    for path in reads.listed(book.docs, "**/*.svg"):
        out += drawing_problems(reads.text(path), book.relative(path))
    for language in LANGUAGES:
        for path in book.pages(language):
            out += front_matter_problems(Page(book, path))
        for path in reads.listed(book.docs / language, "**/*"):
            if reads.is_file(path) and path.suffix.lower() not in FILES and not path.name.startswith("."):
                kinds = ", ".join(sorted(FILES))
                out.append(f"{book.relative(path)}: a file of this kind is not published; known are {kinds}")
    return out
