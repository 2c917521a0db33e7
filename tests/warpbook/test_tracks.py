"""Tracks are the navigation's, paths those of docs/paths.toml; what is listed is what is there."""

from __future__ import annotations

import re

import pytest

from warpbook.book import LANGUAGES, BookError
from warpbook.exports import plain
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source import tracks
from warpbook.source.pages import Page

NAV = """nav:
  - Home: index.md
  - First:
      - First: first/index.md
      - "A: the start": first/a.md
      - B: first/b.md
  - Second:
      - Second: second/index.md
      - C: second/c.md
  - Glossary: glossary.md

theme:
"""
PATHS = """
[[path]]
name = "short"
en = "Short"
zh = "短"
says.en = "For the hurried."
says.zh = "给赶时间的人。"
pages = ["a", "c"]
"""


@pytest.fixture
def three(small, write):
    """A book of three articles in two tracks."""
    write("mkdocs.yml", NAV)
    write("docs/paths.toml", PATHS)
    write("docs/en/index.md", "# Home\n")
    for track in ("first", "second"):
        write(f"docs/en/{track}/index.md", f'---\nsummary: "About {track}."\n---\n\n# {track}\n\n{{{{ track }}}}\n')
    needs = {"a": "Python", "b": "[A](a.md#x)", "c": "[B](../first/b.md) and [A](../first/a.md)"}
    for name, need in needs.items():
        write(
            f"docs/en/{'second' if name == 'c' else 'first'}/{name}.md",
            f'---\nsummary: "What {name} says."\n---\n\n# {name.upper()}\n\n!!! goals "You will be able to"\n'
            f'    - do [{name}](#x).\n\n!!! needs "You need"\n    - {need}.\n\n{"word " * 1000}\n',
        )
    return small


def lines(book, what, name="index.md"):
    return "\n".join(tracks.markdown(book, what, "en", Page(book, book.docs / "en" / name))).replace("\u00a0", " ")


def test_the_navigation_says_what_a_track_holds(three):
    found = tracks.read(three, "en")
    assert [(track.title, [entry.title for entry in track.entries]) for track in found] == [
        ("First", ["A: the start", "B"]),
        ("Second", ["C"]),
    ]
    assert [tracks.extent(track, "en").replace("\u00a0", " ") for track in found] == [
        "2 pages · 20 min",
        "1 page · 10 min",
    ]


def test_a_track_s_own_page(three):
    made = lines(three, "track", "second/index.md")
    assert made == (
        '!!! needs "You need"\n    - [B](../first/b.md) and [A](../first/a.md).\n\n'
        "## [C](c.md) { #c }\n\n"
        '<span class="wb-time">10 min</span> What c says.\n\n'
        '!!! goals "You will be able to"\n    - do [c](c.md#x).\n\n'
        "## Paths through this track { #paths }\n\n"
        '- [Short](../index.md#short) <span class="wb-time">20 min</span>: [C](c.md).'
    )


def test_a_track_needs_what_its_first_page_needs_and_what_later_ones_need_of_other_tracks(three, write):
    assert lines(three, "track", "first/index.md").startswith('!!! needs "You need"\n    - Python.\n\n##')
    c = three.docs / "en/second/c.md"
    write("docs/en/first/b.md", (three.docs / "en/first/b.md").read_text("utf-8").replace("a.md#x", "../second/c.md"))
    assert "    - Python.\n    - [C](../second/c.md), for B.\n" in lines(three, "track", "first/index.md")
    assert c.exists()


def test_home_lists_tracks_paths_and_every_article(three):
    assert '- [First](first/index.md)\n    <span class="wb-time">2 pages · 20 min</span>' in lines(three, "tracks")
    paths = lines(three, "paths")
    assert 'Short\n{ #short .wb-path__name }\n\n<span class="wb-time">20 min</span> For the hurried.' in paths
    assert '??? path "2 pages"\n    1. [A: the start](first/a.md)\n    2. [C](second/c.md)' in paths
    assert "- [B](first/b.md): what b says." in lines(three, "articles")


def test_a_path_says_what_it_takes_what_it_goes_on_from_and_what_it_leaves_out(three, write):
    longer = PATHS.replace("short", "long").replace('"Short"', '"Long"').replace('["a", "c"]', '["c"]')
    write("docs/paths.toml", f'{PATHS}{longer}after = "short"\nleft = ["b"]\n')
    page = Page(three, three.docs / "en/index.md")
    found = "\n".join(tracks.markdown(three, "paths", "en", page, {"a": 15, "c": 70})).replace("\u00a0", " ")
    assert '<span class="wb-time">20 min, exercises 1 h 25 min</span> For the hurried.' in found
    assert "10 min, exercises 1 h 10 min</span> After [Short](#short): for the hurried.\n" in found
    assert "\n    Left out, though a page needs some of it: [B](first/b.md).\n" in found


def test_an_article_out_of_the_navigation_is_not_listed(three, write):
    write("mkdocs.yml", NAV.replace("      - B: first/b.md\n", ""))
    assert "b.md" not in lines(three, "articles") + lines(three, "track", "first/index.md")


def test_under_a_heading(three):
    def line(name):
        return tracks.line(three, Page(three, three.docs / "en" / name), "en", "../../").replace("\u00a0", " ")

    assert '>10 min · 2 of 2 in <a href="../../first/">First</a></p>' in line("first/b.md")
    assert '>10 min · <a href="../../second/">Second</a></p>' in line("second/c.md")
    assert ">2 pages · 20 min</p>" in line("first/index.md")
    assert line("index.md") == ""


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("docs/paths.toml", '"c"]', '"d"]', 'docs/paths.toml: path 1: no track has an article "d"'),
        ("docs/paths.toml", "pages =", 'left = ["d"]\npages =', 'docs/paths.toml: path 1: no track has an article "d"'),
        (
            "docs/paths.toml",
            "pages =",
            'after = "short"\npages =',
            'docs/paths.toml: path 1: after = "short", and no path',
        ),
        ("docs/paths.toml", "says.en", "tells.en", "docs/paths.toml: path 1 has tells; known are "),
        ("docs/paths.toml", 'en = "Short"\n', "", "docs/paths.toml: path 1: wants name, en and says.en"),
        ("mkdocs.yml", "      - First: first/index.md\n", "", 'mkdocs.yml: the track "First" begins with its own page'),
        ("docs/en/first/b.md", 'summary: "What b says."\n', "", "docs/en/first/b.md: give it a line for lists"),
    ],
)
def test_what_is_out_of_order_is_one_line(three, write, file, old, new, said):
    write(file, (three.root / file).read_text("utf-8").replace(old, new))
    with pytest.raises(BookError) as error:
        lines(three, "paths"), lines(three, "articles")
    assert str(error.value).startswith(said)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_book_s_own_pages_list_every_article_once(book, language):
    values = Values(book)
    listed: list[str] = []
    for track in tracks.read(book, language):
        text = plain.markdown(parse(track.page, language, values))
        listed += [entry.page.article for entry in track.entries if f"## [{entry.title}](" in text]
        assert "<" not in re.sub(r"`[^`]*`|<br>", "", text), track.page.name  # code may have it: `kernel<<<1, 10>>>()`
    assert listed == list(tracks.articles(book, language))
    assert len(tracks.ways(book, language)) == 4
