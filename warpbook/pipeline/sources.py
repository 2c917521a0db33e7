"""Preprocessor: the page's lines with snippets put in, and the lists that are made of other files."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from markdown import Markdown
from markdown.preprocessors import Preprocessor

from warpbook.blocks import ends
from warpbook.exercises import box, overview, selftests, techniques
from warpbook.pipeline.expressions import shown
from warpbook.pipeline.parsed import Context
from warpbook.source import changes, comments, errata, glossary, origins, prerequisites, reading, tracks
from warpbook.source.pages import EXPRESSION, Line

WRITTEN = ("exercise",)  # directives with a name that become Markdown
# … and those without one.
LISTS = (
    "changes",
    "glossary",
    "errata",
    "origins",
    "techniques",
    "tracks",
    "track",
    "selftest",
    "paths",
    "articles",
    "prerequisites",
    "exercises",
    "install",
)


class Sources(Preprocessor):
    """Whatever the host gives, the lines are those of the page's file: they know where they are from."""

    def __init__(self, md: Markdown, context: Context) -> None:
        super().__init__(md)
        self.context = context

    def run(self, lines: list[str]) -> list[str]:
        context, page = self.context, self.context.page
        context.parsed.problems += context.outputs.problems()
        context.parsed.first = page.first
        out = context.parsed.lines = []
        inside = sorted(page.fenced)
        code = dict(
            zip(inside, comments.shown(page.book, (page.lines[i] for i in inside), context.language), strict=True)
        )
        for i, line in enumerate(page.lines):
            alone = None if i in page.fenced else EXPRESSION.fullmatch(line.text.strip())
            if alone and (alone[1] in LISTS or alone[1].startswith(box.DIRECTIVE)):
                where = f"{page.name}:{line.page_number}"
                text = context.tried(where, partial(listed, alone[1], context))
                context.parsed.directives += [(alone[1], text)] if alone[1].startswith(box.DIRECTIVE) else []
                out += [Line(one, page.name, line.number, line.page_number) for one in text.split("\n")]
            elif i not in page.fenced and reading.DIVE.match(line.text):
                time = reading.shown(reading.dive(page, i), context.language)
                out.append(replace(line, text=f'{line.text.rstrip()[:-1]} · {time}"'))
            else:
                out.append(code.get(i, line))
        return ["" if i < context.parsed.first else line.text for i, line in enumerate(out)]


def listed(what: str, context: Context) -> str:
    """Markdown put together from elsewhere: terms, techniques, corrections, changes, origins, reading order."""
    book, language, page = context.book, context.language, context.page
    if what.startswith(box.DIRECTIVE):
        return box.markdown(book, what.removeprefix(box.DIRECTIVE), language, page)
    if what == "exercises":
        return overview.markdown(book, language, page)
    if what == "install":
        return ends.install(language)
    if what == "changes":
        return "\n".join(changes.markdown(book, language))
    if what == "glossary":
        return "\n".join(glossary.markdown(book, language))
    if what == "origins":
        return "\n".join(origins.markdown(book, language))
    if what == "techniques":
        return "\n".join(techniques.markdown(book, language))
    if what == "selftest":
        return "\n".join(selftests.markdown(book, language, page))
    if what == "prerequisites":
        return "\n".join(prerequisites.markdown(book, language, page))
    if what != "errata":
        practice = overview.minutes(book) if what == "paths" else None
        return "\n".join(tracks.markdown(book, what, language, page, practice))
    return "\n".join(
        errata.markdown(book, language, page, lambda of, where, text: "".join(shown(text, where, of, context)))
    )
