"""Zensical's view of the book: its configuration names this extension, which passes to the pipeline what page is read.

    markdown_extensions:
      warpbook.site.zensical: {language: en}

Zensical has no hooks; what MkDocs' do for files, navigation and search is not done here (docs/developers/hosts.md).
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from markdown import Markdown
from markdown.extensions import Extension

from warpbook.book import Book, here
from warpbook.pipeline.extension import Warpbook
from warpbook.pipeline.parsed import Context
from warpbook.records.values import Values
from warpbook.source.pages import Page

log = logging.getLogger("warpbook")


class Hosted(Extension):
    def __init__(self, **options: Any) -> None:
        self.config = {"language": ["en", "the pages' language"]}
        super().__init__(**options)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        from zensical.extensions.context import ContextPreprocessor  # type: ignore[import-not-found,unused-ignore]

        host = ContextPreprocessor.from_markdown(md)
        if host is None:  # a text that is no page
            Warpbook().extendMarkdown(md)
            return
        book, language = here(), str(self.getConfig("language"))
        page = Page(book, book.docs / language / host.page.path)
        site = str(host.config.get("site_url") or "").rstrip("/")
        root = f"{urlsplit(site).path}/"  # Zensical takes an address that begins otherwise for one from the source's
        context = Context(page, language, values(book), root, f"{site}/{host.page.url}", exported=False)
        Warpbook(context).extendMarkdown(md)


@cache
def values(book: Book) -> Values:
    return Values(book)


def makeExtension(**options: Any) -> Hosted:  # noqa: N802
    return Hosted(**options)
