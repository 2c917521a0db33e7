"""docs/moved.toml: a page keeps the anchors of the sections that went to another, as links to where they are now."""

from __future__ import annotations

import re

import pytest

from warpbook.blocks import moved as block
from warpbook.book import BookError
from warpbook.check import page_links
from warpbook.source import moved
from warpbook.source.pages import Page

TABLE = """
["track/a"]
"track/b" = ["tiles", "old=new", "k.cu:v1", "k.cu:v2=k.cu:v3"]
"""


@pytest.fixture
def pages(small, write):
    for language in ("en", "zh"):
        write(f"docs/{language}/track/a.md", "# A\n\n## Kept { #kept }\n")
        write(f"docs/{language}/track/b.md", "# B\n\n## Tiles & `x` { #tiles }\n\n## New { #new }\n")
    return lambda text: write("docs/moved.toml", text)


def html(small, name, language="en"):
    return block.section(Page(small, small.docs / language / f"{name}.md"), language, "../../")


def test_links_carry_the_old_anchors(small, pages):
    pages(TABLE)
    made = html(small, "track/a")
    assert re.findall(r'<a id="([^"]+)" href="([^"]+)">(.*?)</a>', made) == [
        ("tiles", "../../track/b/#tiles", "Tiles &amp; x"),
        ("old", "../../track/b/#new", "New"),
    ]
    assert '<span id="k.cu:v1"></span><span id="k.cu:v2" data-to="k.cu:v3"></span>' in made
    assert '<a href="../../track/b/">B</a>: <a id="tiles"' in made
    assert "已移到" in html(small, "track/a", "zh")
    assert html(small, "track/b") == ""
    assert block.without(f"<p>1</p>{made}<p>2</p>") == "<p>1</p><p>2</p>"


def test_without_a_file_nothing_moved(small, pages):
    assert moved.read(small) == {} and html(small, "track/a") == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TABLE.replace("track/b", "track/c"), 'docs/moved.toml: there is no page "track/c" in both languages'),
        (TABLE.replace('"old=new"', '"tiles=new"'), 'names the anchor "tiles" twice'),
        ("[a\n", "docs/moved.toml: "),
        ('["track/a"]\n"track/b" = "tiles"\n', "docs/moved.toml: "),
    ],
)
def test_mistakes_are_one_line(small, pages, text, message):
    pages(text)
    with pytest.raises(BookError, match=re.escape(message)) as told:
        moved.read(small)
    assert "\n" not in str(told.value)


def test_the_check_holds_the_table_against_the_pages(small, pages):
    pages('["track/a"]\n"track/b" = ["tiles", "kept", "gone"]\n')
    made = html(small, "track/a")

    def anchors(text: str) -> frozenset[str]:
        return frozenset(page_links.anchors_of(text))

    rendered = [
        page_links.Rendered(small.docs / "en/track/a.md", "track/a.md", (), anchors(f'<h2 id="kept"></h2>{made}')),
        page_links.Rendered(
            small.docs / "en/track/b.md", "track/b.md", ((3, "a.md#tiles"),), anchors('<h2 id="tiles"></h2>')
        ),
    ]
    assert page_links.broken(small, "en", rendered) == [
        "docs/moved.toml: track/a: track/b has no #kept",
        "docs/moved.toml: track/a still has #kept itself",
        "docs/moved.toml: track/a: track/b has no #gone",
        "docs/en/track/b.md:3: a.md#tiles: track/a.md has no #tiles",
    ]
