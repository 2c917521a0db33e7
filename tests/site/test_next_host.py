"""The book can leave its host: Zensical, from the same sources, makes the same article."""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urljoin

import pytest

from warpbook.blocks import ends
from warpbook.book import LANGUAGES, PLACES, Book
from warpbook.site import minify, next_host

pytestmark = pytest.mark.skipif(find_spec("zensical") is None, reason="Zensical is not installed; run `make site-next`")
ARTICLE = "optimisation/reduction/"
OF_THE_HOST = re.compile(r'<a id="?__skip"?.*?</a>| data-search-exclude(?:="")?', re.DOTALL)


class Article(HTMLParser):
    """What stands in a page's <article>: tags and texts, links by where they lead."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = f"https://site.invalid/{address}"
        self.found: list[str] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside |= tag == "article"
        if self.inside:
            known = {name: value or "" for name, value in attrs}
            known |= {name: urljoin(self.address, known[name]) for name in ("href", "src") if name in known}
            self.found.append(f"<{tag} {sorted(known.items())}>")

    def handle_endtag(self, tag: str) -> None:
        if self.inside:
            self.found.append(f"</{tag}>")
        self.inside &= tag != "article"

    def handle_data(self, data: str) -> None:
        if self.inside and data.strip():
            self.found.append(" ".join(data.split()))


def article(site: Path, language: str) -> list[str]:
    place = f"{PLACES[language]}/" if PLACES[language] else ""
    text = minify.page((site / place / ARTICLE / "index.html").read_text("utf-8"))
    text = OF_THE_HOST.sub("", text)
    text = re.sub(r'<div class="?wb-onward"?.*?</div>', "", text, flags=re.DOTALL)  # the foot is MkDocs' hook's, too
    copies = ends.WORDS[language]["label"]  # Zensical writes no copies beside a page, so none are offered there
    text = re.sub(rf'<section class="wb-programs" aria-label="{copies}">.*?</section>', "", text, flags=re.DOTALL)
    text = re.sub(r"(?:\.\./)+records/|/(?:zh/)?records/", "/records/", text)  # within other devices' numbers
    found = Article(place + ARTICLE)
    found.feed(text)
    return found.found


@pytest.fixture(scope="module")
def other(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All pages by Zensical; where it is set, those in $WARPBOOK_SITE_NEXT, which `make site-next` has just built."""
    if built := os.environ.get("WARPBOOK_SITE_NEXT"):
        return Path(built).resolve(strict=True)
    return next_host.build(book, tmp_path_factory.mktemp("next") / "site")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_article_is_the_same(site: Path, other: Path, language: str) -> None:
    ours, theirs = article(site, language), article(other, language)
    assert len(ours) > 1000
    parted = difference(ours, theirs)
    assert not parted, parted


def difference(ours: list[str], theirs: list[str]) -> str:
    """Where two lists part; empty where they do not."""
    for i, (one, two) in enumerate(zip([*ours, "the end"], [*theirs, "the end"], strict=False)):
        if one != two:
            return f"after {ours[max(0, i - 3) : i]}: {one[:300]} with MkDocs, {two[:300]} with Zensical"
    return ""
