"""The interactive figures in a real browser: a small book with a page of them, in both languages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from warpbook.blocks.explore import FIGURES
from warpbook.book import Book, write_text
from warpbook.site.builder import build

CONFIG = """INHERIT: {parent}
docs_dir: docs/{language}
nav: [Home: index.md, Explore: x.md]
"""


@pytest.fixture(scope="module")
def site(book: Book, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small book, built with the real theme and the real configuration."""
    small = Book(tmp_path_factory.mktemp("explore"))
    for name in ("theme", "warpbook", "node_modules"):
        (small.root / name).symlink_to(book.root / name)
    page = "\n\nBetween.\n\n".join(f"{{{{ explore:{name} }}}}" for name in FIGURES)
    for language, name in (("en", "mkdocs.yml"), ("zh", "mkdocs.zh.yml")):
        write_text(small.root / name, CONFIG.format(parent=book.root / name, language=language))
        write_text(small.docs / language / "index.md", "# Home\n")
        write_text(small.docs / language / "x.md", f"# Explore\n\n{page}\n\nAfter.\n")
    return build(small, tmp_path_factory.mktemp("built") / "site", strict=False)


def test_figures_answer_and_stand_without_a_script(
    site: Path, serve: Callable[[Path], str], look: Callable[..., None]
) -> None:
    look("explore.mjs", serve(site))


def test_their_modules_are_small(book: Book) -> None:
    modules = list((book.root / "theme" / "assets" / "explore").glob("*.js"))
    assert sum(path.stat().st_size for path in modules) < 48 * 1024
