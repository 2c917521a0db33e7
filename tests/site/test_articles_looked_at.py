"""A real browser finds nothing wrong with any article, in either language, light or dark, wide or narrow."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from addresses import articles

from warpbook.book import here


@pytest.mark.parametrize("page", articles(here()), ids=lambda page: page or "home")
def test_a_browser_finds_nothing_wrong(page: str, look_at_page: Callable[[str], None]) -> None:
    look_at_page(page)
