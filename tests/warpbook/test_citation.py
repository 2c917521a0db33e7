"""The end of a page says what changed on it, and how to cite it as it is now."""

from __future__ import annotations

import pytest

from warpbook.blocks import citation
from warpbook.book import here
from warpbook.source.pages import Page

CHANGES = """
[[change]]
date = 2026-11-22
pages = ["index"]
en = "Later."
zh = "后来。"

[[change]]
date = 2026-11-21
pages = ["track/a"]
en = "New: A & B."
zh = "新页面：A 与 B。"
"""


@pytest.fixture
def told(small, write):
    write("docs/changes.toml", CHANGES)
    write("docs/en/index.md", "# Home\n")
    write("docs/en/track/index.md", "# Track\n")
    write("docs/en/track/b.md", "# B\n")
    return Page(small, write("docs/en/track/a.md", "# A & B: 100 % { #top }\n"))


def test_a_page_s_own_changes_and_its_citation(told):
    made = citation.fold(told, "en", "https://example.org/track/a/")
    assert '<li><time datetime="2026-11-21">2026-11-21</time> New: A &amp; B.</li>' in made
    assert "Later." not in made
    assert "The Warpbook authors. “A &amp; B: 100 %.” <i>Warpbook</i>, version of " in made
    assert "https://example.org/track/a/</p>" in made


def test_bibtex(told):
    assert citation.bibtex("a", told.title, "zh", citation.version(told.book, "track/a"), "https://example.org/") == (
        "@misc{warpbook-a-zh,\n"
        "  author = {{The Warpbook authors}},\n"
        "  title = {A \\& B: 100 \\%},\n"
        "  howpublished = {线程束手册},\n"
        "  year = {2026},\n"
        "  note = {2026-11-21 版},\n"
        "  url = {https://example.org/},\n"
        "}\n"
    )


def test_a_page_of_which_nothing_is_told_is_as_old_as_the_book(told):
    assert str(citation.version(told.book, "track/b")) == "2026-11-22"
    assert "<ul>" not in citation.fold(Page(told.book, told.path.with_name("b.md")), "en", "u")


def test_home_is_the_book_and_a_track_s_page_is_not_cited(told):
    home = Page(told.book, told.book.docs / "en/index.md")
    assert "authors. <i>Warpbook</i>, version of " in citation.fold(home, "en", "u")
    assert citation.fold(Page(told.book, told.path.with_name("index.md")), "en", "u") == ""


def test_the_authors_are_the_licence_s():
    assert citation.AUTHORS in (here().root / "LICENSE").read_text("utf-8")
