"""The errata page: corrections of all articles, with their sources, values and links as they were there."""

from __future__ import annotations

import pytest

from warpbook.book import BookError
from warpbook.exports import plain
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source import errata
from warpbook.source.pages import Page

ARTICLE = """# Launching { #launching }

## Limits { #limits }

!!! older "Older tutorials say: at most 512 threads"
    It is 1024[^guide], see [below](#below) and [memory](memory.md#banks).

    Or {{ quoted: 3 µs [^other] }}.

Text[^unused].

## Below { #below }

??? older "A launch is free"
    It is not.

[^guide]: The guide,
    its [table](https://example.org/a).
[^unused]: Not wanted.
[^other]: Another.
"""


@pytest.fixture
def page(small, write) -> Page:
    pages = ("Track: track/index.md", "B: track/b.md", "A: track/a.md")
    track = "".join(f"      - {one}\n" for one in pages)
    write("mkdocs.yml", f"nav:\n  - Track:\n{track}  - Errata: errata.md\n")
    write("docs/en/track/index.md", "# Track\n")
    write("docs/en/track/b.md", ARTICLE)
    write("docs/en/track/a.md", '# First by name\n\n!!! older "X"\n    Y[^guide].\n\n[^guide]: Another guide.\n')
    return Page(small, write("docs/en/errata.md", "# Errata\n\n{{ errata }}\n"))


def test_corrections_come_in_reading_order_with_what_they_refer_to(small, page):
    made = parse(page, "en", Values(small))
    assert not made.problems
    text, _ = plain.flat(made)
    assert text.index("## Launching { #b }") < text.index("## First by name { #a }")
    assert '!!! older "Older tutorials say: at most 512 threads"' in text
    assert "It is 1024[^b-guide], see [below](track/b.md#below) and [memory](track/memory.md#banks)." in text
    assert "→ [Limits](track/b.md#limits)" in text and "→ [Below](track/b.md#below)" in text
    assert "[^b-guide]: The guide,\n    its [table](https://example.org/a)." in text
    assert "[^a-guide]: Another guide." in text and "Not wanted" not in text
    assert text.index("{ #a }") < text.index("## Sources { #sources }") < text.index("[^b-guide]: The guide")
    assert 'href="#fn:b-other"' in text  # of a quoted number
    assert "3 µs" in text.replace("\u00a0", " ") and "[^b-other]: Another." in text


def test_a_correction_that_says_nothing_is_told(small, write):
    page = Page(small, write("docs/en/x.md", '# X\n\n!!! older "Wrong"\n\nText.\n'))
    with pytest.raises(BookError, match=r"docs/en/x.md:3: this correction says what is wrong, and not what is so"):
        errata.of_page(page)


def test_code_blocks_stay_in_the_article(small, write):
    page = Page(small, write("docs/en/x.md", '# X\n\n!!! older "Wrong"\n    So:\n\n    ```python\n    1\n    ```\n'))
    with pytest.raises(BookError, match=r"x\.md:3: a correction has no code blocks"):
        errata.of_page(page)


def test_both_languages_correct_the_same(book):
    for article in book.articles():
        pages = [book.page_of(article, language) for language in ("en", "zh")]
        found = [len(errata.of_page(Page(book, path))) for path in pages if path]
        assert len(set(found)) <= 1, f"{article}: {found} corrections in English and Chinese"
