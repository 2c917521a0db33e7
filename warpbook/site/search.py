"""What is searched: each page's prose, section by section, with the words that readers may type for it.

Material's search reads search/search_index.json when a page opens. Ours holds nothing but how to search; the documents
lie beside it, and theme/worker/search.js, the worker that stands before Material's, fetches them when the box is
entered. A document is {location, title, text, terms, parts}: Material shows the first three. `terms` has the glossary's
names, other spellings and synonyms of what the page explains; `parts` the names from the section's code, and the words
within compound Chinese terms. Outputs, tables of counters, charts and code are not there: nobody searches
them.
"""

from __future__ import annotations

import functools
import html
import json
import logging
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from warpbook import markup, reads
from warpbook.book import Book, BookError, write_text
from warpbook.source import glossary

FOLDER = "worker"  # under theme/
FILE = "search.toml"  # under docs/
WORKER = "assets/javascripts/workers/search.js"  # beside Material's, which it loads
MATERIALS = re.compile(r"workers/search\.[0-9a-f]+\.min\.js")
CONFIG = "search/search_index.json"
DOCUMENTS = "search/documents.json"

FIELDS = {"title": 1000.0, "terms": 500.0, "text": 1.0, "parts": 1.0}
# Between words: the genitive's s, blanks, hyphens, either language's marks, a point that ends a word, a first __.
SEPARATOR = (
    r"['’]s\b|[\s\u200b\-,;!?()\[\]{}<>\"'’“”‘…—–/=+*&%$#@^~|，。、；：？！（）《》「」【】·`]+"
    r"|[.:]+(?=\s|$)|\b__"
)

HAN = re.compile(r"[\u3400-\u9fff]+")
# Lists of documents and of pages, and what the sections of a page say already.
UNSEARCHED = {
    "sources",
    "further",
    "takeaways",
    "questions",
    "claims",
    "exercises",
}  # they repeat, or give answers away
MARK = r"[\s，。、；：？！（）《》「」【】“”]"
BESIDE = re.compile(rf"^\u200b|(?<={MARK})\u200b|\u200b(?={MARK}|$)")
KEPT = {"p", "li", "ol", "ul", "code"}  # what results are cut into
HEADINGS = {f"h{i}" for i in range(1, 7)}
SKIPPED = {"button", "figure", "label", "nav", "script", "select", "style", "summary", "svg"}
SKIPPED_CLASSES = {
    "filename",
    "goals",
    "headerlink",
    "needs",
    "wb-claims",
    "wb-choice",
    "wb-ledger",
    "wb-lines",
    "wb-math",
    "wb-moved",
    "wb-output",
    "wb-programs",
    "wb-ways",
}
VOID = markup.VOID | {"wbr"}
NAME = re.compile(r"\b(?:cu(?:da)?[A-Z]\w+|__\w+|\w+Idx|\w+Dim|atomic[A-Z]\w*|\w+_async|mma_\w+|wgmma\w*|nv\w+::\w+)")
LISTED = re.compile(r"(<pre\b[^>]*>)(.*?)(?=</pre>)", re.DOTALL)
COLOURED = re.compile(r'<span(?: class="\w{1,3}")?>')
COLOUR = re.compile(rf"{COLOURED.pattern}|</span>")
JOINT = "\0"
FORMULA = re.compile(r'<(span|div) class="arithmatex">(?:\\\(|\\\[)(.*?)(?:\\\)|\\\])</\1>', re.DOTALL)
SIGNS = {
    r"\times": "×", r"\cdot": "·", r"\le": "≤", r"\ge": "≥", r"\approx": "≈", r"\log": "log", r"\ldots": "…",
    r"\varepsilon": "ε", r"\Sigma": "Σ", r"\sigma": "σ", r"\alpha": "α", r"\beta": "β", r"\pi": "π", r"\to": "→",
    r"\leftarrow": "←", r"\in": "∈", r"\infty": "∞", "^2": "²", "^{2}": "²", r"\,": " ", r"\%": "%", "{": "", "}": "",
}  # fmt: skip
SIGN = re.compile(r"\\[A-Za-z]+|\\.|\^\{2\}|\^2|[{}]")


