"""The glossary: its file, its page, and the links from the first use of each term."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from warpbook.book import BookError
from warpbook.exports import plain
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source import glossary
from warpbook.source.pages import Page

TERMS = """
[[group]]
en = "Execution"
zh = "执行"

[[group.term]]
en = "warp"
zh = "线程束"
page = "x"
says = { en = "32 threads of a block.", zh = "一个块里的 32 个线程。" }

[[group.term]]
en = "warp divergence"
zh = "线程束分化"
forms = ["divergence"]
also = ["分化"]
says = { en = "Lanes take \\"different\\" ways.", zh = "各走各的路。" }

[[group.term]]
en = "stream"
zh = "流"
match.zh = "流(?=（stream)"
says = { en = "A queue.", zh = "队列。" }
"""


@pytest.fixture
def filled(small, write):
    write("docs/glossary.toml", TERMS)
    write("docs/en/x.md", "# Execution model { #x }\n")
    write("docs/zh/x.md", "# 执行模型\n")
    return small


def linked(book, content: str, language: str = "en", root: str = "") -> str:
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    page = ElementTree.fromstring(f"<div>{content}</div>", parser)
    glossary.link(book, page, language, root)
    return ElementTree.tostring(page, "unicode").removeprefix("<div>").removesuffix("</div>")


def links(book, content: str, language: str = "en") -> list[tuple[str, str]]:
    """The anchor and the text of each link."""
    made = linked(book, content, language, "../")
    # Nothing else is touched.
    assert re.sub(r'<a class="wb-term"[^>]*>(.*?)</a>', r"\1", made, flags=re.DOTALL) == content
    return re.findall(r'<a class="wb-term" href="\.\./glossary/#([\w-]+)"[^>]*>(.*?)</a>', made, re.DOTALL)


def test_the_first_use_of_each_term_is_linked(filled):
    assert links(filled, "<p>Warps have lanes. A warp, a <b>stream</b>, streams.</p>") == [
        ("warp", "Warps"),
        ("stream", "stream"),
    ]


def test_the_longer_term_wins_and_leaves_the_shorter_one_for_later(filled):
    assert links(filled, "<p>warp\ndivergence in a warp</p>") == [
        ("warp-divergence", "warp\ndivergence"),
        ("warp", "warp"),
    ]
    assert links(filled, "<p>线程束分化发生在线程束里，分化有代价。</p>", "zh") == [
        ("warp-divergence", "线程束分化"),
        ("warp", "线程束"),
    ]


@pytest.mark.parametrize(
    "kept",
    [
        "<code>warp</code>",
        "<h2>warp</h2>",
        '<a href="#">a <em>warp</em></a>',
        '<span class="arithmatex">\\(warp\\)</span>',
        '<p class="admonition-title">warp</p>',
        '<span class="wb-value"><a>3 warp</a></span>',
        "<p>warpbook, warp-level, non-warp</p>",
        '<img alt="warp" />',
        "<!-- warp -->",
    ],
)
def test_what_is_no_running_text_is_left_alone(filled, kept):
    assert links(filled, f"{kept}<p>a warp</p>") == [("warp", "warp")]


def test_a_short_chinese_word_is_found_only_where_its_pattern_says(filled):
    assert links(filled, "<p>主流、流水线；流（stream）是队列。</p>", "zh") == [("stream", "流")]


def test_the_link_says_what_the_term_means(filled):
    assert 'data-tip="Lanes take &quot;different&quot; ways."' in linked(filled, "divergence")


def test_its_page_shows_each_term_in_both_languages(filled, write):
    for language, first, title in (("en", "warp", "Execution model"), ("zh", "线程束", "执行模型")):
        page = Page(filled, write(f"docs/{language}/glossary.md", "# Terms\n\n{{ glossary }}\n"))
        made = parse(page, language, Values(filled))
        assert not made.problems
        text, _ = plain.flat(made)
        assert f"\n{first} <span lang=" in text and f"→ [{title}](x.md)" in text
        assert text.count("\n:   ") == 3


def test_a_term_with_one_name_in_both_languages_shows_it_once(filled, write):
    write("docs/glossary.toml", TERMS.replace('zh = "线程束"', 'zh = "warp"'))
    page = Page(filled, write("docs/zh/glossary.md", "# 术语表\n\n{{ glossary }}\n"))
    text, _ = plain.flat(parse(page, "zh", Values(filled)))
    assert "\nwarp {#warp}\n" in text.replace("{ #", "{#").replace(" }", "}"), text


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('says = { en = "A queue.", zh = "队列。" }', 'says = { en = "A queue." }', '"stream": says has no zh'),
        ('en = "stream"', 'en = "warp"', '"warp" is there twice'),
        (
            'page = "x"',
            'pages = "x"',
            '"warp" has pages; known are also, avoid, en, forms, match, page, says, search, zh',
        ),
        ('match.zh = "流(', 'match.zh = "流((', '"stream": match.zh: '),
        ('zh = "流"', 'zh = 流"', "Invalid value"),
    ],
)
def test_a_mistake_in_the_file_is_told_in_one_line(filled, write, old, new, told):
    assert old in TERMS
    write("docs/glossary.toml", TERMS.replace(old, new))
    with pytest.raises(BookError) as error:
        glossary.read(filled)
    assert str(error.value).startswith("docs/glossary.toml: ") and told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_term_that_points_nowhere_is_told(filled, write):
    write("docs/glossary.toml", TERMS.replace('page = "x"', 'page = "y"'))
    with pytest.raises(BookError, match='"warp": there is no page y'):
        glossary.markdown(filled, "en")


def test_the_books_own_terms(book):
    terms = [one for group in glossary.read(book) for one in group.terms]
    assert len(terms) >= 40
    for one in terms:  # each is found as a page first writes it
        if one.names["en"] not in ("event", "guard"):  # too common to be linked wherever they stand
            assert re.fullmatch(one.patterns["en"], one.names["en"], re.IGNORECASE), one.names
        assert re.match(one.patterns["zh"], f"{one.names['zh']}（{one.names['en']}）"), one.names
