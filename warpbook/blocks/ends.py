"""The end of a page: the programs it shows, itself as Markdown and as a notebook, the whole book as files.

The foot of an article says what it prepares for, and has a box for readers who have read it.
"""

from __future__ import annotations

import html
import os
from pathlib import Path

from warpbook import reads
from warpbook.book import Book
from warpbook.source import prerequisites, tracks
from warpbook.source.pages import Page

PROGRAMS = "snippets/"  # where the site has a page for each program
ARCHIVE = "warpbook.zip"
FEED = "feed.xml"
WHOLE = {
    "en": {
        "label": "Take the book with you",
        "feed": "What changed, as a feed (RSS)",
        "zip": "Both languages for offline reading (zip, {size})",
        "pdf": "The book as a PDF ({size})",
    },
    "zh": {
        "label": "全书的其他版本",
        "feed": "更新记录的订阅源（RSS）",
        "zip": "中英文离线版（zip，{size}）",
        "pdf": "全书 PDF（{size}）",
    },
}
WORDS = {
    "en": {
        "programs": "Programs of this page",
        "label": "Take this page with you",
        "md": "as Markdown",
        "ipynb": "as a notebook",
        "colab": "open in Colab",
    },
    "zh": {
        "programs": "本页的程序",
        "label": "本页的其他版本",
        "md": "Markdown 版",
        "ipynb": "Notebook 版",
        "colab": "在 Colab 中打开",
    },
}
FOOT = {
    "en": {
        "onward": "This also prepares you for {}.",
        "comma": ", ",
        "read": "I have read this",
        "map": "map of the book",
        "aside": "{read} ({map})",
    },
    "zh": {
        "onward": "读完还可以接着读：{}。",
        "comma": "、",
        "read": "我读过了",
        "map": "全书地图",
        "aside": "{read}（{map}）",
    },
}
MAP = "map.md"
INSTALL = {
    "en": "# Debian, Ubuntu; Python 3.11 or newer",
    "zh": "# Debian、Ubuntu，Python 3.11 及以上",
}
UNKNOWN = {
    "en": "`ADDRESS` is the address of the book's repository.",
    "zh": "`ADDRESS` 是本书仓库的地址。",
}
COLAB = "https://colab.research.google.com/github/{repository}/blob/notebooks/{language}/{name}.ipynb"


def repository() -> str:
    """OWNER/NAME on GitHub, where it is known: CI says so. Its branch `notebooks` holds what Colab opens."""
    return os.environ.get("GITHUB_REPOSITORY", "")


def install(language: str) -> str:
    """Markdown: the three commands from an empty folder to the served book. CI says where the repository is."""
    server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
    named = repository()
    commands = [
        f"$ sudo apt install git make g++ python3-venv python3-dev   {INSTALL[language]}",
        f"$ git clone {f'{server}/{named}.git' if named else 'ADDRESS'} warpbook && cd warpbook",
        "$ make setup serve",
    ]
    block = ["```console", *commands, "```"]
    return "\n".join(block if named else [*block, "", UNKNOWN[language]])


def address(book: Book, program: Path) -> str:
    """Where a program's page is, as a source file of the site: snippets/reduction/ladder.py."""
    return f"{PROGRAMS}{program.relative_to(book.snippets).as_posix()}"


def programs(book: Book, article: str, language: str, root: str) -> str:
    """The list of an article's programs, for the end of its page."""
    pages = {
        book.relative(path): f"{root}{address(book, path).removesuffix('.py')}/" for path in book.programs(article)
    }
    items = "".join(f'<li><a href="{url}"><code>{name}</code></a></li>' for name, url in pages.items())
    label = WORDS[language]["programs"]
    return (
        f'<section class="wb-programs" aria-label="{label}"><p>{label}</p><ul>{items}</ul></section>' if items else ""
    )


def foot(page: Page, language: str, root: str) -> str:
    """HTML: what an article prepares for, and the box of those who have read it. Empty for other pages."""
    book, words = page.book, FOOT[language]
    if page.article not in tracks.articles(book, language):
        return ""
    links = [
        f'<a href="{root}{one.page.path.relative_to(book.docs / language).with_suffix("").as_posix()}/">'
        f"{html.escape(one.title)}</a>"
        for one in prerequisites.onward(book, language, page)
    ]
    onward = f"<p>{words['onward'].format(words['comma'].join(links))}</p>" if links else ""
    read = prerequisites.box(page.article, page.title, language, words["read"])
    if reads.exists(book.docs / language / MAP):
        read = words["aside"].format(read=read, map=f'<a href="{root}map/">{words["map"]}</a>')
    return f'<div class="wb-onward" data-search-exclude>{onward}<p>{read}</p></div>'


def copies(page: Page, language: str) -> str:
    """HTML for the end of a page, with addresses as from its own."""
    words, stem = WORDS[language], page.path.stem
    here = "" if stem == "index" else "../"
    found = [(f"{here}{stem}.md", words["md"])]
    if page.python:
        found.append((f"{here}{stem}.ipynb", words["ipynb"]))
        if repository():
            name = page.path.relative_to(page.book.docs / language).with_suffix("").as_posix()
            found.append((COLAB.format(repository=repository(), language=language, name=name), words["colab"]))
    items = "".join(f'<li><a href="{url}"{download(url)}>{text}</a></li>' for url, text in found)
    label = words["label"]
    book = whole_book(language) if page.path.parent == page.book.docs / language and stem == "index" else ""
    return f'<section class="wb-programs" aria-label="{label}"><p>{label}</p><ul>{items}</ul></section>{book}'


def download(url: str) -> str:
    return " download" if url.endswith(".ipynb") and not url.startswith("https:") else ""


def whole_book(language: str) -> str:
    """HTML for the end of the home page."""
    label = WHOLE[language]["label"]
    return (
        f'<section class="wb-programs" aria-label="{label}"><p>{label}</p>'
        f'<ul class="wb-whole">{items(language, None)}</ul></section>'
    )


def items(language: str, site: Path | None) -> str:
    words, up = WHOLE[language], "../" if language != "en" else ""
    found = [f'<li><a href="{FEED}">{words["feed"]}</a></li>']
    for kind, name in (("zip", ARCHIVE), ("pdf", pdf_name(language))):
        if site and (site / name).exists():
            said = words[kind].format(size=size(site / name))
            found.append(f'<li><a href="{up}{name}" download>{said}</a></li>')
    return "".join(found)


def size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:.1f}\u00a0MB"


def pdf_name(language: str) -> str:
    return f"warpbook-{language}.pdf"
