"""feed.xml: what changed, as a feed reader takes it."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from xml.etree import ElementTree

import pytest

from warpbook.site import feed
from warpbook.source import changes

CHANGES = """
[[change]]
date = 2026-11-22
pages = ["track/a", "index"]
en = "New: `a < b` & more."
zh = "新页面：A。"

[[change]]
date = 2026-11-21
pages = ["index"]
en = "First."
zh = "开篇。"
"""


@pytest.fixture
def told(small, write):
    for language in ("en", "zh"):
        write(f"docs/{language}/index.md", "# Home\n")
        write(f"docs/{language}/track/a.md", f"# A & {language}\n")
    write("docs/changes.toml", CHANGES)
    return small


def channel(book, language, url):
    found = ElementTree.fromstring(feed.feed(book, language, url).encode()).find("channel")
    assert found is not None
    return found


def test_a_reader_finds_what_it_needs(told):
    made = channel(told, "en", "https://site.test/book/")
    first, last = made.findall("item")
    assert made.findtext("link") == "https://site.test/book/"
    assert made.find(f"{{{feed.ATOM}}}link").get("href") == "https://site.test/book/feed.xml"
    assert first.findtext("title") == "A & en, Home"
    assert first.findtext("link") == "https://site.test/book/track/a/"
    assert first.findtext("description").startswith("<p>New: `a &lt; b` &amp; more.</p><p><a href=")
    assert parsedate_to_datetime(last.findtext("pubDate")).isoformat() == "2026-11-21T00:00:00+00:00"
    assert made.findtext("lastBuildDate") == first.findtext("pubDate")


def test_names_of_items_are_stable_and_a_languages_own(told):
    ids = {
        x: [i.findtext("guid") for i in channel(told, x, "https://site.test/").findall("item")] for x in ("en", "zh")
    }
    assert ids["en"] == ["warpbook:en:2026-11-22-1", "warpbook:en:2026-11-21-1"]
    assert not set(ids["en"]) & set(ids["zh"])


def test_the_books_feed_is_one(book):
    for language in ("en", "zh"):
        items = channel(book, language, "https://site.test/").findall("item")
        assert len(items) == len(changes.read(book))
        assert len({item.findtext("guid") for item in items}) == len(items)


def test_the_page_lists_changes_by_day(told):
    text = "\n".join(changes.markdown(told, "zh"))
    assert text.index("## 2026-11-22 { #day-2026-11-22 }") < text.index("## 2026-11-21")
    assert "- [A & zh](track/a.md)、[Home](index.md)：新页面：A。" in text
