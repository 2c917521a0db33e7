"""`python -m warpbook.site.next_host OUTPUT`: the pages built with Zensical, from the same sources (`make site-next`).

A proof that the book can leave its host, not yet a site: docs/developers/hosts.md says what remains to be done.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from warpbook.book import BOOKS, LANGUAGES, PLACES, Book, BookError, here
from warpbook.site.builder import check_replaceable

OURS = re.compile(r'<meta name="generator" content="zensical-.*?<title>[^<]*Warpbook</title>', re.DOTALL)
SITE_URL = "https://warpbook.example/"


def build(book: Book, output: Path, languages: tuple[str, ...] = LANGUAGES) -> Path:
    """Build the pages into `output`, Chinese ones under zh/. Raises BookError with what Zensical says.

    And where `output` holds anything else than a site that this function built.
    """
    check_replaceable(book, output, is_built)
    if find_spec("zensical") is None:
        raise BookError("Zensical is not installed; run `make site-next`")
    with tempfile.TemporaryDirectory(prefix="warpbook-next-") as folder:
        for language in languages:
            place = Path(folder, language)  # Zensical keeps a cache beside its configuration
            shutil.copytree(book.docs / language, place / "docs")
            (place / "mkdocs.yml").write_text(
                yaml.safe_dump(configuration(book, language), allow_unicode=True), "utf-8"
            )
            run(book, place)
        for language in languages:
            target = output / PLACES[language]
            if target.exists() and target == output:
                shutil.rmtree(target)
            shutil.copytree(Path(folder, language, "site"), target, dirs_exist_ok=True)
    return output


def is_built(site: Path) -> bool:
    """Whether the home page says that `build` made this folder."""
    home = site / "index.html"
    return home.is_file() and bool(OURS.search(home.read_text("utf-8", errors="replace")))


def configuration(book: Book, language: str) -> dict[str, Any]:
    """Zensical's: the navigation of MkDocs' configuration, and the one extension."""
    docs = book.docs / language
    nav: list[Any] = []
    for title, pages in book.navigation(language):
        if isinstance(pages, str):
            nav += [{title: pages}] if (docs / pages).exists() else []
        elif listed := [{name: page} for name, page in pages if (docs / page).exists()]:
            nav.append({title: listed})
    return {
        "site_name": BOOKS[language],
        "site_url": SITE_URL + (f"{PLACES[language]}/" if PLACES[language] else ""),
        "docs_dir": "docs",
        "nav": nav,
        "theme": {"language": language, "font": False},
        # Else Zensical puts plain fences behind ours.
        "markdown_extensions": [{"pymdownx.superfences": {}}, {"warpbook.site.zensical": {"language": language}}],
    }


def run(book: Book, folder: Path) -> None:
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(book.root), *filter(None, [os.environ.get("PYTHONPATH")])])}
    command = [sys.executable, "-m", "zensical", "build"]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8")
    if done.returncode or not (folder / "site" / "index.html").exists():
        raise BookError(f"Zensical: {(done.stdout + done.stderr).strip()}")


def main(arguments: list[str]) -> int:
    book = here()
    try:
        if arguments == [""]:
            raise BookError('"": no folder is given; name one, or leave the argument out')
        output = build(book, Path(arguments[0]) if arguments else book.root / "site-next")
    except BookError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"built {book.relative(output)}/ with Zensical: {sum(1 for _ in output.rglob('index.html'))} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
