"""The line counters that pages show under their listings are those of a run now, to the last unit."""

from __future__ import annotations

import depends
import pytest

from warpbook.book import BookError, here
from warpbook.records import lines, packages
from warpbook.run.run import LackingError
from warpbook.source.pages import pair_of_pages

BOOK = here()
ARTICLES = [article for article in BOOK.articles() if lines.wanted(pair_of_pages(BOOK, article))]
SHOWN = [
    (article, program)
    for article in ARTICLES
    for program in dict.fromkeys(one.program for one in lines.wanted(pair_of_pages(BOOK, article)))
]

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("article", ARTICLES)
def test_the_record_of_lines_is_fresh(article: str) -> None:
    if found := lines.stale(BOOK, article):
        pytest.fail("\n".join(found), pytrace=False)


@pytest.mark.inputs(by=depends.of_both_pages)
@pytest.mark.parametrize(("article", "program"), SHOWN)
def test_lines_are_counted_as_recorded(article: str, program: str) -> None:
    pages = pair_of_pages(BOOK, article)
    try:
        now = lines.measure(pages[0], lines.wanted(pages), program)
    except LackingError as error:
        pytest.skip(str(error).rpartition(": ")[2])
    except BookError as error:
        pytest.fail(f"{error}\n{getattr(error, 'traceback', '')}", pytrace=False)
    kept = lines.read(BOOK, article)[program]
    assert now["code"] == kept["code"]
    assert now["launches"] == kept["launches"], packages.apart(kept, now.get("packages", {}))


@pytest.mark.parametrize("article", ARTICLES)
def test_both_languages_show_the_same_launches(article: str) -> None:
    english, chinese = (lines.wanted([page]) for page in pair_of_pages(BOOK, article))
    assert english == chinese


def test_some_page_shows_lines() -> None:
    assert ARTICLES
