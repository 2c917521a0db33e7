"""The extension that reads the book's pages; a host's configuration names it alone, and what it needs comes with it.

markdown_extensions:
  - warpbook.pipeline.extension
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import markdown
from markdown.extensions import Extension
from pymdownx.slugs import slugify

from warpbook.blocks import listings
from warpbook.pipeline.article import Article, Last, Written
from warpbook.pipeline.directives import Directives, SourcesHeading
from warpbook.pipeline.expressions import Closing, Expressions
from warpbook.pipeline.parsed import CURRENT, Context, Parsed, Shown
from warpbook.pipeline.sources import Sources
from warpbook.pipeline.trees import Blanks, Corners, Terms
from warpbook.records.values import Values
from warpbook.source.fences import Listing, Listings
from warpbook.source.pages import Block, Page, block_of

LINK = {"en": "Link to this section", "zh": "本节链接"}
EXTENSIONS = (
    "abbr",
    "admonition",
    "attr_list",
    "def_list",
    "footnotes",
    "md_in_html",
    "tables",
    "pymdownx.arithmatex",
    "pymdownx.details",
    "pymdownx.highlight",
    "pymdownx.inlinehilite",
    "pymdownx.tabbed",
)
OPTIONS: dict[str, dict[str, Any]] = {
    "pymdownx.arithmatex": {"generic": True},
    "pymdownx.highlight": {"pygments_lang_class": True},
    "pymdownx.tabbed": {"alternate_style": True},
}


class Warpbook(Extension):
    """Reads the page of its Context, or of the current one (parsed.CURRENT); without any, ordinary Markdown."""

    def __init__(self, context: Context | None = None) -> None:
        super().__init__()
        self.context = context

    def extendMarkdown(self, md: markdown.Markdown) -> None:  # noqa: N802
        context = self.context or CURRENT.get()
        language = context.language if context else "en"
        md.registerExtensions(EXTENSIONS, OPTIONS)
        toc = {"permalink": "#", "permalink_title": LINK[language], "slugify": slugify(case="lower")}
        md.registerExtensions(["toc"], {"toc": toc})
        if not context:
            md.registerExtensions(["pymdownx.superfences"], {})
            return
        drawn: dict[str, Block] = {}  # by place in Markdown's stash of HTML
        fences: list[Extension | str] = [Listings(draw(md, context, drawn))]
        md.registerExtensions(fences, {})
        last = Last(md)
        md.preprocessors.register(Sources(md, context), "warpbook_sources", 31)
        md.parser.blockprocessors.register(Directives(md.parser, context, drawn), "warpbook_directives", 105)
        md.parser.blockprocessors.register(SourcesHeading(md.parser, context), "warpbook_heading", 18)
        md.inlinePatterns.register(Expressions(md, context), "warpbook_expressions", 185)
        md.inlinePatterns.register(Closing(md), "warpbook_closing", 184)
        md.treeprocessors.register(Blanks(md), "warpbook_blanks", 18)
        md.treeprocessors.register(Corners(md), "warpbook_corners", 17)
        md.treeprocessors.register(Terms(md, context), "warpbook_terms", -10)  # a host minds other links before
        md.treeprocessors.register(last, "warpbook_last", -100)
        md.postprocessors.register(Written(md, context, last), "warpbook_written", 100)  # before the stash is put back
        md.postprocessors.register(Article(md, context, last), "warpbook_article", -100)


def makeExtension() -> Warpbook:  # noqa: N802
    return Warpbook()


def draw(
    md: markdown.Markdown, context: Context, drawn: dict[str, Block]
) -> Callable[[Listing, Callable[..., str]], str]:
    """What superfences shows of a listing: the place where it will stand, and what it printed."""
    python = 0

    def place(listing: Listing, highlight: Callable[..., str]) -> str:
        nonlocal python
        block = block_of(context.page.name, context.parsed.lines, listing)
        # A program that is shown and not run here has its colours: blocks of py3 are never run.
        names = [str(listing.options.get("title", "")), *(line.file for line in block.lines)]
        program = listing.language == "text" and any(name.endswith(".py") for name in names)
        output = ""
        if block.is_python:
            output = context.outputs.box(python)
            python += 1
        context.parsed.listings[listing.start] = Shown(block, highlight("py3" if program else listing.tag), output)
        drawn[str(md.htmlStash.html_counter)] = block  # where superfences will put this
        context.made.add(md.htmlStash.html_counter)
        return listings.PLACE.format(listing.start) + (f"\n{output}" if output else "")

    return place


def parse(page: Page, language: str, values: Values, root: str = "", url: str = "") -> Parsed:
    """Read a page without any host. Raises BookError for a page that cannot be read at all."""
    page.blocks  # noqa: B018  # says what is wrong with a fence, and where
    context = Context(page, language, values, root, url)
    markdown.Markdown(extensions=[Warpbook(context)]).convert(page.source)
    return context.parsed
