"""Inline processor: `{{ v6.rate }}`, `{{ quoted: 3.2 ms [^source] }}`, `{{ counted: 1.33× }}`, `{{ tried:torch }}`."""

from __future__ import annotations

import html
import re
from functools import partial

from markdown import Markdown
from markdown.inlinepatterns import InlineProcessor
from markdown.util import ETX
from markdown.util import INLINE_PLACEHOLDER_PREFIX as STASH_PREFIX

from warpbook.pipeline.parsed import Context, Where
from warpbook.records import packages, values
from warpbook.source import prose
from warpbook.source.pages import EXPRESSION, Page

NOTE = re.compile(r"(?P<html>.*)(?P<note>\[\^[^\]]+\])", re.DOTALL)


def shown(text: str, where: Where, page: Page, context: Context) -> tuple[str, str]:
    """(HTML, reference to a footnote as Markdown) of an expression of `page`."""
    if prose.is_mark(text):
        made = context.tried(where, partial(prose.mark, text, page, context.language))
    elif text.startswith("tried:"):
        made = context.tried(where, lambda: html.escape(packages.tried_version(page.book, text.removeprefix("tried:"))))
    else:
        made = context.tried(
            where, partial(values.render, text, page.article, context.language, context.values, context.root)
        )
    noted = NOTE.fullmatch(made)
    return (noted["html"], noted["note"]) if noted else (made, "")


class Expressions(InlineProcessor):
    def __init__(self, md: Markdown, context: Context) -> None:
        super().__init__(EXPRESSION.pattern, md)
        self.context = context

    def handleMatch(  # type: ignore[override]  # noqa: N802
        self, m: re.Match[str], data: str
    ) -> tuple[str, int, int]:
        context = self.context
        made, note = shown(m[1], partial(context.where, m[0]), context.page, context)
        context.parsed.values[m[1]] = made + note
        if made.startswith("<"):
            context.made.add(self.md.htmlStash.html_counter)
        kept = self.md.htmlStash.store(made) if made.startswith("<") else html.unescape(made)
        # A note stays in the text, for the footnotes' own processor; `Closing` takes away the braces behind it.
        return kept, m.start(0), data.rindex(note, m.start(0), m.end(0)) if note else m.end(0)


class Closing(InlineProcessor):
    """What is left of an expression that ended in a reference to a footnote."""

    def __init__(self, md: Markdown) -> None:
        super().__init__(STASH_PREFIX + r"\d+" + ETX + r"\[\^[^\]]+\](?P<end>[ \t]+\}\})", md)

    def handleMatch(  # type: ignore[override]  # noqa: N802
        self, m: re.Match[str], data: str
    ) -> tuple[str, int, int]:
        return "", m.start("end"), m.end("end")
