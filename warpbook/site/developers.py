"""The contributors' pages, docs/developers: published on the English site under developers/, and articles in nothing.

They are ordinary Markdown: no block of theirs is run, no directive is read, and no record, reading time, export or
Chinese twin is asked of them. The Chinese site's navigation ends with a link to them.
"""

from __future__ import annotations

from itertools import pairwise

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Link, Navigation

from warpbook.book import DEVELOPERS, PLACES, Book

LANGUAGE = "en"  # the one they are written in
TITLES = {"zh": "开发者文档（英文）"}


def is_one(source: str) -> bool:
    """Whether a source of the site (`developers/records.md`) is one of these pages."""
    return source.startswith(f"{DEVELOPERS}/")


def add(files: Files, book: Book, language: str, config: MkDocsConfig) -> None:
    """Add the pages to the files of the site of their language."""
    for path in book.developers() if language == LANGUAGE else []:
        name = path.relative_to(book.docs).as_posix()
        files.append(File(name, str(book.docs), config.site_dir, config.use_directory_urls))


def arrange(nav: Navigation, book: Book, language: str) -> None:
    """Let Previous and Next lead from one of these pages to another only; link to them from the other language."""
    if language != LANGUAGE and book.developers():
        up = "../" * (PLACES[language].count("/") + 1)
        nav.items.append(Link(TITLES[language], f"{up}{DEVELOPERS}/"))
    mine = [page for page in nav.pages if is_one(page.file.src_uri)]
    for one, other in pairwise(mine):
        one.next_page, other.previous_page = other, one
    for page in nav.pages:
        if page not in mine and page.next_page in mine:
            page.next_page = None
    if mine:
        mine[0].previous_page = mine[-1].next_page = None
