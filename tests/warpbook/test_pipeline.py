"""One parse: what the extension shows, what it collects, and what it says of a page that is wrong."""

from __future__ import annotations

import markdown
import pytest

from warpbook.book import BookError
from warpbook.pipeline.extension import parse
from warpbook.records.values import Values
from warpbook.source.pages import Page

PAGE = """# A page

First line of a sentence,
in which 262 144 bytes take their time.

=== "A tab"

    ```python title="one.py"
    a = 1
    ```

??? note "Folded"

    ```text
    shown
    ```

    {{ figure:tree }}

    | a | |
    |---|---|
    | `{{ code }}` | 2 |
"""
TREE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><title>A tree</title></svg>'


@pytest.fixture
def read(small, write):
    """Read a text as a page of a small book."""
    write("docs/en/figures/tree.svg", TREE)

    def one(text: str, language: str = "en"):
        return parse(Page(small, write(f"docs/{language}/x.md", text)), language, Values(small))

    return one


def test_what_is_shown_is_what_is_collected(read, small):
    parsed = read(PAGE)
    collected = [one.block for one in parsed.listings.values()]
    assert [block.code for block in collected] == ["a = 1\n", "shown\n"]
    assert collected == Page(small, small.docs / "en" / "x.md").blocks  # what tests and records take
    assert parsed.html.count('<div class="language-') == 2


def test_a_directive_stands_where_it_was_written(read):
    parsed = read(PAGE)
    folded = parsed.html[parsed.html.index("<details") : parsed.html.index("</details>")]
    assert '<figure class="wb-figure">' in folded and "<title>A tree</title>" in folded
    assert [text for text, _ in parsed.directives] == ["figure:tree"]


def test_code_is_left_alone_and_prose_is_not(read):
    html = read(PAGE).html
    assert "<code>{{ code }}</code>" in html
    assert "262\u202f144 bytes" in html
    assert "<td></td>" in html  # a table's empty corner heads nothing


def test_a_directive_needs_no_empty_lines_around_it(read):
    html = read("# X\n\nBefore\n{{ figure:tree }}\nafter\n").html
    assert html.index("<p>Before</p>") < html.index("<figure") < html.index("<p>after</p>")


def test_footnotes_at_the_end_get_a_heading(read):
    assert '<h2 id="sources">Sources' in read("# X\n\nSo it is.[^a]\n\n[^a]: A book.\n").html
    early = read("# X\n\nSo it is.[^a]\n\n[^a]: A book.\n\n## After { #after }\n\nText.\n").html
    assert 'id="sources"' not in early


def test_a_problem_is_told_with_page_and_line_and_the_page_goes_on(read):
    parsed = read("# X\n\nText.\n\n{{ figure:none }}\n\nMore.\n")
    assert any(line == "docs/en/x.md:5: there is no docs/en/figures/none.svg" for line in parsed.problems)
    assert '<span class="wb-missing">?</span>' in parsed.html and "<p>More.</p>" in parsed.html


def test_a_page_whose_fences_are_wrong_is_not_read(read):
    with pytest.raises(BookError, match=r"^docs/en/x\.md:3: this block is never closed"):
        read("# X\n\n```python\n1\n")


def test_without_a_page_the_extension_reads_ordinary_markdown():
    html = markdown.markdown("# X\n\n{{ v6.rate }}\n", extensions=["warpbook.pipeline.extension"])
    assert "{{ v6.rate }}" in html and 'title="Link to this section"' in html
