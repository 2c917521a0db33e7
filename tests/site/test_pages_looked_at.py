"""A real browser finds nothing wrong with home, the tracks, the tables, lab pages and the contributors' pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import unchanged
from addresses import others, url

from warpbook.book import here


@pytest.mark.parametrize("page", others(here()), ids=lambda page: page or "home")
def test_a_browser_finds_nothing_wrong(
    page: str, site: Path, served: str, look: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    pages = [site / page / "index.html", site / "zh" / page / "index.html"]
    shared = [path for path in site.rglob("*") if path.suffix in (".css", ".js", ".woff2", ".svg", ".png")]
    unchanged.skip_if_known(request.node, [*pages, *shared], site)
    look("browse.mjs", served, {"en": page, "zh": f"zh/{page}"})


@pytest.mark.parametrize("page", [url(path, here().docs) for path in here().developers()])
def test_a_browser_finds_nothing_wrong_with_the_contributors_pages(
    page: str, served: str, look: Callable[..., None]
) -> None:
    look("browse.mjs", served, {"en": page})
