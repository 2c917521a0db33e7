"""Formulas become HTML at build: KaTeX sets what the cache does not know, and no script is on the page."""

from __future__ import annotations

import atexit
import hashlib
import html
import json
import re
import subprocess
from pathlib import Path

from warpbook.book import Book, BookError, write_cache
from warpbook.tools import modules, node

FORMULA = re.compile(
    r'<(span|div) class="arithmatex">(\\\(|\\\[)(.*?)(?:\\\)|\\\])</\1>(?P<mark>[,.;:!?)\]，。、；：！？）」”]*)',
    re.DOTALL,
)
SCRIPT = """
const katex = require('katex');
const set = ([tex, displayMode]) => {
  try { return {html: katex.renderToString(tex, {displayMode, throwOnError: true, strict: 'ignore'})}; }
  catch (error) { return {error: error.message}; }
};
require('readline').createInterface({input: process.stdin})
  .on('line', (line) => process.stdout.write(JSON.stringify(JSON.parse(line).map(set)) + '\\n'));
"""


def find(content: str) -> list[tuple[str, bool]]:
    """(TeX, whether displayed) of each formula in a page's HTML."""
    return [(html.unescape(match[3]).strip(), match[2] == "\\[") for match in FORMULA.finditer(content)]


def typeset(book: Book, formulas: list[tuple[str, bool]]) -> dict[tuple[str, bool], str]:
    """HTML of each formula. Raises BookError naming the first that KaTeX does not understand."""
    if not formulas:
        return {}
    cache_file = book.root / ".cache" / "katex.json"
    version = json.loads((modules(book) / "katex" / "package.json").read_text("utf-8"))["version"]
    try:
        cache: dict[str, str] = json.loads(cache_file.read_text("utf-8"))
    except (OSError, json.JSONDecodeError):
        cache = {}

    def key(formula: tuple[str, bool]) -> str:
        return hashlib.sha256(f"{version}\0{formula}".encode()).hexdigest()

    wanted = list(dict.fromkeys(f for f in formulas if key(f) not in cache))
    if wanted:
        for formula, answer in zip(wanted, ask(book, wanted), strict=True):
            if "error" in answer:
                raise BookError(f"formula {formula[0]!r}: {answer['error']}")
            cache[key(formula)] = answer["html"]
        write_cache(cache_file, cache)
    return {formula: cache[key(formula)] for formula in formulas}


RUNNING: dict[Path, subprocess.Popen[str]] = {}  # one Node for all pages of a build; it ends when its input does


def ask(book: Book, formulas: list[tuple[str, bool]]) -> list[dict[str, str]]:
    """What KaTeX makes of each formula: {"html"} or {"error"}."""
    process = RUNNING.get(book.root)
    if process is None or process.poll() is not None:
        process = RUNNING[book.root] = subprocess.Popen(
            [node(), "-e", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            cwd=book.root,
        )
    assert process.stdin and process.stdout
    try:
        process.stdin.write(json.dumps(formulas) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    if not line:
        raise BookError("KaTeX does not run; what Node said is above")
    return list(json.loads(line))


@atexit.register
def stop() -> None:
    for process in RUNNING.values():
        with process:  # closes its input, and waits
            pass


def place(content: str, set_: dict[tuple[str, bool], str]) -> str:
    """Each formula's HTML in place of its TeX; the search index leaves it out."""

    def one(match: re.Match[str]) -> str:
        display = match[2] == "\\["
        # A wide formula scrolls by itself, by keyboard too.
        rest = ' tabindex="0"' if display else ""
        made = set_[html.unescape(match[3]).strip(), display]
        formula = f'<{match[1]} class="wb-math"{rest} data-search-exclude>{made}</{match[1]}>'
        if display or not match["mark"] or len(match[3]) > 24:  # a long one must be free to break
            return formula + match["mark"]
        # A formula is one box, after which a line may break; the punctuation that follows it must not begin a line.
        return f'<span class="wb-together">{formula}{match["mark"]}</span>'

    return FORMULA.sub(one, content)
