"""What a reader can take away of a page: its text as Markdown, an article as a notebook, and llms.txt of all pages.

Each lies beside the page's HTML: foundations/memory-access.md and .ipynb.
"""

from __future__ import annotations

import os
from pathlib import Path

from warpbook.book import PRIMARY, Book, write_text
from warpbook.exports import downloads, llms, notebooks
from warpbook.records import records
from warpbook.source.pages import Page

WORDS = {
    "en": {"label": "Take this page with you", "md": "as Markdown", "ipynb": "as a notebook", "colab": "open in Colab"},
    "zh": {"label": "带走这一页", "md": "Markdown 版", "ipynb": "Notebook 版", "colab": "在 Colab 中打开"},
}
COLAB = "https://colab.research.google.com/github/{repository}/blob/notebooks/{language}/{name}.ipynb"


def repository() -> str:
    """OWNER/NAME on GitHub, where it is known: CI says so. Its branch `notebooks` holds what Colab opens."""
    return os.environ.get("GITHUB_REPOSITORY", "")


def links(page: Page, language: str) -> str:
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
    book = downloads.section(language) if page.path.parent == page.book.docs / language and stem == "index" else ""
    return f'<section class="wb-programs" aria-label="{label}"><p>{label}</p><ul>{items}</ul></section>{book}'


def download(url: str) -> str:
    return " download" if url.endswith(".ipynb") and not url.startswith("https:") else ""


def write(book: Book, language: str, texts: dict[Path, str], site: Path, url: str) -> None:
    """Write the files of one language into `site`. `texts`: each page's Markdown, by its source."""
    for path, text in texts.items():
        page = Page(book, path)
        name = path.relative_to(book.docs / language).with_suffix("").as_posix()
        write_text(site / f"{name}.md", text)
        address = url if name == "index" else f"{url}{name}/"
        record = records.read(book, PRIMARY, page.article)
        device = records.device_name(record) if record else ""
        if made := notebooks.of_page(page, text, language, address, device or PRIMARY):
            write_text(site / f"{name}.ipynb", made)
    for article in book.articles():
        for program in book.programs(article):
            made = notebooks.notebook(book, program, language)
            write_text(site / notebooks.address(book.relative(program)), made)
    write_text(site / "llms.txt", llms.index(book, language, url))