class Sections(HTMLParser):
    """A page's HTML as a list of {id, title, text, names}; the first has no id and holds what is before the others."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[dict[str, Any]] = []
        self.open: list[tuple[str, str]] = []  # each open element, and what it makes of its text
        self.part = "text"
        self.begin("")

    def begin(self, anchor: str) -> None:
        self.found.append({"id": anchor, "title": [], "text": [], "names": []})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            self.handle_data(" " if tag == "br" else "")
            return
        known = dict(attrs)
        classes = set((known.get("class") or "").split())
        self.open.append((tag, self.part))
        if self.part == "":
            return
        if tag == "pre" and not classes & SKIPPED_CLASSES:
            self.part = "names"
        elif (
            tag in SKIPPED
            or classes & SKIPPED_CLASSES
            or "hidden" in known
            or "data-search-exclude" in known
            or (tag == "sup" and (known.get("id") or "").startswith("fnref"))
        ):
            self.part = ""
        elif tag in HEADINGS and known.get("id"):
            if tag != "h1":
                self.begin(str(known["id"]))
            self.part = "title"
        elif tag in KEPT and self.part == "text":
            self.found[-1]["text"].append(f"<{tag}>")
        elif tag in ("td", "th", "tr", "dt", "dd", "div"):
            self.found[-1]["text"].append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag not in [name for name, _ in self.open]:
            return
        while self.open:
            name, part = self.open.pop()
            if name in KEPT and self.part == part == "text":
                self.found[-1]["text"].append(f"</{name}>")
            self.part = part
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        if self.part == "names":
            self.found[-1]["names"] += [name for piece in data.split(JOINT) for name in NAME.findall(piece)]
        elif self.part:
            self.found[-1][self.part].append(html.escape(data, quote=False))


def formula(match: re.Match[str]) -> str:
    """A short formula as characters; a longer one, which results would show as TeX, as a gap."""
    text = html.unescape(match[2]).strip()
    text = SIGN.sub(lambda sign: SIGNS.get(sign[0], sign[0]), text)
    return html.escape(text) if len(text) <= 24 and not re.search(r"[\\^_&]", text) else "…"


def without_colours(match: re.Match[str]) -> str:
    """Code without the marks of its colours, most of a page's tags, but with a sign in the place of each."""
    head, code = match.groups()
    return head + (COLOUR.sub(JOINT, code) if code.count("<span") == len(COLOURED.findall(code)) else code)


def sections(content: str) -> list[dict[str, Any]]:
    """Of a page's HTML whose formulas are still TeX."""
    parser = Sections()
    parser.feed(LISTED.sub(without_colours, FORMULA.sub(formula, content)))
    parser.close()
    out = []
    for one in parser.found:
        text = re.sub(r"<(p|li|ol|ul|code)>\s*</\1>", "", re.sub(r"\s+", " ", "".join(one["text"])))
        out.append(
            {"id": one["id"], "title": "".join(one["title"]).strip(), "text": text.strip(), "names": one["names"]}
        )
    return out


# -- documents -----------------------------------------------------------------------------------------------------


@reads.remembered
def pages(book: Book) -> dict[str, dict[str, Any]]:
    """docs/search.toml: what readers type for a page beyond its prose, its weight, and whether it is searched."""
    path = book.docs / FILE
    try:
        found = tomllib.loads(reads.text(path)) if reads.exists(path) else {}
    except tomllib.TOMLDecodeError as error:
        raise BookError(f"docs/{FILE}: {error}") from None
    for name, entry in found.items():
        if not isinstance(entry, dict) or entry.keys() - {"also", "boost", "searched"}:
            raise BookError(f"docs/{FILE}: {name}: known are also, boost and searched")
        if not reads.exists(book.docs / "en" / f"{name}.md"):
            raise BookError(f"docs/{FILE}: there is no page {name}")
    return found


