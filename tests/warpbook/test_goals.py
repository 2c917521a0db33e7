"""Every article says at its top what it gives and what it needs, in both languages, with as many items."""

from __future__ import annotations

import pytest

from warpbook.book import BookError
from warpbook.source import goals, tracks
from warpbook.source.pages import Page, pair_of_pages

EN = """# X

!!! goals "You will be able to"
    - count;
    - predict, in
      two lines.

!!! needs "You need"
    - [Y](y.md).

Text.

- no goal.
"""
ZH = EN.replace("You will be able to", "读完这一篇，你能够").replace("You need", "你需要")


def test_both_lists(small, write):
    page = Page(small, write("docs/en/t/x.md", EN))
    assert goals.of(page, "en") == {"goals": ["count;", "predict, in two lines."], "needs": ["[Y](y.md)."]}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            EN.replace("!!! needs", "!!! note"),
            "docs/en/t/x.md: add at its top what a reader has to know or have before: "
            '!!! needs "You need", then a list',
        ),
        (
            EN.replace("!!! goals", "!!! note"),
            "docs/en/t/x.md: add at its top what a reader can do afterwards: "
            '!!! goals "You will be able to", then a list',
        ),
        (EN.replace("You need", "Before"), 'docs/en/t/x.md:8: this list is called "You need" on every page'),
        (
            EN.replace("    - [Y](y.md).\n", ""),
            "docs/en/t/x.md: add at its top what a reader has to know or have before: "
            '!!! needs "You need", then a list',
        ),
        (EN + '\n!!! needs "You need"\n', "docs/en/t/x.md:15: a second list of needs; make them one"),
    ],
)
def test_what_is_missing_or_misnamed_is_told(small, write, wrong, said):
    page = Page(small, write("docs/en/t/x.md", wrong))
    with pytest.raises(BookError) as error:
        goals.of(page, "en")
    assert str(error.value) == said


def test_a_language_with_fewer_items(small, write):
    write("docs/en/t/x.md", EN)
    write("docs/zh/t/x.md", ZH)
    assert goals.problems(pair_of_pages(small, "x")) == []
    write("docs/zh/t/x.md", ZH.replace("    - count;\n", ""))
    assert goals.problems(pair_of_pages(small, "x")) == ["docs/zh/t/x.md: 1 items in goals, where docs/en/t/x.md has 2"]


def test_all_lists_that_are_missing_are_named_at_once(small, write):
    write("docs/en/t/x.md", "# X\n")
    write("docs/zh/t/x.md", "# 某\n")
    said = goals.problems(pair_of_pages(small, "x"))
    assert [(line.split(":")[0], line.split("!!! ")[1].split()[0]) for line in said] == [
        ("docs/en/t/x.md", "goals"),
        ("docs/en/t/x.md", "needs"),
        ("docs/zh/t/x.md", "goals"),
        ("docs/zh/t/x.md", "needs"),
    ]


def test_every_article_of_the_book(book):
    assert [said for name in tracks.articles(book, "en") for said in goals.problems(pair_of_pages(book, name))] == []
