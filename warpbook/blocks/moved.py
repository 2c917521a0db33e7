"""The end of a page that lost sections to others: links that carry the old anchors, and lead to where they are now.

A browser that is sent to an old anchor shows its link; theme/assets/site.js follows it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Mapping

from warpbook.book import Book
from warpbook.source import moved, translation
from warpbook.source.pages import Page

CLASS = "wb-moved"
SECTION = re.compile(rf'<section class="{CLASS}".*?</section>', re.DOTALL)
WORDS = {"en": ("Moved to pages of their own", ": ", ", "), "zh": ("已移到其他页面的内容", "：", "、")}


def section(page: Page, language: str, root: str) -> str:
    """HTML; empty for a page that lost nothing. `root` leads to the language's home."""
    name = page.path.relative_to(page.book.docs / language).with_suffix("").as_posix()
    label, colon, comma = WORDS[language]
    items = ""
    for move in moved.of(page.book, name):
        target = Page(page.book, page.book.docs / language / f"{move.to}.md")
        titles = {anchor: one.title for anchor, one in translation.sections(target).items()}
        links, rest = [], ""
        for old, new in move.anchors.items():
            url = html.escape(f"{root}{move.to}/#{new}")
            if new in titles:
                links.append(f'<a id="{html.escape(old)}" href="{url}">{html.escape(plain(titles[new]))}</a>')
            else:  # a listing, an exercise: the page's link is what the browser shows
                hash_ = f' data-to="{html.escape(new)}"' if new != old else ""
                rest += f'<span id="{html.escape(old)}"{hash_}></span>'
        said = colon + comma.join(links) if links else ""
        items += f'<li>{rest}<a href="{root}{move.to}/">{html.escape(plain(target.title))}</a>{said}</li>'
    return f'<section class="{CLASS}" aria-label="{label}"><p>{label}</p><ul>{items}</ul></section>' if items else ""


def plain(title: str) -> str:
    return re.sub(r"[`*$\\]", "", title)


def without(page: str) -> str:
    """The HTML of a page without that list, whose anchors are no longer the page's own."""
    return SECTION.sub("", page)


def problems(book: Book, anchors: Mapping[str, Collection[str]]) -> list[str]:
    """One line for each anchor that is not where docs/moved.toml says. `anchors`: the own ones of each page."""
    found = []
    for page, moves in moved.read(book).items():
        for move in moves:
            for old, new in move.anchors.items():
                if new not in anchors.get(move.to, {new}):
                    found.append(f"docs/{moved.FILE}: {page}: {move.to} has no #{new}")
                if old in anchors.get(page, ()):
                    found.append(f"docs/{moved.FILE}: {page} still has #{old} itself")
    return found
