"""Block processors: `{{ chart:ladder }}`, `{{ claims }}` and the like, on a line of their own; the sources' heading."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from xml.etree import ElementTree

from markdown.blockparser import BlockParser
from markdown.blockprocessors import BlockProcessor
from markdown.util import HTML_PLACEHOLDER_RE

from warpbook.blocks import book_map, charts, devices, explore, ledger, line_counters, listings, sass_view
from warpbook.blocks.claim_table import claim_table
from warpbook.blocks.figures import figure, of_each
from warpbook.book import BookError
from warpbook.pipeline.parsed import Context
from warpbook.records import lines, sass
from warpbook.source.pages import Block

DIRECTIVE = re.compile(
    r"^[ ]{0,3}\{\{[ \t]+(claims|notes|score|ledger|devices|map|"
    r"lines:[\w#@./-]+|sass:[^\s{}]+\.cuh?:\w+(?:\[[^\]\s]*\])?|counters:[\w:#@./-]+|chart:[^{}\n]+?|explore:[^{}\n]+?|"
    r"figure:[a-z0-9_-]+|output:[\w./-]+)[ \t]+\}\}[ \t]*$",
    re.MULTILINE,
)
FOOTNOTE = re.compile(r"^[ ]{0,3}\[\^[^\]]+\]:", re.MULTILINE)
HEADING = re.compile(r"^## ", re.MULTILINE)
SOURCES = {"en": "Sources", "zh": "出处"}


class Directives(BlockProcessor):
    """Puts what a directive comes to in its place. It sees every block, and knows which listing was shown last."""

    def __init__(self, parser: BlockParser, context: Context, drawn: dict[str, Block]) -> None:
        super().__init__(parser)
        self.context = context
        self.drawn = drawn  # listings, by their place in Markdown's stash of HTML
        self.listing: Block | None = None

    def test(self, parent: ElementTree.Element, block: str) -> bool:
        if DIRECTIVE.search(block):
            return True
        self.pass_by(block)
        return False

    def pass_by(self, text: str) -> None:
        for match in HTML_PLACEHOLDER_RE.finditer(text):
            self.listing = self.drawn.get(match[1], self.listing)

    def run(self, parent: ElementTree.Element, blocks: list[str]) -> None:
        block = blocks.pop(0)
        match = DIRECTIVE.search(block)
        assert match
        before, after = block[: match.start()].strip("\n"), block[match.end() :].strip("\n")
        if before:
            self.pass_by(before)
            self.parser.parseBlocks(parent, [before])
        if after:
            blocks.insert(0, after)
        where = partial(self.context.where, match[0].strip())
        shown = self.context.tried(where, partial(self.show, match[1], "\n\n".join(blocks)))
        self.context.parsed.directives.append((match[1], shown))
        if shown:
            paragraph = ElementTree.SubElement(parent, "p")
            self.context.made.add(self.parser.md.htmlStash.html_counter)
            paragraph.text = self.parser.md.htmlStash.store(shown)

    def show(self, text: str, below: str) -> str:
        """HTML of one directive; `below` is what follows it."""
        context, page = self.context, self.context.page
        kind, _, name = text.partition(":")
        if kind == "notes":
            return listings.notes(below.split("\n"), self.listing)
        if kind == "lines":
            wanted = lines.parse(page, f"{{{{ {text} }}}}")
            if wanted is None:
                raise BookError(f'"{text}" is not lines:KERNEL, lines:KERNEL#LAUNCH or lines:KERNEL@PROGRAM.py')
            return line_counters.fold_out(page, context.language, wanted, self.listing, context.root)
        if kind == "sass":
            asked = sass.parse(text)
            if asked is None:
                raise BookError(f'"{text}" is not sass:FILE.cu:KERNEL or sass:FILE.cu:KERNEL[MACRO=1,…]')
            return sass_view.fold_out(page, context.language, asked, self.listing)
        if kind == "chart":
            return of_each(context.values, lambda one: charts.draw(name, page.article, context.language, one))
        if kind == "claims":
            return of_each(context.values, lambda one: claim_table(page, context.language, one.device))
        rest: dict[str, Callable[[], str]] = {
            "counters": lambda: line_counters.excerpt(context.book, name, context.language, context.root),
            "explore": lambda: explore.figure(context.book, name, context.language, context.root),
            "figure": lambda: figure(page, name),
            "output": lambda: context.outputs.of_program(name),
            "score": lambda: ledger.scores(context.book, context.language),
            "ledger": lambda: ledger.table(context.book, context.language, context.root),
            "devices": lambda: devices.table(context.book, context.language, context.root),
            "map": lambda: book_map.drawing(context.book, context.language, context.root),
        }
        return rest[kind]()


class SourcesHeading(BlockProcessor):
    """Gives the footnotes a heading of their own, where they stand together at the page's end."""

    def __init__(self, parser: BlockParser, context: Context) -> None:
        super().__init__(parser)
        self.context = context
        self.seen = False

    def test(self, parent: ElementTree.Element, block: str) -> bool:
        return not self.seen and FOOTNOTE.search(block) is not None

    def run(self, parent: ElementTree.Element, blocks: list[str]) -> bool:
        self.seen = True
        if any(HEADING.search(block) for block in blocks):
            return False
        match = FOOTNOTE.search(blocks[0])
        assert match
        if before := blocks[0][: match.start()].strip("\n"):
            self.parser.parseBlocks(parent, [before])
            blocks[0] = blocks[0][match.start() :]
        heading = ElementTree.SubElement(parent, "h2", {"id": "sources"})
        heading.text = SOURCES[self.context.language]
        return False  # the footnotes are yet to be read