def documents(book: Book, language: str, name: str, url: str, content: str) -> list[dict[str, Any]]:
    """The documents of the page `name` (foundations/memory-access), whose address is `url` and HTML `content`."""
    extra = pages(book).get(name, {})
    if not extra.get("searched", True):
        return []
    article = name.split("/")[-1]
    typed = [word for word in extra.get("also", []) if language == "zh" or word.isascii()]
    typed += [
        word
        for group in glossary.read(book)
        for term in group.terms
        if term.page == article
        for word in term.typed(language)
    ]
    if language == "zh":
        use(book)
    cut: Callable[[str], str] = segment if language == "zh" else str
    out = []
    for i, section in enumerate(sections(content)):
        if not section["title"] or section["id"] in UNSEARCHED:
            continue
        parts = section["names"]
        if language == "zh":
            parts += inner(f"{section['title']} {section['text']}")
        document: dict[str, Any] = {
            "location": url + (f"#{section['id']}" if section["id"] else ""),
            "title": cut(section["title"]),
            "text": cut(section["text"]),
        }
        if not i and typed:
            document["terms"] = cut(" ".join(dict.fromkeys(typed)))
        words_there = set(re.split(SEPARATOR, f"{document['title']} {document['text']}"))
        if parts := [part for part in dict.fromkeys(parts) if part not in words_there]:
            document["parts"] = " ".join(parts)
        if "boost" in extra:
            document["boost"] = extra["boost"]
        out.append(document)
    return out


@functools.cache
def words(book: Book, text: str) -> Any:
    """Jieba's words and the glossary's, whose file is `text`."""
    import jieba  # half a second, and only Chinese wants it

    jieba.setLogLevel(logging.WARNING)  # it says otherwise how long its dictionary took
    cutter = jieba.Tokenizer()
    load(cutter, book.root / ".cache", f"jieba-{jieba.__version__}")
    for term in re.findall(r'"([\u3400-\u9fff]{2,})"', text):
        cutter.add_word(term, freq=10**6)
    return cutter


def load(cutter: Any, folder: Path, name: str) -> None:
    """Have Jieba read its dictionary, or the copy of it that `folder` keeps; a folder that is read-only keeps none.

    By itself Jieba keeps its copy in the temporary folder, under a name that is always the same: another user of the
    machine can put a different dictionary there.
    """
    import jieba

    cutter.cache_file, kept = name, folder / name
    cutter.tmp_dir = str(folder)
    if not kept.is_file():
        level = jieba.default_logger.level
        jieba.default_logger.setLevel(logging.CRITICAL)  # it says with a traceback that it could not keep it
        try:
            folder.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder, prefix="jieba-") as new:
                cutter.tmp_dir = new
                cutter.initialize()
                Path(new, name).replace(kept)
        except OSError:  # read-only, or the disk is full
            cutter.tmp_dir = str(kept / "nowhere")
            cutter.initialize()
        finally:
            jieba.default_logger.setLevel(level)
    cutter.initialize()


CUTTER: list[Any] = []  # the one in use; `segment` and `inner` are called for each section


def use(book: Book) -> None:
    """Cut Chinese with the glossary's terms as words."""
    path = book.docs / glossary.FILE
    CUTTER[:] = [words(book, reads.text(path) if reads.exists(path) else "")]


def segment(text: str) -> str:
    """Han text with a mark of no width between its words; none beside punctuation, where a line must not end."""
    cut = HAN.sub(lambda match: markup.WORD + markup.WORD.join(CUTTER[0].cut(match[0])) + markup.WORD, text)
    return BESIDE.sub("", cut)


def inner(text: str) -> Iterable[str]:
    """The words within the compound words of a Chinese text."""
    for run in HAN.findall(text):
        for word in CUTTER[0].cut(run):
            if len(word) > 2:
                yield from (part for part in CUTTER[0].cut_for_search(word) if 1 < len(part) < len(word))


# -- files ---------------------------------------------------------------------------------------------------------


def worker(book: Book, materials: str) -> str:
    """Our worker, which loads Material's, a file named `materials` beside it."""
    text = reads.text(book.root / "theme" / FOLDER / "search.js")
    return text.replace("MATERIAL", materials)


def place(page: str) -> str:
    """A page that asks our worker, not Material's."""
    return MATERIALS.sub(WORKER.removeprefix("assets/javascripts/"), page)


def write(site: Path, found: list[dict[str, Any]]) -> None:
    """Write how and what to search into one language's `site`."""
    fields = {name: {"boost": boost} for name, boost in FIELDS.items()}
    config = {"lang": ["en"], "separator": SEPARATOR, "pipeline": ["stopWordFilter"], "fields": fields}
    write_text(site / CONFIG, json.dumps({"config": config, "docs": []}))
    text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    write_text(site / DOCUMENTS, text.replace(markup.WORD, markup.STORED_WORD))
