"""The versions of Triton and PyTorch that the pages on frameworks name are those of the records that they show."""

from __future__ import annotations

import pytest

from warpbook.book import PRIMARY, SOFTCUDA, here
from warpbook.records import records

BOOK = here()
ARTICLES = {"triton": "triton", "torch-compile": "torch"}  # each with a package that its programs need

PAGES = [f"docs/{language}/frameworks/{name}.md" for name in ARTICLES for language in ("en", "zh")]

pytestmark = pytest.mark.inputs(*PAGES, "records")


def versions(device: str, article: str, package: str) -> set[str]:
    """Without what follows a plus sign: 2.13.0+cpu is 2.13.0."""
    record = records.read(BOOK, device, article)
    assert record is not None
    used = [part.get("packages", {}).get(package) for part in record["programs"].values()]
    return {version.partition("+")[0] for version in used if version}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("article", ARTICLES)
def test_the_versions_on_the_page_are_those_recorded(article: str, language: str) -> None:
    path = BOOK.page_of(article, language)
    assert path is not None
    text = path.read_text("utf-8")
    for device in (PRIMARY, SOFTCUDA):
        for version in versions(device, article, ARTICLES[article]):
            assert version in text, f"records/{device}: {ARTICLES[article]} {version} is not named"
