"""The SASS that pages show is what the locked compiler makes now."""

from __future__ import annotations

import depends
import pytest

from warpbook import cli
from warpbook.book import here
from warpbook.records import sass
from warpbook.source.pages import pair_of_pages

BOOK = here()
ARTICLES = [article for article in BOOK.articles() if sass.wanted(pair_of_pages(BOOK, article))]


@pytest.mark.inputs(by=depends.of_both_pages)
@pytest.mark.parametrize("article", ARTICLES)
def test_sass_is_as_recorded(article: str) -> None:
    if found := sass.stale(BOOK, article):
        pytest.fail("\n".join(found), pytrace=False)
    kept = sass.read(BOOK, article)
    for one in sass.wanted(pair_of_pages(BOOK, article)):
        assert sass.disassemble(BOOK, one) == kept[one.key], one.key


@pytest.mark.parametrize("article", ARTICLES)
def test_both_languages_show_the_same_kernels(article: str) -> None:
    english, chinese = (set(sass.wanted([page])) for page in pair_of_pages(BOOK, article))
    assert english == chinese


def test_some_page_shows_sass() -> None:
    assert ARTICLES


def test_the_command_prints_lines_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["sass", "snippets/unrolling/chains.cu", "--kernel", "rolled"]
    assert cli.main(asked) == 0
    printed = capsys.readouterr().out
    assert "16 registers, no spills" in printed
    assert "for (int s = 0; s < steps; ++s)" in printed
    assert cli.main([*asked, "--count", "loop.FFMA"]) == 0
    assert capsys.readouterr().out == "loop.FFMA 4\n"
    assert cli.main([*asked[:3], "none"]) == 1
