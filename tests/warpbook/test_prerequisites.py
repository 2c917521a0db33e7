"""Which article needs which is said by links in their lists; the map and the foot of an article are made of these."""

from __future__ import annotations

import re

import pytest

from warpbook.blocks import book_map, ends
from warpbook.book import LANGUAGES, Book, BookError
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source import goals, prerequisites
from warpbook.source.pages import Page

NAV = """nav:
  - Home: index.md
  - First:
      - First: first/index.md
      - A: first/a.md
      - B: first/b.md
  - Second:
      - Second: second/index.md
      - C: second/c.md
      - D: second/d.md
      - E: second/e.md
  - Map: map.md
"""
# b needs a; c needs a and b; d needs b (and so a, which it names too); e needs nothing.
LINKS = {
    "first/a": "",
    "first/b": "[A](a.md#x)",
    "second/c": "[B](../first/b.md) and [A](../first/a.md)",
    "second/d": "[A](../first/a.md), [B](../first/b.md)",
    "second/e": "a [page](https://example.org/a.md)",
}


@pytest.fixture
def five(small, write) -> Book:
    """A book of five articles in two tracks, in both languages, and a map."""
    for config in ("mkdocs.yml", "mkdocs.zh.yml"):
        write(config, NAV)
    for language in LANGUAGES:
        write(f"docs/{language}/index.md", "# Home\n")
        write(f"docs/{language}/map.md", "# Map\n\n{{ map }}\n\n## List { #list }\n\n{{ prerequisites }}\n")
        for track in ("first", "second"):
            write(f"docs/{language}/{track}/index.md", f'---\nsummary: "About {track}."\n---\n\n# {track}\n')
        for name, links in LINKS.items():
            titles = goals.TITLES[language]
            write(
                f"docs/{language}/{name}.md",
                f'# {name[-1].upper()}\n\n!!! goals "{titles["goals"]}"\n    - do `it` with [a link](#x).\n\n'
                f'!!! needs "{titles["needs"]}"\n    - Python {links}.\n\nText.\n',
            )
    return small


def page(book: Book, name: str) -> Page:
    return Page(book, book.docs / "en" / f"{name}.md")


def edit(book: Book, name: str, old: str, new: str) -> None:
    path = book.root / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_links_of_the_lists_are_needs_and_no_others(five):
    assert prerequisites.needs(five, "en") == {"a": (), "b": ("a",), "c": ("a", "b"), "d": ("a", "b"), "e": ()}
    assert prerequisites.leads(five, "en")["a"] == ("b", "c", "d")
    edit(five, "docs/en/second/e.md", "Text.", "[A](../first/a.md).")
    assert prerequisites.needs(five, "en")["e"] == ()


def test_the_map_draws_no_arrow_where_a_way_leads_through_another_article(five):
    assert prerequisites.reduced(prerequisites.needs(five, "en")) == {
        "a": (), "b": ("a",), "c": ("b",), "d": ("b",), "e": ()
    }  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_article_is_a_link_on_the_map_below_what_it_needs(five, language):
    made = parse(Page(five, five.docs / language / "map.md"), language, Values(five))
    assert made.problems == []
    drawn = re.search(r"<figure.*?</figure>", made.html, re.DOTALL)[0]
    links = re.findall(r'<a class="wb-map__node wb-s(\d)" href="([^"]*)/" data-article="(\w)"', drawn)
    assert links == [("0", "first/a", "a"), ("0", "first/b", "b"), *(("1", f"second/{x}", x) for x in "cde")]
    assert re.findall(r'data-from="(\w)" data-to="(\w)"', drawn) == [("a", "b"), ("b", "c"), ("b", "d")]
    top = dict(re.findall(r'data-article="(\w)".*?<rect x="[^"]*" y="([^"]*)"', drawn, re.DOTALL))
    assert float(top["a"]) < float(top["b"]) < float(top["c"]) == float(top["d"])
    assert "– do it with a link." in drawn and 'data-needs="a b" aria-label="C' in drawn


def test_the_list_says_the_same_and_has_a_box_for_each(five):
    text = "\n".join(prerequisites.markdown(five, "en", page(five, "map")))
    assert "Needs [A](first/a.md), [B](first/b.md)." in text and "Needs no other article." in text
    assert "Leads to [B](first/b.md), [C](second/c.md), [D](second/d.md)." in text
    assert re.findall(r'data-read="(\w)" title="(\w): I have read this"', text) == [(x, x.upper()) for x in "abcde"]


def test_a_full_row_gives_articles_that_lead_nowhere_to_rows_below():
    most = book_map.MOST_BOXES
    wide = {"root": (), **{f"leaf{i}": ("root",) for i in range(most + 2)}}
    assert sorted(book_map.ranks(wide).values()) == [0, *[1] * most, 2, 2]
    rank = book_map.ranks({**wide, "after": (f"leaf{most + 1}",)})
    assert rank[f"leaf{most + 1}"] == 1 and rank["after"] == 2  # it leads on, so it stays


