"""The last step: the article as readers get it, from the HTML that Markdown made of the text."""

from __future__ import annotations

import re
from functools import partial
from xml.etree import ElementTree

from markdown import Markdown
from markdown.postprocessors import Postprocessor
from markdown.treeprocessors import Treeprocessor

from warpbook import reads
from warpbook.blocks import citation, ends, listings, mathematics, moved
from warpbook.book import BookError
from warpbook.pipeline import typography
from warpbook.pipeline.parsed import Context
from warpbook.source import allowed_html, prose, tracks, translation
from warpbook.source.pages import Page

HEADING = re.compile(r"</h1>(?:<p class=\"wb-time.*?</p>)?|\A(?!.*</h1>)", re.DOTALL)


class Last(Treeprocessor):
    """Says when the tree is complete: until then postprocessors are asked for pieces of it, for the contents."""

    complete = False

    def run(self, root: ElementTree.Element) -> None:
        self.complete = True


class Written(Postprocessor):
    """Holds what the page's author wrote to the HTML that authors may write; what directives made is ours."""

    def __init__(self, md: Markdown, context: Context, last: Last) -> None:
        super().__init__(md)
        self.context, self.last = context, last

    def run(self, text: str) -> str:
        if self.last.complete:
            kept = self.md.htmlStash.rawHtmlBlocks
            theirs = [html for i, html in enumerate(kept) if i not in self.context.made]
            pieces = [text, *(html if isinstance(html, str) else self.md.serializer(html) for html in theirs)]
            problems = allowed_html.page_problems(self.context.page, "\n".join(pieces), self.context.language)
            self.context.parsed.problems += problems
        return text


class Article(Postprocessor):
    def __init__(self, md: Markdown, context: Context, last: Last) -> None:
        super().__init__(md)
        self.context, self.last = context, last

    def run(self, text: str) -> str:
        if not self.last.complete:
            return text
        context, parsed = self.context, self.context.parsed
        parsed.problems += prose.bare(context.page)
        time = partial(tracks.line, context.book, context.page, context.language, context.root)
        text = under_heading(text, self.tried(time))
        text = under_heading(text, self.tried(partial(lag, context.page, context.language)))
        text += ends.programs(context.book, context.page.article, context.language, context.root)
        text += ends.copies(context.page, context.language) if context.exported else ""
        text += self.tried(partial(moved.section, context.page, context.language, context.root))
        text += self.tried(partial(citation.fold, context.page, context.language, context.url))
        shown = {line: (one.block, one.html) for line, one in parsed.listings.items()}
        text = self.tried(partial(listings.complete, text, context.page, shown, context.language, context.root)) or text
        parsed.searched = typography.tidy(text, context.language)
        parsed.html = self.tried(partial(with_formulas, context, parsed.searched)) or parsed.searched
        return parsed.html

    def tried(self, make: partial[str]) -> str:
        """What `make` makes; where it cannot, a problem says why, and the page goes without."""
        try:
            return make()
        except BookError as error:
            if str(error) not in self.context.parsed.problems:
                self.context.parsed.problems.append(str(error))
            return ""


def with_formulas(context: Context, text: str) -> str:
    return mathematics.place(text, mathematics.typeset(context.book, mathematics.find(text)))


def under_heading(content: str, more: str) -> str:
    """The page with `more` under its heading, below its reading time; at its top where it has no heading."""
    place = HEADING.search(content)
    return content[: place.end()] + more + content[place.end() :] if place and more else content


def lag(page: Page, language: str) -> str:
    """Where the page lags behind the English one."""
    english = page.book.docs / "en" / page.path.relative_to(page.book.docs / language)
    if language not in translation.LAGS or not reads.exists(english):
        return ""
    return translation.banner(Page(page.book, english), page, language)
