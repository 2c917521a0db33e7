"""A real browser finds nothing wrong with home, the tracks, the tables, lab pages and the contributors' pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from addresses import others, url

from warpbook.book import here


@pytest.mark.parametrize("page", others(here()), ids=lambda page: page or "home")
def test_a_browser_finds_nothing_wrong(page: str, look_at_page: Callable[[str], None]) -> None:
    look_at_page(page)


@pytest.mark.parametrize("page", [url(path, here().docs) for path in here().developers()])
def test_a_browser_finds_nothing_wrong_with_the_contributors_pages(
    page: str, served: str, look: Callable[..., None]
) -> None:
    look("browse.mjs", served, {"en": page})
