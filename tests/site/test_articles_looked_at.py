"""A real browser finds nothing wrong with any article, in either language, light or dark, wide or narrow."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import unchanged
from addresses import articles

from warpbook.book import here


@pytest.mark.parametrize("page", articles(here()), ids=lambda page: page or "home")
def test_a_browser_finds_nothing_wrong(
    page: str, site: Path, served: str, look: Callable[..., None], request: pytest.FixtureRequest
) -> None:
    pages = [site / page / "index.html", site / "zh" / page / "index.html"]
    shared = [path for path in site.rglob("*") if path.suffix in (".css", ".js", ".woff2", ".svg", ".png")]
    unchanged.skip_if_known(request.node, [*pages, *shared], site)
    look("browse.mjs", served, {"en": page, "zh": f"zh/{page}"})
