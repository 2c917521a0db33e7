"""What a page is about, for search results and for links that are shared: one description a page.

It is the `description` of the front matter; a page without one is described by its first sentences, and a lab page by
its program's docstring (in Chinese, whose programs speak English, by its names).
"""

from __future__ import annotations

import ast
import re
from unicodedata import east_asian_width

from warpbook import reads
from warpbook.book import Book
from warpbook.source.pages import Page

LEAST, MOST = {"en": 50, "zh": 60}, 160  # columns, of which a Han character has two: what a search shows of it
SENTENCE = re.compile(r".+?(?:[.?!](?=\s|$)|[。？！]|$)\s*", re.DOTALL)
NOT_PROSE = re.compile(r"\s*(?:#|>|\||[-*+] |\d+\. |`{3}|~{3}|\*[^*]+\*\s*\Z|\[\^)")
LAB = {
    "en": "{says} A program, with what it printed.",
    "short": "{says} {program}: its source, cell by cell, the files that it loads, and what it printed.",
    "zh": "《{article}》的程序 {program}：逐个单元格列出源码，附上打印的输出和加载的文件，可以下载 Notebook 自己运行。",
}


def columns(text: str) -> int:
    """How wide a line of text is."""
    return sum(2 if east_asian_width(character) in "FW" else 1 for character in text)


def page(source: Page, language: str, markdown: str) -> str:
    """Of a page whose plain Markdown is `markdown`."""
    return source.text("description") or opening(markdown, language)


def opening(markdown: str, language: str) -> str:
    """Whole sentences from the start of the prose, as many as there is room for; one that is too long is alone."""
    text = ""
    for paragraph in re.split(r"\n{2,}", markdown):
        if NOT_PROSE.match(paragraph):
            continue
        for sentence in SENTENCE.findall(plain(paragraph)):
            if text and columns(text + sentence) > MOST:
                return text.strip()
            text += sentence
        if columns(text) >= LEAST[language]:
            break
        text += " " * (text != "" and language == "en")
    return text.strip()


def plain(markdown: str) -> str:
    """A paragraph without its marks: links are their text, notes go."""
    text = re.sub(r"\[\^[^\]]+\]|[`*$]", "", re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", markdown))
    return " ".join(text.split())


def lab(book: Book, name: str, language: str) -> str:
    """Of the lab page of `name` (snippets/reduction/ladder.py)."""
    path = book.root / name
    try:
        docstring = ast.get_docstring(ast.parse(reads.text(path))) or ""
    except SyntaxError:
        docstring = ""  # the hash of its record says so
    program = path.relative_to(book.snippets).as_posix()
    article = book.page_of(path.parent.name, language)
    title = Page(book, article).title if article else path.parent.name
    says = " ".join(docstring.split("\n\n")[0].split())
    made = LAB[language].format(says=says, program=program, article=title)
    return made if columns(made) >= LEAST[language] else LAB["short"].format(says=says, program=program).strip()


def fault(description: str, language: str) -> str:
    """What is wrong with a description, and what to write; empty: nothing."""
    wide = columns(description)
    if not LEAST[language] <= wide <= MOST:
        return (
            f"its description is {wide} columns wide, where a search shows {LEAST[language]} to {MOST} (a Han character"
            f" has 2): {'shorten' if wide > MOST else 'lengthen'} it"
        )
    if not description.endswith((".", "?", "。", "？")):
        return "its description does not end with a full stop"
    if re.search(r"[`{}]|\*\*|\]\(", description):
        return "its description has marks of Markdown; write plain text"
    return ""