def test_a_title_in_lines_reads_as_the_title():
    for title in ("Matrix multiplication I: CUDA cores", "循环展开与指令级并行"):
        drawn = book_map.lettered(book_map.Shape(20), title)
        assert drawn.count("<tspan") > 1 and re.sub(r"<[^>]*>", "", drawn) == title


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ("Softmax", ["Softmax"]),
        ("Matrix multiplication I: CUDA cores", ["Matrix", "multiplication I:", "CUDA cores"]),
        ("矩阵乘法（一）：CUDA 核心", ["矩阵乘法（一）：", "CUDA 核心"]),
        ("循环展开与指令级并行", ["循环展开与", "指令级并行"]),
    ],
)
def test_a_title_is_cut_where_it_may_be(title, lines):
    assert book_map.wrapped(title) == lines


# -- the foot of an article --------------------------------------------------------------------------------------


def foot(book: Book, name: str) -> str:
    return ends.foot(page(book, name), "en", "../../")


def test_the_foot_names_what_an_article_prepares_for_without_the_next_page(five):
    assert '<p>This also prepares you for <a href="../../second/d/">D</a>.</p>' in foot(five, "first/b")  # c is next
    assert "prepares" not in foot(five, "first/a")  # b is next, and the others need b
    assert 'data-read="b"' in foot(five, "first/b") and 'href="../../map/"' in foot(five, "first/b")
    assert foot(five, "index") == ""


def test_the_foot_repeats_nothing_that_the_page_says_itself(five):
    edit(five, "docs/en/first/b.md", "Text.", "## On { #further }\n\n- [D](../second/d.md).")
    assert "prepares" not in foot(five, "first/b")
    edit(five, "docs/en/first/b.md", "#further", "#elsewhere")
    assert "prepares" in foot(five, "first/b")


def test_the_foot_names_three_that_lead_on(five, write):
    letters = "fghi"
    write("mkdocs.yml", NAV.replace("  - Map", "".join(f"      - {x}: second/{x}.md\n" for x in letters) + "  - Map"))
    for x in letters:
        needed = "[h](h.md)" if x == "i" else "[B](../first/b.md)"
        write(f"docs/en/second/{x}.md", f'# {x}\n\n!!! needs "You need"\n    - {needed}.\n')
    # d, f, g and h need b; c, too, but it is next. h leads to i, so it goes before g.
    assert [entry.title for entry in prerequisites.onward(five, "en", page(five, "first/b"))] == ["D", "f", "h"]


# -- bad input ---------------------------------------------------------------------------------------------------


def test_a_circle_is_one_line(five):
    assert prerequisites.problems(five) == []
    for language in LANGUAGES:
        edit(five, f"docs/{language}/first/a.md", "- Python", "- [C](../second/c.md), Python")
    assert prerequisites.problems(five) == [
        'docs/en/first/a.md: a needs c needs a; take a link out of one of these lists, !!! needs "…"'
    ]
    with pytest.raises(BookError, match=r"^no map: a needs c needs a$"):
        book_map.drawing(five, "en", "../")


def test_languages_that_need_different_articles_are_one_line(five):
    edit(five, "docs/zh/first/b.md", "[A](a.md#x)", "A")
    assert prerequisites.problems(five) == [
        "docs/zh/first/b.md: only one of it and docs/en/first/b.md links to a in its list of needs"
    ]


PATH = """
[[path]]
name = "{name}"
en = "X"
zh = "X"
says.en = "X."
says.zh = "X."
pages = {pages}
{more}
"""


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        ([("one", '["a", "b", "d"]', "")], []),
        ([("one", '["a", "b"]', ""), ("two", '["d"]', 'after = "one"')], []),
        ([("one", '["a", "c"]', 'left = ["b"]')], []),
        ([("one", '["b", "a"]', "")], ['path "one": b needs a, which does not come before it; put it before,']),
        ([("one", '["a"]', ""), ("two", '["d"]', 'after = "one"')], ['path "two": d needs b, which does not']),
        ([("one", '["a"]', 'left = ["b"]')], ['path "one": left has b, which no page of the path lacks']),
        ([("one", '["a", "b"]', 'left = ["a"]')], ['path "one": left has a, which no page of the path lacks']),
    ],
)
def test_what_a_path_s_articles_need_comes_before_them_or_is_left_out(five, write, paths, said):
    write("docs/paths.toml", "".join(PATH.format(name=name, pages=pages, more=more) for name, pages, more in paths))
    found = prerequisites.problems(five)
    assert len(found) == len(said)
    assert all(line.startswith(f"docs/paths.toml: {start}") for line, start in zip(found, said, strict=True))


def test_a_book_without_articles_has_no_map(small, write):
    write("mkdocs.yml", "nav:\n  - Home: index.md\n")
    with pytest.raises(BookError, match=r"^no map: the navigation has no articles$"):
        book_map.drawing(small, "en", "")
    with pytest.raises(BookError, match="no tracks to list"):
        prerequisites.markdown(small, "en", Page(small, write("docs/en/index.md", "# Home\n")))
