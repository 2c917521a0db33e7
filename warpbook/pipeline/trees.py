"""Tree processors: blanks within quantities, links to the glossary, tables' empty corners."""

from __future__ import annotations

from xml.etree import ElementTree

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString

from warpbook.numbers import hold_together
from warpbook.pipeline.parsed import Context
from warpbook.source import glossary

KEPT = ("code", "pre", ElementTree.Comment)


class Blanks(Treeprocessor):
    """Numbers written by hand get the blanks of the others, so that no line breaks within one or before its unit."""

    def run(self, root: ElementTree.Element) -> None:
        for element in root.iter():
            if element.text and not isinstance(element.text, AtomicString) and element.tag not in KEPT:
                element.text = hold_together(element.text)
            if element.tail:
                element.tail = hold_together(element.tail)


class Corners(Treeprocessor):
    """The empty corner of a table heads nothing."""

    def run(self, root: ElementTree.Element) -> None:
        for head in root.iter("th"):
            if not head.text and not len(head):
                head.tag = "td"


class Terms(Treeprocessor):
    """The first use of each term leads to the glossary."""

    def __init__(self, md: Markdown, context: Context) -> None:
        super().__init__(md)
        self.context = context

    def run(self, root: ElementTree.Element) -> None:
        context = self.context
        if context.page.article not in glossary.UNLINKED:
            glossary.link(context.book, root, context.language, context.root)
