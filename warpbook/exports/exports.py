"""What a reader can take away of a page: its text as Markdown, an article as a notebook, and llms.txt of all pages.

Each lies beside the page's HTML: foundations/memory-access.md and .ipynb.
"""

from __future__ import annotations

from pathlib import Path

from warpbook.book import PRIMARY, Book, write_text
from warpbook.exports import llms, notebooks
from warpbook.records import records
from warpbook.source.pages import Page


def write(book: Book, language: str, texts: dict[Path, tuple[str, str]], site: Path, url: str) -> None:
    """Write the files of one language into `site`.

    `texts`: each page's Markdown, without folds and with them, by its source. `url`: where `site` is published.
    """
    for path, (text, folded) in texts.items():
        page = Page(book, path)
        name = path.relative_to(book.docs / language).with_suffix("").as_posix()
        write_text(site / f"{name}.md", text)
        record = records.look(book, PRIMARY, page.article)
        device = records.device_name(record) if record else ""
        if made := notebooks.of_page(page, folded, language, url, device or PRIMARY):
            write_text(site / f"{name}.ipynb", made)
    for article in book.articles():
        for program in book.programs(article):
            made = notebooks.notebook(book, program, language, url)
            write_text(site / notebooks.address(book.relative(program)), made)
    write_text(site / "llms.txt", llms.index(book, language, url))
