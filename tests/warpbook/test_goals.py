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
        (EN.replace("!!! needs", "!!! note"), 'docs/en/t/x.md: say at its top, in a list under !!! needs "You need"'),
        (EN.replace("You need", "Before"), 'docs/en/t/x.md:8: this list is called "You need" on every page'),
        (EN.replace("    - [Y](y.md).\n", ""), 'docs/en/t/x.md: say at its top, in a list under !!! needs "You need"'),
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


def test_every_article_of_the_book(book):
    assert [said for name in tracks.articles(book, "en") for said in goals.problems(pair_of_pages(book, name))] == []
