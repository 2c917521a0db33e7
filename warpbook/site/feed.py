"""feed.xml of one language: what changed in the book, as RSS 2.0 (https://www.rssboard.org/rss-specification)."""

from __future__ import annotations

import html
from datetime import UTC, datetime, time
from email.utils import format_datetime
from xml.etree import ElementTree

from warpbook.blocks.ends import FEED
from warpbook.book import Book
from warpbook.source import changes
from warpbook.source.changes import Change

NAME = FEED
ATOM = "http://www.w3.org/2005/Atom"
WORDS = {
    "en": {"title": "Warpbook: what changed", "about": "Pages that are new, that say more, or that were corrected."},
    "zh": {"title": "线程束手册：更新记录", "about": "新增的页面、补充的内容，以及更正。"},
}
CODES = {"en": "en", "zh": "zh-cn"}  # as RSS calls languages


def feed(book: Book, language: str, url: str) -> str:
    """The whole file. `url` is where this language's home page is, with a slash at its end."""
    ElementTree.register_namespace("atom", ATOM)
    found = changes.read(book)
    rss = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(rss, "channel")
    add(channel, "title", WORDS[language]["title"])
    add(channel, "link", url)
    add(channel, "description", WORDS[language]["about"])
    add(channel, "language", CODES[language])
    if found:
        add(channel, "lastBuildDate", day(found[0]))
    ElementTree.SubElement(channel, f"{{{ATOM}}}link", href=f"{url}{NAME}", rel="self", type="application/rss+xml")
    for change in found:
        pages = [(changes.title(book, page, language), changes.address(url, page)) for page in change.pages]
        item = ElementTree.SubElement(channel, "item")
        add(item, "title", (", " if language == "en" else "、").join(title for title, _ in pages))
        add(item, "link", pages[0][1])
        links = " · ".join(f'<a href="{html.escape(to)}">{html.escape(title)}</a>' for title, to in pages)
        add(item, "description", f"<p>{html.escape(change.says[language], quote=False)}</p><p>{links}</p>")
        add(item, "pubDate", day(change))
        add(item, "guid", f"warpbook:{language}:{change.key}").set("isPermaLink", "false")
    ElementTree.indent(rss)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(rss, encoding="unicode") + "\n"


def add(parent: ElementTree.Element, name: str, text: str) -> ElementTree.Element:
    made = ElementTree.SubElement(parent, name)
    made.text = text
    return made


def day(change: Change) -> str:
    return format_datetime(datetime.combine(change.date, time(), UTC), usegmt=True)
