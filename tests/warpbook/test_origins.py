"""docs/origins.toml: each post that the book began with leads to its page, and every article says where it is from."""

from __future__ import annotations

import pytest

from warpbook.book import BookError
from warpbook.exports import plain
from warpbook.new import article
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source import origins
from warpbook.source.pages import Page

NAV = "nav:\n  - Track:\n      - Track: track/index.md\n      - A: track/a.md\n      - B: track/b.md\n"
ORIGINS = """
[[blog]]
name = "one"
en = "first blog"
zh = "第一个博客"

[[topic]]
posts = {one = "归约"}
page = "track/a"
corrected.en = "A sum need not commute."
corrected.zh = "求和不必满足交换律。"

[[topic]]
posts = {one = ""}
planned = "track/later"
corrected.en = "It slides."
corrected.zh = "会滑动。"

[[apart]]
page = "track/b"
says.en = "It was missing."
says.zh = "原来没有。"

[[apart]]
planned = "track/last"
says.en = "It will come."
says.zh = "还会有。"
"""


@pytest.fixture
def told(small, write):
    """A book of two articles, the first with a correction; call it with the text of docs/origins.toml."""
    for config in ("mkdocs.yml", "mkdocs.zh.yml"):
        write(config, NAV)
    for language in ("en", "zh"):
        for name in ("index", "a", "b"):
            older = '\n!!! older "Older posts say: it commutes"\n    It need not.\n' if name == "a" else ""
            write(f"docs/{language}/track/{name}.md", f"# {name}\n{older}")
        write(f"docs/{language}/origins.md", "# Origins\n\n{{ origins }}\n")

    def fill(text: str):
        write("docs/origins.toml", text)
        return small

    return fill


def shown(book, language: str) -> str:
    made = parse(Page(book, book.docs / language / "origins.md"), language, Values(book))
    assert not made.problems
    return plain.flat(made)[0]


def test_a_topic_shows_its_page_its_post_and_the_way_to_the_errata(told):
    book = told(ORIGINS)
    assert origins.problems(book) == []
    text = shown(book, "en")
    assert "[A](track/a.md) { #a }" in text and "A sum need not commute. → Errata: [A](errata.md#a)" in text
    assert 'From “<span lang="zh-Hans">归约</span>” (first blog).' in text
    assert "## Pages that no post led to { #apart }" in text and ":   It was missing." in text
    assert "It will come." not in text
    assert "原文：《归约》（第一个博客）。" in shown(book, "zh")


def test_a_planned_topic_is_a_link_once_the_navigation_lists_its_article(told, write):
    book = told(ORIGINS)
    assert "## Not written yet { #planned }\n\n- an empty draft (first blog)" in shown(book, "en")
    for language, config in (("en", "mkdocs.yml"), ("zh", "mkdocs.zh.yml")):
        write(config, f"{NAV}      - Later: track/later.md\n")
        write(f"docs/{language}/track/later.md", "# Later\n")
    text = shown(book, "en")
    assert "[Later](track/later.md) { #later }" in text and "It slides." in text and "#planned" not in text
    book = told(ORIGINS.replace('corrected.en = "It slides."\ncorrected.zh = "会滑动。"\n', ""))
    assert origins.problems(book) == [
        "docs/origins.toml: topic 2: track/later is written now; say what it corrects, as corrected.en and .zh"
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('page = "track/a"', 'page = "track/x"', 'topic 1: the navigation lists no article "track/x"'),
        ('page = "track/b"', 'page = "track/x"', 'apart: the navigation lists no article "track/x"'),
        ('"track/b"', '"track/a"', 'nothing names the article "track/b"; add it to its topic, or under [[apart]]'),
    ],
)
def test_check_names_pages_and_articles_that_do_not_match(told, old, new, said):
    assert any(said in one for one in origins.problems(told(ORIGINS.replace(old, new))))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("posts = {one", "posts = {two", "topic 1: name its posts by blog"),
        ('planned = "track/later"', "", "topic 2: give the page that has it, or as planned the one that will"),
        ('corrected.zh = "求和不必满足交换律。"', "", "topic 1: corrected has no zh"),
        ("says.en", "said.en", "apart 1 has said; known are page, planned, says"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(told, old, new, said):
    with pytest.raises(BookError, match=r"^docs/origins\.toml: ") as error:
        origins.read(told(ORIGINS.replace(old, new, 1)))
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_new_article_is_listed_apart_unless_a_topic_planned_it(told):
    book = told(ORIGINS)
    for place, is_added in (("track/hello", True), ("track/later", False)):
        files = article.listed(book, article.read(place, None, None))
        assert (book.docs / origins.FILE in files) == is_added
    made = article.in_origins(ORIGINS, article.read("track/hello", None, None))
    assert "track/hello" in origins.read(told(made)).apart


def test_the_books_25_topics(book):
    found = origins.read(book)
    assert len(found.topics) == 25 and len(found.blogs) == 3
    assert origins.problems(book) == []
